"""What the flight recorder tells of rebalances."""

import pytest

from kohort.model.group_events import PartitionMove, WaitedFor
from tests.machines.groups.consumer.conversation import (
    ORDERS,
    Consumer,
    GroupBook,
    converge,
    group_book,
    topic,
)


@pytest.fixture
def book() -> GroupBook:
    return group_book()


def moved(partition: int, before: str | None, after: str | None) -> PartitionMove:
    return PartitionMove("orders", partition, before, after)


def test_a_rebalance_that_is_over_at_once_is_told_at_once(book: GroupBook) -> None:
    Consumer(book, "a").join()
    (event,) = book.events
    assert (event.group_id, event.protocol, event.triggers) == ("g", "consumer", ("a member joined",))
    assert event.identity == book.machine.state.identities["g"]
    assert (event.from_epoch, event.to_epoch, event.joined, event.left, event.members) == (1, 2, ("a",), (), 1)
    assert event.moves == tuple(moved(index, None, "a") for index in range(4))


def test_a_rebalance_lasts_until_everybody_has_its_own_and_says_who_was_waited_for(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    book.settle()
    began_ms = book.now_ms
    second.join()
    book.wait(100)
    first.heartbeat()
    book.wait(1500)
    first.acknowledge()
    assert len(book.events) == 1
    book.wait(70)
    second.heartbeat()
    event = book.events[1]
    assert (event.began_ms, event.ended_ms) == (began_ms, began_ms + 1670)
    assert event.waited_for == (WaitedFor("a", "revocation", 1500),)
    assert event.moves == (moved(2, "a", "b"), moved(3, "a", "b"))


def test_what_comes_while_a_rebalance_is_under_way_is_part_of_it(book: GroupBook) -> None:
    first, second, third = (Consumer(book, each) for each in "abc")
    first.join()
    book.settle()
    second.join()
    third.join()
    book.set_topics(topic("orders", ORDERS, 6))
    second.leave()
    converge(first, third)
    event = book.events[1]
    assert event.triggers == ("a member joined", "subscribed topics changed", "a member left")
    assert (event.joined, event.left, event.members) == (("b", "c"), ("b",), 2)
    assert (event.from_epoch, event.to_epoch) == (2, book.group.epoch)
    assert [(move.from_member, move.to_member) for move in event.moves] == [("a", "c"), (None, "c"), (None, "c")]
    assert len(book.events) == 2


def test_members_that_have_nothing_to_gain_or_lose_are_not_waited_for(book: GroupBook) -> None:
    members = [Consumer(book, f"m{number}") for number in range(4)]
    for each in members:
        each.join()
    converge(*members)
    count = len(book.events)
    Consumer(book, "z").join()
    book.settle()
    assert len(book.events) == count + 1
    assert book.events[-1].moves == ()


def test_who_was_silent_and_what_it_had_is_told(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    converge(first, second)
    book.wait(30_000)
    second.heartbeat()
    book.wait(20_000)
    second.heartbeat()
    event = book.events[-1]
    assert event.triggers == ("a member was silent for too long",)
    assert event.left == ("a",)
    assert event.moves == (moved(0, "a", "b"), moved(1, "a", "b"))


def test_a_group_that_is_emptied_has_moved_everything_to_nobody(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    book.settle()
    member.leave()
    assert book.events[-1].moves == tuple(moved(index, "a", None) for index in range(4))
    assert book.events[-1].members == 0


def test_a_static_member_under_another_id_is_no_rebalance(book: GroupBook) -> None:
    member = Consumer(book, "a", instance_id="i1")
    member.join()
    member.leave(-2)
    Consumer(book, "b", instance_id="i1").join()
    assert len(book.events) == 1


def test_a_rebalance_that_a_restart_interrupts_is_told_from_there_on(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    count = len(book.events)
    book.restart()
    book.wait(500)
    first.acknowledge()
    second.heartbeat()
    (event,) = book.events[count:]
    assert event.triggers == ("the coordinator was started again",)
    assert event.waited_for == (WaitedFor("a", "revocation", 500),)
    assert event.moves == (moved(2, "a", "b"), moved(3, "a", "b"))


def test_a_restart_of_a_group_at_rest_is_no_rebalance(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    book.settle()
    book.restart()
    member.heartbeat()
    assert len(book.events) == 1
