from kohort.model.commands.groups import DescribeGroup, Protocol
from kohort.model.errors import ErrorCode
from tests.machines.groups.classic.conversation import (
    GROUP,
    INITIAL_DELAY_MS,
    SESSION_MS,
    Member,
    assignment,
    classic_book,
)


def test_after_a_restart_members_go_on_and_nobody_rebalances() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", instance_id="two")
    book.stable_group(ana, ben)
    book.restart()
    assert ana.heartbeat().code is ben.heartbeat().code is ErrorCode.NONE
    assert ben.sync().answer.assignment == assignment(orders=(1,))
    assert ben.join().answer.generation_id == 1, "a follower may ask"
    book.restart_from_snapshot()
    assert ana.heartbeat().code is ben.heartbeat().code is ErrorCode.NONE
    assert ben.heartbeat(member_id=ana.member_id).code is ErrorCode.FENCED_INSTANCE_ID


def test_after_a_restart_everybody_has_a_whole_session_to_come_back() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    book.wait(SESSION_MS - 1)
    book.restart()
    book.wait(SESSION_MS - 1)
    assert ana.heartbeat().code is ErrorCode.NONE
    book.wait(SESSION_MS)
    assert book.group_state == "Empty"


def test_a_rebalance_that_a_restart_interrupted_is_begun_again_by_whoever_wants_it() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana)
    ben.join()
    book.restart()
    assert (book.group_state, book.group.generation_id) == ("Stable", 1)
    assert ana.heartbeat().code is ErrorCode.NONE
    assert ben.ask_to_join().code is ErrorCode.UNKNOWN_MEMBER_ID
    ben.given_id = ""
    ben.join()
    ana.join()
    book.sync_all(ana, ben)
    assert ana.generation_id == 2


def test_a_generation_whose_assignment_was_not_written_never_was() -> None:
    book = classic_book()
    ana = Member(book)
    book.stable_group(ana)
    ana.join()
    assert book.group.generation_id == 2
    book.restart()
    assert ana.sync({ana.member_id: b"late"}).code is ErrorCode.ILLEGAL_GENERATION
    rejoined = ana.join()
    assert (rejoined.code, rejoined.answer.generation_id) == (ErrorCode.NONE, 2)


def test_a_group_that_never_had_a_generation_is_gone_after_a_restart() -> None:
    book = classic_book()
    ana = Member(book)
    ana.join()
    book.wait(INITIAL_DELAY_MS)
    book.restart()
    assert GROUP not in book.state.groups
    assert ana.heartbeat().code is ErrorCode.UNKNOWN_MEMBER_ID


def test_live_state_is_what_a_replay_gives() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", instance_id="two")
    book.stable_group(ana, ben)
    Member(book, "ben", instance_id="two").join()
    ana.leave()
    live = list(book.machine.snapshot())
    book.restart()
    assert list(book.machine.snapshot()) == live
    book.restart_from_snapshot()
    assert list(book.machine.snapshot()) == live


def test_what_members_said_last_counts_not_what_an_older_record_has() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana, ben)
    ben.protocols = (Protocol("range", b"other"),)
    ben.fields["session_timeout_ms"] = 2 * SESSION_MS
    ben.join()
    ana.join()
    book.sync_all(ana, ben)
    described = book.say(DescribeGroup(GROUP))
    book.restart()
    assert book.say(DescribeGroup(GROUP)) == described
    assert book.group.members[ben.member_id].session_timeout_ms == 2 * SESSION_MS
    assert ben.join().answer.generation_id == 2, "it asks for nothing else than before"
