"""Heartbeats of classic members that are held, and everything that ends that."""

from typing import Any

import pytest

from kohort.machines.groups.held import Completion
from kohort.model.commands.groups import LeavingMember
from kohort.model.errors import ErrorCode
from tests.machines.groups.classic.conversation import (
    GROUP,
    RANGE,
    SESSION_MS,
    ClassicBook,
    Member,
    classic_book,
)

HOLD_MS = 2800


def patient(book: ClassicBook, name: str, connection_id: int, **fields: Any) -> Member:
    """A client whose heartbeats may be held."""
    return Member(book, name, software="librdkafka", connection_id=connection_id, **fields)


def patient_group(**settings: Any) -> tuple[ClassicBook, Member, Member]:
    book = classic_book(**settings)
    ana, ben = patient(book, "ana", 1), patient(book, "ben", 2)
    book.stable_group(ana, ben)
    return book, ana, ben


def test_a_heartbeat_with_nothing_to_say_waits_until_its_time_is_up() -> None:
    book, ana, _ = patient_group()
    held = ana.heartbeat()
    book.wait(HOLD_MS - 1)
    assert not held.is_answered
    assert len(book.state.held) == 1
    book.wait(1)
    assert held.code is ErrorCode.NONE
    assert len(book.state.held) == 0
    assert book.state.held.completions == {Completion.TIME_UP: 1}


@pytest.mark.parametrize("settings", [{"group_push_enable": False}, {}])
def test_nothing_is_held_where_it_is_switched_off_or_the_client_is_not_known(settings: dict[str, Any]) -> None:
    book = classic_book(**settings)
    ana = patient(book, "ana", 1) if settings else Member(book, "ana", software="kafkajs", connection_id=1)
    book.stable_group(ana)
    assert ana.heartbeat().is_answered


def test_when_a_rebalance_begins_everybody_who_waits_hears_of_it_at_once() -> None:
    book, ana, ben = patient_group()
    held = [ana.heartbeat(), ben.heartbeat()]
    patient(book, "cat", 3).join()
    assert [each.code for each in held] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS, "it is not held while there is news"
    assert book.state.held.completions == {Completion.NEWS: 2}


def test_when_a_member_leaves_or_its_session_ends_the_others_hear_of_it_at_once() -> None:
    book, ana, ben = patient_group()
    held = ana.heartbeat()
    ben.leave()
    assert held.code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.join()
    book.sync_all(ana)
    cat = patient(book, "cat", 3)
    cat.join()
    ana.join()
    book.sync_all(ana, cat)
    for _ in range(3):
        held = ana.heartbeat()
        book.wait(HOLD_MS)
    held = ana.heartbeat()
    book.wait(SESSION_MS - 3 * HOLD_MS)
    assert held.code is ErrorCode.REBALANCE_IN_PROGRESS


def test_before_the_assignment_is_known_heartbeats_are_held_too() -> None:
    book = classic_book()
    ana, ben = patient(book, "ana", 1), patient(book, "ben", 2)
    book.joined_group(ana, ben)
    held = ben.heartbeat()
    ana.sync()
    assert not held.is_answered, "a stable group is no news"
    ana.leave()
    assert held.code is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_heartbeat_that_is_hurried_changes_nothing() -> None:
    book, ana, _ = patient_group()
    held = ana.heartbeat()
    records, expires_at_ms = list(book.records), book.group.members[ana.member_id].expires_at_ms
    book.wait(1000)
    book.hurry(held.token)
    assert held.code is ErrorCode.NONE
    assert book.records == records
    assert book.group.members[ana.member_id].expires_at_ms == expires_at_ms
    assert book.state.held.completions == {Completion.HURRIED: 1}
    book.hurry(held.token)


def test_hurrying_what_is_not_held_does_nothing() -> None:
    book, ana, ben = patient_group()
    waiting = ana.join()
    book.hurry(waiting.token)
    assert not waiting.is_answered
    ben.join()
    assert waiting.is_answered


def test_time_that_a_heartbeat_was_held_counts_as_silence() -> None:
    book, ana, _ = patient_group()
    held = ana.heartbeat()
    book.wait(HOLD_MS)
    assert held.is_answered
    book.wait(SESSION_MS - HOLD_MS - 1)
    assert ana.member_id in book.group.members
    book.wait(1)
    assert ana.member_id not in book.group.members


def test_whoever_is_removed_while_it_waits_hears_of_it() -> None:
    book = classic_book()
    ana = patient(book, "ana", 1, instance_id="one")
    book.stable_group(ana)
    held = ana.heartbeat()
    book.leave(LeavingMember("", "one"))
    assert held.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_whoever_is_replaced_while_it_waits_is_fenced() -> None:
    book = classic_book()
    ana = patient(book, "ana", 1, instance_id="one")
    book.stable_group(ana)
    held = ana.heartbeat()
    patient(book, "ana", 2, instance_id="one").join()
    assert held.code is ErrorCode.FENCED_INSTANCE_ID


def test_a_follower_that_asks_for_its_generation_while_it_waits_goes_on_waiting() -> None:
    _, _, ben = patient_group()
    held = ben.heartbeat()
    assert ben.join().code is ErrorCode.NONE
    assert not held.is_answered


def test_a_member_waits_once_at_most() -> None:
    book, ana, _ = patient_group()
    first = ana.heartbeat()
    second = ana.heartbeat()
    assert first.code is ErrorCode.NONE
    assert not second.is_answered
    assert len(book.state.held) == 1


def test_a_heartbeat_that_nobody_waits_for_any_more_is_forgotten() -> None:
    book, ana, _ = patient_group()
    held = ana.heartbeat()
    book.forget(held.token)
    assert len(book.state.held) == 0
    assert GROUP in book.state.groups
    book.wait(HOLD_MS)
    assert not held.is_answered
    assert book.state.held.completions == {Completion.FORGOTTEN: 1}


def test_a_static_member_of_java_is_held_shortly_because_it_waits_when_it_is_closed() -> None:
    book = classic_book()
    ana = Member(book, instance_id="one", software="apache-kafka-java", connection_id=1)
    book.stable_group(ana)
    held = ana.heartbeat()
    book.wait(1000)
    assert held.is_answered


def test_a_kind_of_client_that_loses_its_connections_while_it_is_held_is_held_no_longer() -> None:
    book, ana, ben = patient_group()
    for connection_id in range(10, 14):
        held = ben.heartbeat()
        book.wait(book.group.members[ben.member_id].hold_ms - 1)
        book.forget(held.token)
        ben.origin = ben.origin._replace(connection_id=connection_id)
        ana.heartbeat()
    assert ben.heartbeat().is_answered
    assert book.state.push.breaker.strikes == 4


def test_what_changes_in_a_members_session_changes_how_long_it_is_held() -> None:
    book, ana, ben = patient_group()
    ben.fields["session_timeout_ms"] = 6000
    ben.protocols = (RANGE._replace(metadata=b"other topics"),)
    ben.join()
    ana.join()
    book.sync_all(ana, ben)
    held = ben.heartbeat()
    book.wait(2000)
    assert held.is_answered
