import pytest

from kohort.model.commands.groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    DescribedAssignment,
    DescribedConsumer,
    DescribedTopic,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.records.groups import GroupMetadataRecord
from kohort.model.settings import BrokerSettings
from tests.machines.groups.consumer.conversation import (
    BILLS,
    GROUP,
    ORDERS,
    Consumer,
    GroupBook,
    converge,
    group_book,
    topic,
)

DESCRIBE = ConsumerGroupDescribe(GROUP)


@pytest.fixture
def book() -> GroupBook:
    return group_book()


def orders(*partitions: int) -> DescribedAssignment:
    return DescribedAssignment((DescribedTopic(ORDERS, "orders", partitions),))


def test_a_group_is_described_with_all_its_members(book: GroupBook) -> None:
    Consumer(book, "a", instance_id="i1", rack_id="r1", subscribed_topic_regex="").join()
    assert book.say(DESCRIBE) == ConsumerGroupDescribed(
        0,
        GROUP,
        "Stable",
        2,
        2,
        "uniform",
        (
            DescribedConsumer(
                "a",
                "i1",
                "r1",
                2,
                "client",
                "/127.0.0.1",
                ("orders",),
                "",
                orders(0, 1, 2, 3),
                orders(0, 1, 2, 3),
                1,
            ),
        ),
    )


def test_what_a_member_has_to_give_up_is_still_assigned_to_it(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    described = book.say(DESCRIBE)
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Assigning", 3, 2)
    book.settle()
    first.heartbeat()
    described = book.say(DESCRIBE)
    assert described.group_state == "Reconciling"
    one, two = described.members
    assert (one.assignment, one.target_assignment) == (orders(0, 1, 2, 3), orders(0, 1))
    assert (two.assignment, two.target_assignment) == (DescribedAssignment(), orders(2, 3))
    converge(first, second)
    described = book.say(DESCRIBE)
    assert described.group_state == "Stable"
    assert [each.assignment for each in described.members] == [orders(0, 1), orders(2, 3)]


def test_a_topic_that_is_gone_is_not_described(book: GroupBook) -> None:
    book.set_topics(topic("orders", ORDERS, 1), topic("bills", BILLS, 1))
    Consumer(book, "a", subscribed_topic_names=("orders", "bills")).join()
    book.set_topics(topic("orders", ORDERS, 1))
    (member,) = book.say(DESCRIBE).members
    assert member.assignment == orders(0)


def test_a_group_without_members_is_empty(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    member.leave()
    described = book.say(DESCRIBE)
    assert (described.error_code, described.group_state, described.members) == (0, "Empty", ())


def test_a_group_that_is_missing_or_classic_is_not_found(book: GroupBook) -> None:
    described = book.say(DESCRIBE)
    assert (described.error_code, described.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    book.records.append(GroupMetadataRecord(GROUP, "consumer", 1, None, None, 0, ()))
    book.restart()
    described = book.say(DESCRIBE)
    assert described.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert described.error_message == "Group g is not a consumer group."
    described = book.say(ConsumerGroupDescribe(""))
    assert (described.error_code, described.error_message) == (ErrorCode.INVALID_GROUP_ID, None)


def test_nothing_is_described_where_the_protocol_is_turned_off() -> None:
    book = group_book(settings=BrokerSettings(group_coordinator_rebalance_protocols=("classic",)))
    with pytest.raises(ProtocolError) as refused:
        book.say(DESCRIBE)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION
