"""What the flight recorder tells of classic groups."""

from kohort.model.group_events import GroupRebalanced, PartitionMove, WaitedFor
from tests.machines.groups.classic.conversation import (
    GROUP,
    INITIAL_DELAY_MS,
    RANGE,
    REBALANCE_MS,
    SESSION_MS,
    Member,
    classic_book,
)


def test_the_first_rebalance_tells_who_came_what_they_got_and_how_long_it_took() -> None:
    book = classic_book()
    ana = Member(book, "ana")
    book.stable_group(ana)
    assert book.events == [
        GroupRebalanced(
            GROUP,
            book.state.identities[GROUP],
            "classic",
            (f"member {ana.member_id} joined",),
            0,
            1,
            book.now_ms - INITIAL_DELAY_MS,
            book.now_ms,
            (ana.member_id,),
            (),
            1,
            (PartitionMove("orders", 0, None, ana.member_id),),
            (WaitedFor(ana.member_id, "sync", 0),),
        )
    ]


def test_a_rebalance_tells_who_was_waited_for_and_what_moved() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben")
    book.stable_group(ana)
    ben.join()
    book.wait(2000)
    ana.join()
    book.wait(30)
    book.sync_all(ben, ana)
    event = book.events[-1]
    assert event.triggers == (f"member {ben.member_id} joined",)
    assert (event.from_epoch, event.to_epoch, event.members) == (1, 2, 2)
    assert event.ended_ms - event.began_ms == 2030
    assert event.moves == (
        PartitionMove("orders", 0, ana.member_id, ben.member_id),
        PartitionMove("orders", 1, None, ana.member_id),
    )
    assert event.waited_for == (WaitedFor(ana.member_id, "join", 2000), WaitedFor(ana.member_id, "sync", 30))


def test_everything_that_came_while_it_was_under_way_is_told() -> None:
    book = classic_book()
    ana, ben, cat = Member(book, "ana"), Member(book, "ben"), Member(book, "cat")
    book.stable_group(ana, ben, cat)
    ben.protocols = (RANGE._replace(metadata=b"other topics"),)
    ben.join()
    cat.leave()
    ana.join()
    book.sync_all(ana, ben)
    event = book.events[-1]
    assert event.triggers == (f"member {ben.member_id} changed its subscription", f"member {cat.member_id} left")
    assert (event.joined, event.left) == ((), (cat.member_id,))
    assert event.moves == (PartitionMove("orders", 2, cat.member_id, None),)


def test_a_group_that_became_empty_tells_so() -> None:
    book = classic_book()
    ana = Member(book, "ana")
    book.stable_group(ana)
    book.wait(SESSION_MS)
    event = book.events[-1]
    assert event.triggers == (f"the session of member {ana.member_id} ended",)
    assert (event.members, event.left, event.to_epoch) == (0, (ana.member_id,), 2)
    assert event.moves == (PartitionMove("orders", 0, ana.member_id, None),)


def test_whoever_did_not_come_again_is_named() -> None:
    book = classic_book(group_max_session_timeout_ms=5 * REBALANCE_MS)
    ana, ben = (Member(book, name, session_timeout_ms=5 * REBALANCE_MS) for name in ("ana", "ben"))
    book.stable_group(ana, ben)
    ana.join()
    book.wait(REBALANCE_MS)
    book.sync_all(ana)
    event = book.events[-1]
    assert event.triggers == (
        f"the leader {ana.member_id} joined again",
        f"member {ben.member_id} did not join again in time",
    )
    assert WaitedFor(ben.member_id, "join", REBALANCE_MS) in event.waited_for


def test_nothing_is_told_when_nobody_had_to_agree_anew() -> None:
    book = classic_book()
    ana, ben = Member(book, "ana"), Member(book, "ben", instance_id="two")
    book.stable_group(ana, ben)
    told = list(book.events)
    Member(book, "ben", instance_id="two").join()
    ana.heartbeat()
    assert book.events == told


def test_assignments_of_other_protocols_are_not_looked_into() -> None:
    book = classic_book()
    worker = Member(book, protocol_type="connect")
    book.stable_group(worker)
    assert book.events[-1].moves == ()


def test_an_assignment_that_cannot_be_read_harms_nobody() -> None:
    book = classic_book()
    ana = Member(book)
    book.joined_group(ana)
    ana.sync({ana.member_id: b"\xff" * 40})
    assert book.events[-1].moves == ()
