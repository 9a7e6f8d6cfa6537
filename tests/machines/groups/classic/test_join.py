from typing import Any

import pytest

from kohort.model.commands.groups import JoinedMember, LeavingMember, Protocol
from kohort.model.errors import ErrorCode
from tests.machines.groups.classic.conversation import (
    GROUP,
    INITIAL_DELAY_MS,
    RANGE,
    REBALANCE_MS,
    ROUND_ROBIN,
    SESSION_MS,
    Member,
    classic_book,
)


def test_a_new_member_is_told_its_id_first_and_comes_again_with_it() -> None:
    book = classic_book()
    ana = Member(book, "ana")
    first = ana.ask_to_join()
    assert first.code is ErrorCode.MEMBER_ID_REQUIRED
    assert (first.answer.generation_id, first.answer.leader, first.answer.members) == (-1, "", ())
    assert first.answer.member_id.startswith("ana-")
    assert book.group_state == "Empty"
    ana.given_id = first.answer.member_id
    second = ana.ask_to_join()
    assert not second.is_answered
    book.wait(INITIAL_DELAY_MS)
    assert second.code is ErrorCode.NONE
    assert second.answer.member_id == first.answer.member_id


def test_an_old_client_joins_with_its_first_request() -> None:
    book = classic_book()
    ana = Member(book, requires_known_member_id=False)
    joined = ana.join()
    book.wait(INITIAL_DELAY_MS)
    assert (joined.code, joined.answer.generation_id) == (ErrorCode.NONE, 1)


def test_the_first_member_leads_and_only_it_hears_who_the_members_are() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    first, second = ana.join(), ben.join()
    book.wait(3 * INITIAL_DELAY_MS)
    assert first.answer.leader == second.answer.leader == ana.member_id
    assert first.answer.members == (
        JoinedMember(ana.member_id, RANGE.metadata),
        JoinedMember(ben.member_id, RANGE.metadata),
    )
    assert second.answer.members == ()
    assert first.answer[1:3] == second.answer[1:3] == (1, "range")
    assert (second.answer.protocol_type, second.answer.skip_assignment) == ("consumer", False)
    assert book.group_state == "CompletingRebalance"


def test_an_empty_group_waits_for_more_members_as_long_as_they_come_but_not_for_ever() -> None:
    book = classic_book()
    first = Member(book, rebalance_timeout_ms=1000).join()
    for _ in range(2):
        book.wait(INITIAL_DELAY_MS - 10)
        Member(book, rebalance_timeout_ms=1000).join()
        book.wait(10)
        assert not first.is_answered
    book.wait(INITIAL_DELAY_MS - 10)
    Member(book, rebalance_timeout_ms=1000).join()
    book.wait(110)
    assert first.is_answered, "1000 ms have passed, and no more may"
    assert len(first.answer.members) == 4


def test_an_id_that_nobody_comes_back_with_is_forgotten_and_the_group_with_it() -> None:
    book = classic_book()
    Member(book).ask_to_join()
    assert GROUP in book.state.groups
    book.wait(SESSION_MS)
    assert GROUP not in book.state.groups
    assert not book.records


def test_the_others_wait_for_whoever_was_given_an_id() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana)
    ben.given_id = ben.ask_to_join().answer.member_id
    rejoined = ana.join()
    assert not rejoined.is_answered
    newcomer = ben.join()
    assert (rejoined.answer.generation_id, newcomer.answer.generation_id) == (2, 2)


def test_the_others_wait_no_longer_once_that_id_is_given_back_or_its_time_is_over() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana)
    given = ben.ask_to_join().answer.member_id
    rejoined = ana.join()
    assert book.leave(LeavingMember(given)) == [ErrorCode.NONE]
    assert rejoined.answer.generation_id == 2
    book.sync_all(ana)
    ben.ask_to_join()
    rejoined = ana.join()
    book.wait(SESSION_MS)
    assert rejoined.answer.generation_id == 3


def test_an_id_that_was_given_to_a_dynamic_member_is_not_for_a_static_one() -> None:
    book = classic_book()
    given = Member(book).ask_to_join().answer.member_id
    asked = Member(book, instance_id="one").ask_to_join(member_id=given)
    assert asked.code is ErrorCode.UNKNOWN_MEMBER_ID


def test_another_member_makes_a_stable_group_rebalance_and_everybody_is_in_the_next_generation() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana)
    joined = ben.join()
    assert book.group_state == "PreparingRebalance"
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS, "until it joins again"
    rejoined = ana.join()
    assert (joined.answer.generation_id, rejoined.answer.generation_id) == (2, 2)
    assert rejoined.answer.leader == ana.member_id
    book.sync_all(ana, ben)
    assert ana.heartbeat().code is ErrorCode.NONE


def test_whoever_does_not_join_again_in_time_is_left_behind() -> None:
    book = classic_book(group_max_session_timeout_ms=10 * REBALANCE_MS)
    ana, ben = (Member(book, name, session_timeout_ms=5 * REBALANCE_MS) for name in ("ana", "ben"))
    book.stable_group(ana, ben)
    joined = Member(book, "cat").join()
    rejoined = ben.join()
    book.wait(REBALANCE_MS - 1)
    assert not joined.is_answered
    book.wait(1)
    assert rejoined.answer.leader == ben.member_id != ana.member_id
    assert len(rejoined.answer.members) == 2
    assert ana.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_timeout_of_the_members_counts() -> None:
    book = classic_book(group_max_session_timeout_ms=10 * REBALANCE_MS)
    ana = Member(book, "ana", session_timeout_ms=5 * REBALANCE_MS, rebalance_timeout_ms=2 * REBALANCE_MS)
    ben = Member(book, "ben", session_timeout_ms=5 * REBALANCE_MS, rebalance_timeout_ms=1)
    book.stable_group(ana, ben)
    rejoined = ben.ask_to_join(protocols=(RANGE._replace(metadata=b"other"),))
    book.wait(2 * REBALANCE_MS - 1)
    assert not rejoined.is_answered
    book.wait(1)
    assert rejoined.answer.generation_id == 2


def test_a_leader_that_joins_again_makes_a_stable_group_rebalance() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    rejoined = ana.join()
    assert not rejoined.is_answered
    assert ben.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    ben.join()
    assert rejoined.answer.generation_id == 2


def test_a_follower_that_says_what_it_said_before_is_answered_at_once_and_disturbs_nobody() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    rejoined = ben.join()
    assert (rejoined.code, rejoined.answer.generation_id) == (ErrorCode.NONE, 1)
    assert (rejoined.answer.leader, rejoined.answer.members) == (ana.member_id, ())
    assert book.group_state == "Stable"
    assert ana.heartbeat().code is ErrorCode.NONE


def test_a_follower_that_says_something_else_makes_a_stable_group_rebalance() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    ben.protocols = (RANGE._replace(metadata=b"other topics"),)
    ben.join()
    rejoined = ana.join()
    assert rejoined.answer.members[1].metadata == b"other topics"


def test_before_the_assignment_is_known_a_member_that_lost_its_answer_gets_it_once_more() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    first, second = ana.join(), ben.join()
    book.wait(3 * INITIAL_DELAY_MS)
    assert ana.join().answer == first.answer
    assert ben.join().answer == second.answer
    assert book.group_state == "CompletingRebalance"


def test_before_the_assignment_is_known_a_member_that_has_changed_begins_another_rebalance() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    ana.join(), ben.join()
    book.wait(3 * INITIAL_DELAY_MS)
    waiting = ben.sync()
    ana.protocols = (RANGE._replace(metadata=b"other topics"),)
    ana.join()
    assert waiting.code is ErrorCode.REBALANCE_IN_PROGRESS
    assert ben.join().answer.generation_id == 2


def test_the_protocol_is_the_one_that_most_members_prefer_of_those_that_all_can_follow() -> None:
    book = classic_book()
    only_ana = Protocol("sticky", b"")
    members = [
        Member(book, protocols=(only_ana, RANGE, ROUND_ROBIN)),
        Member(book, protocols=(ROUND_ROBIN, RANGE)),
        Member(book, protocols=(ROUND_ROBIN, RANGE)),
    ]
    joined = [member.join() for member in members]
    book.wait(4 * INITIAL_DELAY_MS)
    assert {each.answer.protocol_name for each in joined} == {"roundrobin"}
    assert {each.metadata for each in joined[0].answer.members} == {ROUND_ROBIN.metadata}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"session_timeout_ms": 5999}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 1_800_001}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": -1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"session_timeout_ms": 2**31 - 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": ""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocols": (Protocol("range", bytes(2 << 20)),)}, ErrorCode.UNKNOWN_SERVER_ERROR),
        ({"protocols": (Protocol("r" * 32_768, b""),)}, ErrorCode.INVALID_REQUEST),
        ({"protocol_type": "t" * 32_768}, ErrorCode.INVALID_REQUEST),
        ({"group_id": "g" * 32_768}, ErrorCode.INVALID_REQUEST),
        ({"group_instance_id": "ö" * 16_384}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_a_bad_request_is_refused_and_leaves_nothing_behind(fields: dict[str, Any], code: ErrorCode) -> None:
    book = classic_book()
    timers = dict(book.timers)
    assert Member(book).ask_to_join(**fields).code is code
    assert not book.state.groups
    assert book.timers == timers


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"protocols": (ROUND_ROBIN,)}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocols": ()}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "nobody", "group_instance_id": "nowhere"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_cannot_be_a_member_is_refused_and_a_stable_group_notices_nothing(
    fields: dict[str, Any], code: ErrorCode
) -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    assert Member(book).ask_to_join(**fields).code is code
    assert ana.heartbeat().code is ErrorCode.NONE


def test_the_id_of_a_member_of_another_group_is_worth_nothing() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    assert Member(book).ask_to_join(group_id="another").code is ErrorCode.MEMBER_ID_REQUIRED
    assert ana.ask_to_join(group_id="another").code is ErrorCode.UNKNOWN_MEMBER_ID
    assert ana.ask_to_join(group_id="missing").code is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("rebalance_timeout_ms", [-1, -(2**31), 0, 2**31 - 1])
def test_an_absurd_rebalance_timeout_harms_nobody(rebalance_timeout_ms: int) -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", rebalance_timeout_ms=rebalance_timeout_ms)
    book.stable_group(ana, ben)
    assert (ana.heartbeat().code, ben.heartbeat().code) == (ErrorCode.NONE, ErrorCode.NONE)


def test_a_group_of_members_that_give_each_other_no_time_comes_to_nothing() -> None:
    book = classic_book()
    ana = Member(book, rebalance_timeout_ms=-1)
    joined = ana.join()
    book.wait(INITIAL_DELAY_MS)
    assert joined.code is ErrorCode.NONE
    assert ana.sync().code is ErrorCode.UNKNOWN_MEMBER_ID
    assert book.group_state == "Empty"


def test_a_group_grows_to_its_largest_size_and_no_further() -> None:
    book = classic_book(group_max_size=2)
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    refused = Member(book, "cat").ask_to_join()
    assert (refused.code, refused.answer.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert book.group_state == "Stable"
    assert ben.join().code is ErrorCode.NONE, "members may come again"


def test_in_the_join_phase_there_is_room_for_those_who_come_first() -> None:
    book = classic_book(group_max_size=1)
    ana, ben = Member(book, "ana"), Member(book, "ben")
    ben.given_id = ben.ask_to_join().answer.member_id
    first = ana.join()
    assert ben.ask_to_join().code is ErrorCode.GROUP_MAX_SIZE_REACHED
    book.wait(2 * INITIAL_DELAY_MS)
    assert len(first.answer.members) == 1


def test_a_group_that_is_larger_than_it_may_be_after_a_restart_is_made_smaller() -> None:
    book = classic_book()
    members = [Member(book, name) for name in ("ana", "ben", "cat")]
    book.stable_group(*members)
    small = classic_book(group_max_size=2)
    small.records = book.records
    small.restart()
    for member in members:
        member.book = small
    outcomes = [member.ask_to_join() for member in members]
    assert [each.code for each in outcomes if each.is_answered][-1] is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert len(outcomes[0].answer.members) == 2


def test_a_request_that_a_member_repeats_on_another_connection_takes_the_place_of_the_first() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    lost = ana.join()
    repeated = ana.join()
    assert lost.code is ErrorCode.REBALANCE_IN_PROGRESS
    ben.join()
    assert repeated.answer.generation_id == 2


def test_a_new_member_that_waits_too_long_is_taken_for_lost() -> None:
    book = classic_book(group_initial_rebalance_delay_ms=400_000)
    joined = Member(book, rebalance_timeout_ms=1_000_000).join()
    book.wait(300_000)
    assert joined.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert joined.answer.member_id == ""


def test_a_group_that_only_had_offsets_takes_members() -> None:
    book = classic_book()
    book.commit()
    assert book.group_state == "Empty"
    ana = Member(book)
    book.stable_group(ana)
    assert ana.generation_id == 1
