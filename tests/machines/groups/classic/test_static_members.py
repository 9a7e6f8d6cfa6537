from kohort.model.commands.groups import LeavingMember
from kohort.model.errors import ErrorCode
from tests.machines.groups.classic.conversation import (
    INITIAL_DELAY_MS,
    RANGE,
    REBALANCE_MS,
    ROUND_ROBIN,
    SESSION_MS,
    Member,
    assignment,
    classic_book,
)


def test_a_static_member_joins_with_its_first_request() -> None:
    book = classic_book()
    ana = Member(book, instance_id="one")
    joined = ana.join()
    book.wait(INITIAL_DELAY_MS)
    assert joined.answer.member_id.startswith("one-")
    assert joined.answer.members[0].group_instance_id == "one"


def test_a_follower_that_comes_back_takes_its_old_place_and_nobody_notices() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", instance_id="two")
    book.stable_group(ana, ben)
    again = Member(book, "ben", instance_id="two")
    joined = again.join()
    assert (joined.code, joined.answer.generation_id) == (ErrorCode.NONE, 1)
    assert joined.answer.member_id != ben.member_id
    assert (joined.answer.leader, joined.answer.members, joined.answer.skip_assignment) == (ana.member_id, (), False)
    assert again.sync().answer.assignment == assignment(orders=(1,))
    assert ana.heartbeat().code is again.heartbeat().code is ErrorCode.NONE


def test_the_old_one_is_fenced_from_then_on() -> None:
    book = classic_book()
    old = Member(book, instance_id="one")
    book.stable_group(old)
    Member(book, instance_id="one").join()
    assert old.heartbeat().code is ErrorCode.FENCED_INSTANCE_ID
    assert old.sync().code is ErrorCode.FENCED_INSTANCE_ID
    assert old.ask_to_join().code is ErrorCode.FENCED_INSTANCE_ID
    assert old.heartbeat(group_instance_id=None).code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_leader_that_comes_back_is_told_that_the_group_has_its_assignment() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana", instance_id="one"), Member(book, "ben")
    book.stable_group(ana, ben)
    again = Member(book, instance_id="one")
    joined = again.join()
    assert joined.answer.skip_assignment
    assert joined.answer.leader == joined.answer.member_id
    assert [each.member_id for each in joined.answer.members] == [ben.member_id, again.member_id]


def test_a_leader_that_is_too_old_to_skip_its_assignment_is_told_that_somebody_else_leads() -> None:
    book = classic_book()
    old = Member(book, instance_id="one")
    book.stable_group(old)
    joined = Member(book, instance_id="one", supports_skip_assignment=False).join()
    assert not joined.answer.skip_assignment
    assert joined.answer.leader == old.member_id
    assert joined.answer.members == ()


def test_the_new_id_outlasts_a_restart() -> None:
    book = classic_book()
    book.stable_group(Member(book, instance_id="one"))
    again = Member(book, instance_id="one")
    again.join()
    book.restart()
    assert again.heartbeat().code is ErrorCode.NONE
    assert again.sync().answer.assignment == assignment(orders=(0,))


def test_a_static_member_that_comes_back_with_another_protocol_makes_the_group_rebalance() -> None:
    book = classic_book()
    ana = Member(book, "ana", protocols=(RANGE, ROUND_ROBIN))
    ben = Member(book, "ben", instance_id="two", protocols=(RANGE, ROUND_ROBIN))
    book.stable_group(ana, ben)
    joined = Member(book, "ben", instance_id="two", protocols=(ROUND_ROBIN,)).join()
    assert not joined.is_answered
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    ana.join()
    assert (joined.answer.generation_id, joined.answer.protocol_name) == (2, "roundrobin")


def test_a_static_member_that_comes_back_before_the_assignment_is_known_makes_the_group_rebalance() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", instance_id="two")
    ana.join(), ben.join()
    book.wait(3 * INITIAL_DELAY_MS)
    waiting = ben.sync()
    joined = Member(book, "ben", instance_id="two").join()
    assert waiting.code is ErrorCode.FENCED_INSTANCE_ID
    ana.join()
    assert joined.answer.generation_id == 2


def test_a_static_member_that_comes_back_during_a_rebalance_is_one_of_those_who_have_joined() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", instance_id="two")
    book.stable_group(ana, ben)
    rejoined = ana.join()
    assert not rejoined.is_answered
    joined = Member(book, "ben", instance_id="two").join()
    assert joined.answer.generation_id == rejoined.answer.generation_id == 2


def test_the_old_ones_waiting_request_is_fenced() -> None:
    book = classic_book()
    waiting = Member(book, instance_id="one").join()
    joined = Member(book, instance_id="one").join()
    assert waiting.code is ErrorCode.FENCED_INSTANCE_ID
    book.wait(INITIAL_DELAY_MS)
    assert len(joined.answer.members) == 1


def test_a_static_member_that_does_not_join_again_keeps_its_place_until_its_session_ends() -> None:
    book = classic_book(group_max_session_timeout_ms=10 * REBALANCE_MS)
    ana = Member(book, "ana", session_timeout_ms=9 * REBALANCE_MS)
    ben = Member(book, "ben", instance_id="two", session_timeout_ms=2 * REBALANCE_MS)
    book.stable_group(ana, ben)
    ben.heartbeat()
    rejoined = ana.join()
    book.wait(REBALANCE_MS)
    assert [each.group_instance_id for each in rejoined.answer.members] == [None, "two"]
    book.sync_all(ana)
    book.wait(REBALANCE_MS - 1)
    assert book.group_state == "Stable"
    book.wait(1)
    assert len(ana.join().answer.members) == 1


def test_when_only_absent_static_members_are_left_the_group_waits_until_one_comes_or_all_are_gone() -> None:
    book = classic_book(group_max_session_timeout_ms=10 * REBALANCE_MS)
    ana = Member(book, "ana")
    ben = Member(book, "ben", instance_id="two", session_timeout_ms=4 * REBALANCE_MS)
    book.stable_group(ana, ben)
    ana.leave()
    book.wait(2 * REBALANCE_MS)
    assert book.group_state == "PreparingRebalance"
    assert ben.join().answer.generation_id == 2


def test_an_administrator_removes_a_static_member_by_its_instance() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", instance_id="two")
    book.stable_group(ana, ben)
    assert book.leave(LeavingMember("", "two")) == [ErrorCode.NONE]
    assert len(ana.join().answer.members) == 1
    assert book.leave(LeavingMember("", "two")) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_a_static_member_that_never_comes_back_goes_with_its_session() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", instance_id="two")
    book.stable_group(ana, ben)
    book.wait(SESSION_MS // 2)
    ana.heartbeat()
    book.wait(SESSION_MS // 2)
    assert book.group_state == "PreparingRebalance"
    assert len(ana.join().answer.members) == 1
