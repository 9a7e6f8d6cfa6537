from typing import Any

import pytest

from kohort.model.commands.groups import LeavingMember
from kohort.model.errors import ErrorCode
from tests.machines.groups.classic.conversation import INITIAL_DELAY_MS, SESSION_MS, Member, classic_book


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, ErrorCode.NONE),
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"group_id": "another"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": ""}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "nowhere"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation_id": 2}, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_a_member_of_this_generation_is_told_that_all_is_well_and_nobody_else(
    changes: dict[str, Any], code: ErrorCode
) -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    assert ana.heartbeat(**changes).code is code
    assert book.group_state == "Stable"


def test_an_empty_group_has_no_heartbeats() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    ana.leave()
    assert ana.heartbeat(generation_id=2).code is ErrorCode.UNKNOWN_MEMBER_ID


def test_before_the_assignment_is_known_all_is_well_too() -> None:
    book = classic_book()
    ana = Member(book)
    ana.join()
    book.wait(INITIAL_DELAY_MS)
    assert book.group_state == "CompletingRebalance"
    assert ana.heartbeat().code is ErrorCode.NONE


def test_a_heartbeat_writes_nothing_and_sets_no_timer() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    records, timers = list(book.records), dict(book.timers)
    book.wait(100)
    ana.heartbeat()
    assert (book.records, book.timers) == (records, timers)


def test_of_two_members_the_one_that_stops_sending_heartbeats_goes() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    book.wait(SESSION_MS // 2)
    ana.heartbeat()
    book.wait(SESSION_MS // 2)
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    assert ben.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID
    assert list(book.group.members) == [ana.member_id]


def test_a_silent_member_goes_exactly_when_its_session_is_over() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    book.wait(SESSION_MS // 2)
    ana.heartbeat()
    book.wait(SESSION_MS - 1)
    assert book.group_state == "Stable"
    book.wait(1)
    assert book.group_state == "Empty"


def test_a_heartbeat_during_a_rebalance_is_a_sign_of_life() -> None:
    book = classic_book()
    ana = Member(book, "ana")
    book.stable_group(ana)
    joined = Member(book, "ben").join()
    for _ in range(3):
        book.wait(SESSION_MS - 1)
        assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    assert not joined.is_answered
    book.wait(SESSION_MS)
    assert len(joined.answer.members) == 1


def test_an_offset_commit_is_a_sign_of_life() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    for _ in range(3):
        book.wait(SESSION_MS - 1)
        book.commit(member_id=ana.member_id, generation_id=ana.generation_id)
    assert book.group_state == "Stable"
    book.wait(SESSION_MS)
    assert book.group_state == "Empty"


def test_a_zombie_of_an_older_generation_is_told_so() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana)
    zombie_generation_id = ana.generation_id
    ben.join()
    ana.join()
    book.sync_all(ana, ben)
    refused = ana.heartbeat(generation_id=zombie_generation_id)
    assert refused.code is ErrorCode.ILLEGAL_GENERATION
    assert "generation 1 was sent" in refused.answer.error_message
    assert "is 2" in refused.answer.error_message


def test_a_member_that_was_removed_is_unknown() -> None:
    book = classic_book()
    ana = Member(book, instance_id="one")
    book.stable_group(ana)
    book.leave(LeavingMember("", "one"))
    assert ana.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID
