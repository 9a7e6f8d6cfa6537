from kohort.model.commands.groups import LeaveGroup, LeavingMember, LeftMember
from kohort.model.errors import ErrorCode
from tests.machines.groups.classic.conversation import GROUP, INITIAL_DELAY_MS, Member, classic_book


def test_when_a_member_leaves_the_others_agree_anew() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    assert ben.leave() is ErrorCode.NONE
    assert ana.heartbeat().code is ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = ana.join()
    assert (rejoined.answer.generation_id, len(rejoined.answer.members)) == (2, 1)
    assert ben.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_group_that_everybody_left_is_empty_and_its_generations_go_on() -> None:
    book = classic_book()
    ana = Member(book, "ana")
    book.stable_group(ana)
    assert ana.leave() is ErrorCode.NONE
    assert (book.group_state, book.group.generation_id, book.group.protocol_type) == ("Empty", 2, "consumer")
    identity = book.state.identities[GROUP]
    book.restart()
    assert (book.group_state, book.group.generation_id) == ("Empty", 2)
    ben = Member(book, "ben")
    book.stable_group(ben)
    assert ben.generation_id == 3
    assert book.state.identities[GROUP] == identity


def test_an_empty_group_may_follow_another_protocol_next() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    ana.leave()
    worker = Member(book, protocol_type="connect")
    worker.join()
    book.wait(INITIAL_DELAY_MS)
    worker.sync()
    assert book.group.protocol_type == "connect"


def test_whoever_waits_to_be_let_in_may_leave_too() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    first, second = ana.join(), ben.join()
    assert book.leave(LeavingMember(ben.member_id)) == [ErrorCode.NONE]
    assert (second.code, second.answer.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    book.wait(3 * INITIAL_DELAY_MS)
    assert len(first.answer.members) == 1


def test_the_last_one_that_the_others_waited_for_may_leave() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    rejoined = ana.join()
    assert not rejoined.is_answered
    ben.leave()
    assert rejoined.answer.generation_id == 2


def test_whoever_waits_for_an_assignment_may_be_removed() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    ana.join(), ben.join()
    book.wait(3 * INITIAL_DELAY_MS)
    waiting = ben.sync()
    ben.leave()
    assert waiting.code is ErrorCode.UNKNOWN_MEMBER_ID
    assert book.group_state == "PreparingRebalance"


def test_many_leave_at_once_and_each_is_told_its_own_outcome() -> None:
    book = classic_book()
    ana, ben, cat = Member(book, "ana", instance_id="one"), Member(book, "ben"), Member(book, "cat")
    book.stable_group(ana, ben, cat)
    leaving = (
        LeavingMember("", "one"),
        LeavingMember(ben.member_id, reason="the consumer is being closed"),
        LeavingMember("nobody"),
        LeavingMember("", "nowhere"),
        LeavingMember(""),
        LeavingMember(cat.member_id, "nowhere"),
        LeavingMember(ben.member_id),
    )
    answer = book.ask(LeaveGroup(GROUP, leaving)).answer
    assert answer.members == (
        LeftMember("", "one", ErrorCode.NONE),
        LeftMember(ben.member_id, None, ErrorCode.NONE),
        LeftMember("nobody", None, ErrorCode.UNKNOWN_MEMBER_ID),
        LeftMember("", "nowhere", ErrorCode.UNKNOWN_MEMBER_ID),
        LeftMember("", None, ErrorCode.UNKNOWN_MEMBER_ID),
        LeftMember(cat.member_id, "nowhere", ErrorCode.UNKNOWN_MEMBER_ID),
        LeftMember(ben.member_id, None, ErrorCode.UNKNOWN_MEMBER_ID),
    )
    assert list(book.group.members) == [cat.member_id]
    assert cat.join().answer.generation_id == 2


def test_a_static_member_is_not_removed_by_an_id_that_is_no_longer_its_own() -> None:
    book = classic_book()
    old = Member(book, instance_id="one")
    book.stable_group(old)
    Member(book, instance_id="one").join()
    assert book.leave(LeavingMember(old.member_id, "one")) == [ErrorCode.FENCED_INSTANCE_ID]
    assert book.leave(LeavingMember(old.member_id)) == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert book.group_state == "Stable"


def test_who_is_not_in_a_group_cannot_leave_it() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    assert book.leave(LeavingMember(ana.member_id), group_id="missing") == [ErrorCode.UNKNOWN_MEMBER_ID]
    assert book.leave() == []
    assert book.ask(LeaveGroup("", (LeavingMember(ana.member_id),))).code is ErrorCode.INVALID_GROUP_ID
    assert ana.heartbeat().code is ErrorCode.NONE


def test_an_id_that_was_given_out_can_be_given_back_without_a_rebalance() -> None:
    book = classic_book()
    ana = Member(book, "ana")
    book.stable_group(ana)
    given = Member(book, "ben").ask_to_join().answer.member_id
    assert book.leave(LeavingMember(given)) == [ErrorCode.NONE]
    assert book.group_state == "Stable"
