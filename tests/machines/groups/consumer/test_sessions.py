import pytest

from kohort.model.settings import BrokerSettings
from tests.machines.groups.consumer.conversation import (
    ORDERS,
    PATIENT,
    Consumer,
    GroupBook,
    converge,
    group_book,
)


@pytest.fixture
def book() -> GroupBook:
    return group_book()


def test_who_is_silent_for_as_long_as_a_session_is_gone(book: GroupBook) -> None:
    Consumer(book, "a").join()
    book.wait(44_999)
    assert list(book.group.members) == ["a"]
    book.wait(1)
    assert not book.group.members
    assert book.group.epoch == 3


def test_every_heartbeat_begins_the_session_anew_and_costs_no_timer(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    timers = dict(book.timers)
    for _ in range(44):
        book.wait(1000)
        member.heartbeat()
        assert book.timers == timers
    book.wait(44_999)
    assert list(book.group.members) == ["a"]
    book.wait(1)
    assert not book.group.members


def test_the_partitions_of_who_is_gone_go_to_who_is_held(book: GroupBook) -> None:
    silent, alive = Consumer(book, "a"), Consumer(book, "b", origin=PATIENT)
    silent.join()
    alive.join()
    converge(silent, alive)
    for _ in range(47):
        book.wait(1000)
        if alive.token is None or alive.hear().error_code == 0:
            alive.acknowledge()
    assert alive.owned == {ORDERS: (0, 1, 2, 3)}


def test_a_session_may_be_shorter() -> None:
    book = group_book(settings=BrokerSettings(group_consumer_session_timeout_ms=10_000))
    Consumer(book, "a").join()
    book.wait(10_000)
    assert not book.group.members


def test_who_does_not_give_up_in_its_time_what_it_is_to_is_removed(book: GroupBook) -> None:
    first, second = Consumer(book, "a", rebalance_timeout_ms=5000), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    book.wait(4999)
    first.heartbeat()
    assert "a" in book.group.members
    book.wait(1)
    assert "a" not in book.group.members
    converge(second)
    assert second.owned == {ORDERS: (0, 1, 2, 3)}


def test_who_gives_it_up_in_time_is_left_alone(book: GroupBook) -> None:
    first, second = Consumer(book, "a", rebalance_timeout_ms=5000), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    book.wait(4000)
    first.acknowledge()
    book.wait(4000)
    assert set(book.group.members) == {"a", "b"}


def test_a_rebalance_timeout_that_makes_no_sense_gives_no_time_at_all(book: GroupBook) -> None:
    first, second = Consumer(book, "a", rebalance_timeout_ms=-5), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    book.wait(0)
    assert set(book.group.members) == {"b"}


def test_timers_of_members_that_left_are_gone(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    first.leave()
    second.leave()
    book.settle()
    assert not [key for key in book.timers if hasattr(key, "member_id")]
