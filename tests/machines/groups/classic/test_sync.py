from typing import Any

import pytest

from kohort.model.errors import ErrorCode
from tests.machines.groups.classic.conversation import (
    RANGE,
    REBALANCE_MS,
    SESSION_MS,
    ClassicBook,
    Member,
    classic_book,
)


def joined_group(*names: str, **fields: Any) -> tuple[ClassicBook, list[Member]]:
    """Everybody knows of the generation, and nobody of the assignment. The first one leads."""
    book = classic_book(group_max_session_timeout_ms=10 * REBALANCE_MS)
    members = [Member(book, name, **fields) for name in names]
    book.joined_group(*members)
    return book, members


def test_members_wait_for_the_leader_and_are_given_what_it_assigned() -> None:
    book, (ana, ben) = joined_group("ana", "ben")
    waiting = ben.sync()
    assert not waiting.is_answered
    leading = ana.sync({ana.member_id: b"for ana", ben.member_id: b"for ben"})
    assert (leading.code, leading.answer.assignment) == (ErrorCode.NONE, b"for ana")
    assert (waiting.code, waiting.answer.assignment) == (ErrorCode.NONE, b"for ben")
    assert (waiting.answer.protocol_type, waiting.answer.protocol_name) == ("consumer", "range")
    assert book.group_state == "Stable"


def test_who_asks_after_the_leader_is_answered_at_once_and_as_often_as_it_asks() -> None:
    _, (ana, ben) = joined_group("ana", "ben")
    ana.sync({ben.member_id: b"for ben"})
    assert ben.sync().answer.assignment == b"for ben"
    assert ben.sync().answer.assignment == b"for ben"


def test_whom_the_leader_forgot_is_assigned_nothing() -> None:
    _, (ana, ben) = joined_group("ana", "ben")
    waiting = ben.sync()
    ana.sync({"nobody": b"lost"})
    assert (waiting.code, waiting.answer.assignment) == (ErrorCode.NONE, b"")


def test_a_generation_is_written_once_it_is_whole() -> None:
    book, (ana, ben) = joined_group("ana", "ben")
    assert not book.records
    ana.sync({ana.member_id: b"for ana"})
    identity, generation = book.records
    assert identity.identity.startswith("cgp_")  # type: ignore[attr-defined]
    assert generation.generation == 1  # type: ignore[attr-defined]
    assert [each.member_id for each in generation.members] == [  # type: ignore[attr-defined]
        ana.member_id,
        ben.member_id,
    ]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "another"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "nowhere"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": -1}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "roundrobin"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_a_sync_that_is_not_of_this_generation_is_refused_and_changes_nothing(
    changes: dict[str, Any], code: ErrorCode
) -> None:
    book, (ana, ben) = joined_group("ana", "ben")
    assert ana.sync({ben.member_id: b"wrong"}, **changes).code is code
    assert book.group_state == "CompletingRebalance"
    ana.sync({ben.member_id: b"right"})
    assert ben.sync(protocol_type="consumer", protocol_name="range").answer.assignment == b"right"


def test_a_refusal_says_which_generation_was_sent_and_which_is_current() -> None:
    _, (ana,) = joined_group("ana")
    message = ana.sync(generation_id=7).answer.error_message
    assert "7" in message
    assert "is 1" in message


def test_during_a_rebalance_there_is_no_assignment() -> None:
    book, (ana,) = joined_group("ana")
    ana.sync()
    Member(book, "ben").join()
    assert ana.sync().code is ErrorCode.REBALANCE_IN_PROGRESS


def test_whoever_waits_when_another_rebalance_begins_is_told_to_join_again() -> None:
    book, (ana, ben) = joined_group("ana", "ben")
    waiting = ben.sync()
    Member(book, "cat").join()
    assert waiting.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert waiting.answer.assignment == b""
    ana.join()
    assert ben.join().answer.generation_id == 2


def test_whoever_does_not_ask_for_its_assignment_in_time_is_dropped() -> None:
    book, (ana, ben) = joined_group("ana", "ben", session_timeout_ms=5 * REBALANCE_MS)
    ana.sync()
    book.wait(REBALANCE_MS - 1)
    assert book.group_state == "Stable"
    book.wait(1)
    assert book.group_state == "PreparingRebalance"
    assert ben.sync().code is ErrorCode.UNKNOWN_MEMBER_ID
    assert len(ana.join().answer.members) == 1


def test_a_leader_that_assigns_nothing_is_dropped_with_its_session() -> None:
    book, (ana, ben) = joined_group("ana", "ben")
    waiting = ben.sync()
    book.wait(SESSION_MS)
    assert waiting.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert ana.sync().code is ErrorCode.UNKNOWN_MEMBER_ID
    rejoined = ben.join()
    assert rejoined.answer.leader == ben.member_id


def test_a_leader_that_assigns_nothing_while_it_is_alive_is_dropped_after_the_rebalance_timeout() -> None:
    book, (ana, ben) = joined_group("ana", "ben")
    waiting = ben.sync()
    for _ in range(REBALANCE_MS // SESSION_MS):
        book.wait(SESSION_MS - 1)
        ana.heartbeat()
    assert not waiting.is_answered
    book.wait(SESSION_MS)
    assert waiting.code is ErrorCode.REBALANCE_IN_PROGRESS


def test_who_waits_for_the_leader_is_not_taken_for_silent() -> None:
    book, (ana, ben) = joined_group("ana", "ben", rebalance_timeout_ms=20 * SESSION_MS)
    waiting = ben.sync()
    for _ in range(5):
        book.wait(SESSION_MS - 1)
        ana.heartbeat()
    ana.sync()
    assert waiting.code is ErrorCode.NONE
    book.wait(SESSION_MS - 1)
    assert ben.heartbeat().code is ErrorCode.NONE
    book.wait(SESSION_MS - 1)
    assert ben.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS, "ana is silent, and ben's session runs again"


def test_a_sync_that_a_member_repeats_takes_the_place_of_the_first() -> None:
    _, (ana, ben) = joined_group("ana", "ben")
    lost, repeated = ben.sync(), ben.sync()
    assert lost.code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.sync({ben.member_id: b"for ben"})
    assert repeated.answer.assignment == b"for ben"


def test_an_assignment_that_is_too_large_to_be_written_fails_as_in_kafka_and_the_group_tries_again() -> None:
    book, (ana, ben) = joined_group("ana", "ben")
    waiting = ben.sync()
    leading = ana.sync({ben.member_id: bytes(17 << 20)})
    assert waiting.code is leading.code is ErrorCode.UNKNOWN_SERVER_ERROR
    assert not book.records
    ana.join(), ben.join()
    book.sync_all(ana, ben)


def test_the_leader_may_be_another_one_than_before() -> None:
    book, (ana, ben) = joined_group("ana", "ben")
    book.sync_all(ana, ben)
    ana.leave()
    rejoined = ben.join()
    assert (rejoined.answer.leader, rejoined.answer.members[0].metadata) == (ben.member_id, RANGE.metadata)
