"""Groups with settings of their own: what their members are told, and how long they may be silent."""

import pytest

from kohort.model.commands.groups import ListGroups
from tests.machines.groups.consumer.conversation import Consumer, GroupBook, group_book


@pytest.fixture
def book() -> GroupBook:
    return group_book()


def member(book: GroupBook) -> Consumer:
    consumer = Consumer(book, "m")
    consumer.join()
    book.settle()
    consumer.heartbeat()
    return consumer


def state(book: GroupBook) -> str:
    (group,) = book.say(ListGroups()).groups
    return str(group.group_state)


def test_a_member_is_told_of_its_groups_heartbeat_interval_with_its_next_heartbeat(book: GroupBook) -> None:
    consumer = member(book)
    assert consumer.heartbeat().heartbeat_interval_ms == 1000
    book.configure_group(consumer_heartbeat_interval_ms="7000")
    assert consumer.heartbeat().heartbeat_interval_ms == 7000
    book.configure_group()
    assert consumer.heartbeat().heartbeat_interval_ms == 1000


def test_a_member_may_be_silent_for_as_long_as_its_group_says(book: GroupBook) -> None:
    book.configure_group(consumer_session_timeout_ms="12000")
    consumer = member(book)
    book.wait(11_900)
    assert state(book) == "Stable"
    consumer.heartbeat()
    book.wait(12_100)
    assert state(book) == "Empty"


def test_a_longer_timeout_counts_from_the_next_heartbeat_on(book: GroupBook) -> None:
    consumer = member(book)
    book.configure_group(consumer_session_timeout_ms="90000")
    consumer.heartbeat()
    book.wait(89_000)
    assert state(book) == "Stable"
    book.wait(1_100)
    assert state(book) == "Empty"
