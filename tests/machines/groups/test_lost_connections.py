"""Members of both protocols whose connections broke."""

from typing import Any
from uuid import UUID

import pytest

from kohort.model.commands.groups import ConnectionLost, Origin
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.settings import BrokerSettings
from tests.machines.groups.classic.conversation import SESSION_MS, ClassicBook, Member, classic_book
from tests.machines.groups.consumer.conversation import Consumer, GroupBook, converge, group_book
from tests.playbook import Playbook

CLASSIC_GRACE_MS = 7500
"""2.5 times what classic clients send by default."""
CONSUMER_GRACE_MS = 3000


def classic_group(**settings: Any) -> tuple[ClassicBook, Member, Member]:
    book = classic_book(**settings)
    ana, ben = (
        Member(book, name, connection_id=number, session_timeout_ms=60_000) for number, name in ((1, "ana"), (2, "ben"))
    )
    book.stable_group(ana, ben)
    ana.heartbeat(), ben.heartbeat()
    return book, ana, ben


def move(member: Member, connection_id: int) -> None:
    member.origin = member.origin._replace(connection_id=connection_id)


def lose(book: Playbook, connection_id: int) -> None:
    assert book.say(ConnectionLost(connection_id)) is None


def test_a_member_whose_connection_broke_and_who_stays_silent_is_expired() -> None:
    book, ana, ben = classic_group()
    lose(book, 2)
    assert ben.member_id in book.group.members
    book.wait(CLASSIC_GRACE_MS - 1)
    assert book.group_state == "Stable"
    book.wait(1)
    assert book.group_state == "PreparingRebalance"
    ana.join()
    book.sync_all(ana)
    assert book.events[-1].triggers == (f"member {ben.member_id} lost its connection",)
    assert book.events[-1].left == (ben.member_id,)


def test_a_member_that_comes_back_on_another_connection_in_time_notices_nothing() -> None:
    book, _, ben = classic_group()
    lose(book, 2)
    book.wait(CLASSIC_GRACE_MS - 1)
    move(ben, 3)
    assert ben.heartbeat().code is ErrorCode.NONE
    book.wait(3 * CLASSIC_GRACE_MS)
    assert book.group_state == "Stable"


def test_of_the_connections_of_a_member_the_last_one_counts() -> None:
    book, _, ben = classic_group()
    move(ben, 3)
    ben.heartbeat()
    lose(book, 2)
    book.wait(2 * CLASSIC_GRACE_MS)
    assert book.group_state == "Stable"
    lose(book, 3)
    book.wait(CLASSIC_GRACE_MS)
    assert book.group_state == "PreparingRebalance"


def test_a_member_that_leaves_after_it_closed_its_connection_just_leaves() -> None:
    book, ana, ben = classic_group()
    lose(book, 2)
    assert ben.leave() is ErrorCode.NONE
    ana.join()
    book.sync_all(ana)
    told = len(book.events)
    book.wait(2 * CLASSIC_GRACE_MS)
    assert len(book.events) == told
    assert book.events[-1].triggers == (f"member {ben.member_id} left",)


def test_a_member_that_commits_over_another_connection_is_not_silent() -> None:
    book, _, ben = classic_group()
    lose(book, 2)
    book.wait(CLASSIC_GRACE_MS - 1)
    book.commit(member_id=ben.member_id, generation_id=ben.generation_id)
    book.wait(CLASSIC_GRACE_MS - 1)
    assert book.group_state == "Stable"
    book.wait(1)
    assert book.group_state == "PreparingRebalance"


def test_a_static_member_keeps_its_session() -> None:
    book = classic_book()
    ana = Member(book, instance_id="one", connection_id=1)
    book.stable_group(ana)
    ana.heartbeat()
    lose(book, 1)
    book.wait(SESSION_MS - 1)
    assert ana.heartbeat().code is ErrorCode.NONE


def test_a_grace_can_be_set_and_switched_off() -> None:
    book, _, _ = classic_group(group_lost_connection_grace_ms=500)
    lose(book, 2)
    book.wait(500)
    assert book.group_state == "PreparingRebalance"
    book, _, _ = classic_group(group_lost_connection_grace_ms=0)
    lose(book, 2)
    book.wait(59_000)
    assert book.group_state == "Stable"


def test_who_sends_more_often_is_given_up_earlier_and_who_sends_more_rarely_later() -> None:
    book, ana, ben = classic_group()
    for _ in range(40):
        book.wait(500)
        ben.heartbeat()
        if book.now_ms % 8000 < 500:
            ana.heartbeat()
    lose(book, 2)
    book.wait(3000)
    assert ben.member_id not in book.group.members

    book, ana, ben = classic_group()
    for _ in range(3):
        book.wait(10_000)
        ana.heartbeat(), ben.heartbeat()
    lose(book, 2)
    book.wait(24_999)
    assert ben.member_id in book.group.members
    book.wait(1)
    assert ben.member_id not in book.group.members


def test_a_single_heartbeat_between_two_others_does_not_make_a_client_look_hasty() -> None:
    book, _, ben = classic_group()
    for _ in range(3):
        book.wait(3000)
        ben.heartbeat()
    book.wait(10)
    ben.heartbeat()
    lose(book, 2)
    book.wait(5000)
    assert book.group_state == "Stable"


def test_a_member_that_waits_to_be_let_in_is_given_up_too() -> None:
    book, ana, ben = classic_group()
    ana.join(), ben.join()
    waiting = ben.sync()
    lose(book, 2)
    book.wait(CLASSIC_GRACE_MS)
    assert waiting.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert list(book.group.members) == [ana.member_id]


def test_nobody_waits_for_an_id_whose_connection_broke() -> None:
    book, ana, ben = classic_group()
    Member(book, "cat", connection_id=3).ask_to_join()
    first, second = ana.join(), ben.join()
    lose(book, 3)
    book.wait(CLASSIC_GRACE_MS - 1)
    assert not second.is_answered
    book.wait(1)
    assert first.answer.generation_id == 2


def test_a_connection_of_nobody_may_break() -> None:
    book, _, _ = classic_group()
    timers = dict(book.timers)
    lose(book, 77)
    assert book.timers == timers


def test_all_members_of_a_connection_are_given_up() -> None:
    book = classic_book()
    members = [Member(book, name, connection_id=5) for name in ("ana", "ben", "cat")]
    book.stable_group(*members)
    for member in members:
        member.heartbeat()
    lose(book, 5)
    book.wait(CLASSIC_GRACE_MS)
    assert book.group_state == "Empty"


def test_nothing_is_kept_of_members_that_are_gone() -> None:
    book, ana, ben = classic_group()
    ana.leave(), ben.leave()
    assert not book.state.connections._members


# The consumer protocol


def consumer(book: GroupBook, number: int, **fields: Any) -> Consumer:
    return Consumer(book, str(UUID(int=number)), origin=Origin("c", "/127.0.0.1", "", number), **fields)


def consumer_group(instance_id: str | None = None, **settings: Any) -> tuple[GroupBook, Consumer, Consumer]:
    book = group_book(settings=BrokerSettings(**settings))
    ana, ben = consumer(book, 1), consumer(book, 2, instance_id=instance_id)
    ana.join(), ben.join()
    converge(ana, ben)
    ana.heartbeat(), ben.heartbeat()
    return book, ana, ben


def is_member(book: GroupBook, member: Consumer) -> bool:
    return member.member_id in book.group.members


def test_a_consumer_whose_connection_broke_and_who_stays_silent_is_expired() -> None:
    book, ana, ben = consumer_group()
    lose(book, 2)
    book.wait(CONSUMER_GRACE_MS - 1)
    assert is_member(book, ben)
    book.wait(1)
    assert not is_member(book, ben)
    with pytest.raises(ProtocolError, match="is not a member"):
        ben.heartbeat()
    converge(ana)
    assert ana.partitions == 4
    assert f"member {ben.member_id} lost its connection" in book.events[-1].triggers


def test_a_consumer_that_comes_back_on_another_connection_in_time_notices_nothing() -> None:
    book, _, ben = consumer_group()
    lose(book, 2)
    book.wait(CONSUMER_GRACE_MS - 1)
    ben.origin = ben.origin._replace(connection_id=3)
    ben.heartbeat()
    book.wait(2 * CONSUMER_GRACE_MS)
    assert is_member(book, ben)
    lose(book, 3)
    book.wait(CONSUMER_GRACE_MS)
    assert not is_member(book, ben)


def test_a_consumer_that_leaves_after_it_closed_its_connection_just_leaves() -> None:
    book, ana, ben = consumer_group()
    lose(book, 2)
    ben.origin = ben.origin._replace(connection_id=3)
    ben.leave()
    converge(ana)
    told = len(book.events)
    book.wait(2 * CONSUMER_GRACE_MS)
    assert len(book.events) == told


def test_a_static_consumer_keeps_its_session() -> None:
    book, _, ben = consumer_group(instance_id="two")
    lose(book, 2)
    book.wait(40_000)
    assert is_member(book, ben)


def test_a_consumer_that_was_told_a_long_interval_has_a_long_grace() -> None:
    book, _, ben = consumer_group(group_consumer_heartbeat_interval_ms=4000)
    lose(book, 2)
    book.wait(9999)
    assert is_member(book, ben)
    book.wait(1)
    assert not is_member(book, ben)
