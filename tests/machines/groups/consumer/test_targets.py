import pytest

from kohort.model.records.groups import TargetAssignmentMemberRecord, TargetAssignmentMetadataRecord
from kohort.model.settings import BrokerSettings
from tests.machines.groups.consumer.conversation import (
    BILLS,
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


def targets(book: GroupBook) -> int:
    return sum(isinstance(record, TargetAssignmentMetadataRecord) for record in book.records)


def test_a_change_that_comes_alone_is_followed_by_its_target_at_once(book: GroupBook) -> None:
    for number in range(3):
        Consumer(book, f"m{number}").join()
        assert book.group.target_epoch == book.group.epoch == number + 2
        book.settle()


def test_joins_in_a_burst_share_a_target(book: GroupBook) -> None:
    members = [Consumer(book, f"m{number}") for number in range(100)]
    for each in members:
        each.join()
    assert targets(book) == 1
    book.settle()
    assert targets(book) == 2
    assert book.group.target_epoch == book.group.epoch == 101


def test_a_hundred_joins_within_a_second_make_few_targets(book: GroupBook) -> None:
    book.set_topics(topic("orders", ORDERS, 200))
    members = [Consumer(book, f"m{number}") for number in range(100)]
    for each in members:
        each.join()
        book.wait(1)
    book.settle()
    assert targets(book) <= 10
    converge(*members)
    assert [each.partitions for each in members] == [2] * 100


def test_only_who_gets_something_else_is_written_of(book: GroupBook) -> None:
    members = [Consumer(book, f"m{number}") for number in range(4)]
    for each in members:
        each.join()
    converge(*members)
    before = len(book.records)
    Consumer(book, "z").join()
    book.settle()
    changed = [record for record in book.records[before:] if isinstance(record, TargetAssignmentMemberRecord)]
    assert changed == []
    assert targets(book) == 3


def test_an_interval_between_targets_is_kept_as_kafka_keeps_it() -> None:
    book = group_book(settings=BrokerSettings(group_consumer_assignment_interval_ms=1000))
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    book.wait(999)
    assert targets(book) == 1
    assert (second.epoch, second.owned) == (2, {})
    assert second.heartbeat().member_epoch == 2
    book.wait(1)
    assert targets(book) == 2
    converge(first, second)
    assert second.owned == {ORDERS: (2, 3)}


def test_the_assignor_that_most_members_ask_for_is_taken(book: GroupBook) -> None:
    book.set_topics(topic("orders", ORDERS, 3), topic("bills", BILLS, 3))
    names = ("orders", "bills")
    one = Consumer(book, "a", subscribed_topic_names=names)
    two = Consumer(book, "b", subscribed_topic_names=names, server_assignor="range")
    three = Consumer(book, "c", subscribed_topic_names=names, server_assignor="uniform")
    four = Consumer(book, "d", subscribed_topic_names=names, server_assignor="range")
    for each in (one, two, three, four):
        each.join()
    converge(one, two, three, four)
    assert (one.owned, four.owned) == ({ORDERS: (0,), BILLS: (0,)}, {}), "ranges go to the first members"
    two.leave()
    four.leave()
    converge(one, three)
    assert one.partitions == three.partitions == 3


def test_without_a_wish_the_first_assignor_of_the_broker_is_taken() -> None:
    book = group_book(
        topic("orders", ORDERS, 1),
        topic("bills", BILLS, 1),
        settings=BrokerSettings(group_consumer_assignors=("range", "uniform")),
    )
    names = ("orders", "bills")
    members = [Consumer(book, each, subscribed_topic_names=names) for each in "ab"]
    for each in members:
        each.join()
    converge(*members)
    assert members[0].owned == {ORDERS: (0,), BILLS: (0,)}


def test_members_that_want_different_topics_are_balanced_too(book: GroupBook) -> None:
    book.set_topics(topic("orders", ORDERS, 4), topic("bills", BILLS, 2))
    both = Consumer(book, "a", subscribed_topic_names=("orders", "bills"))
    orders = Consumer(book, "b")
    both.join()
    orders.join()
    converge(both, orders)
    assert both.partitions == orders.partitions == 3


def test_a_burst_of_leaving_members_leaves_everything_to_those_who_stay(book: GroupBook) -> None:
    members = [Consumer(book, f"m{number}") for number in range(4)]
    for each in members:
        each.join()
    converge(*members)
    for each in members[1:]:
        each.leave()
    before = targets(book)
    book.settle()
    assert targets(book) <= before + 1
    converge(members[0])
    assert members[0].owned == {ORDERS: (0, 1, 2, 3)}


def test_the_last_to_leave_leaves_an_empty_group_whose_epoch_goes_on(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    member.leave()
    book.settle()
    assert book.group.state == "Empty"
    assert book.group.epoch == book.group.target_epoch == 3
    member.join()
    assert (member.epoch, member.owned) == (4, {ORDERS: (0, 1, 2, 3)})
    assert len(book.machine.state.identities) == 1
