import pytest

from kohort.model.commands.groups import NO_ORIGIN, AssignedTopic, ConsumerGroupHeartbeat
from kohort.model.errors import ErrorCode
from kohort.model.records.groups import (
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMetadataRecord,
    CurrentMemberAssignmentRecord,
    GroupIdentityRecord,
    GroupMetadataMember,
    GroupMetadataRecord,
    RemoveGroupMetadataRecord,
    TargetAssignmentMemberRecord,
    TargetAssignmentMetadataRecord,
)
from kohort.model.settings import BrokerSettings
from tests.machines.groups.consumer.conversation import (
    BILLS,
    GROUP,
    ORDERS,
    ORIGIN,
    Consumer,
    GroupBook,
    converge,
    group_book,
    refusal,
    topic,
)

JOIN = ConsumerGroupHeartbeat(
    GROUP, "a", 0, rebalance_timeout_ms=60_000, subscribed_topic_names=("orders",), topic_partitions=(), origin=ORIGIN
)
ALIVE = ConsumerGroupHeartbeat(GROUP, "a", 5)


@pytest.fixture
def book() -> GroupBook:
    return group_book()


def kinds(book: GroupBook) -> list[type]:
    return [type(record) for record in book.records]


def test_the_first_member_is_given_everything_at_once_in_the_second_epoch(book: GroupBook) -> None:
    answer = Consumer(book, "a").join()
    assert (answer.error_code, answer.member_id, answer.member_epoch) == (0, "a", 2)
    assert answer.heartbeat_interval_ms == 1000
    assert answer.assignment.topic_partitions == (AssignedTopic(ORDERS, (0, 1, 2, 3)),)


def test_a_join_is_written_in_the_order_of_kafka(book: GroupBook) -> None:
    Consumer(book, "a").join()
    assert kinds(book) == [
        GroupIdentityRecord,
        ConsumerGroupMemberMetadataRecord,
        ConsumerGroupMetadataRecord,
        TargetAssignmentMemberRecord,
        TargetAssignmentMetadataRecord,
        CurrentMemberAssignmentRecord,
    ]


def test_a_first_member_that_subscribes_to_nothing_is_in_the_first_epoch(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=())
    assert member.join().assignment.topic_partitions == ()
    assert member.epoch == 1
    assert book.group.epoch == 1
    assert TargetAssignmentMetadataRecord not in kinds(book)


def test_a_member_may_subscribe_to_what_is_not_there(book: GroupBook) -> None:
    member = Consumer(book, "a", subscribed_topic_names=("nowhere", "orders"))
    member.join()
    assert member.owned == {ORDERS: (0, 1, 2, 3)}


def test_a_second_member_gets_its_share_when_the_first_has_given_it_up(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    assert second.owned == {}
    book.settle()
    assert first.heartbeat().assignment.topic_partitions == (AssignedTopic(ORDERS, (0, 1)),)
    assert first.epoch == 2, "it may still commit what it read of what it gives up"
    second.heartbeat()
    assert second.owned == {}, "nobody has two owners"
    first.acknowledge()
    assert first.epoch == 3
    second.heartbeat()
    assert second.owned == {ORDERS: (2, 3)}
    assert second.epoch == 3


def test_an_owner_that_still_has_it_keeps_the_others_waiting(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    for owned in ({ORDERS: (0, 1, 2)}, None):
        answer = first.send(first.epoch, owned=owned)
        # Kafka says this once; an answer that is lost would keep the others waiting until the rebalance times out.
        assert answer.assignment is not None
        assert [topic.partitions for topic in answer.assignment.topic_partitions] == [(0, 1)]
    first.heartbeat()
    second.heartbeat()
    assert second.owned == {}
    first.acknowledge()
    second.heartbeat()
    assert second.owned == {ORDERS: (2, 3)}


def test_the_coordinator_chooses_an_id_where_a_version_leaves_that_to_it(book: GroupBook) -> None:
    answer = book.say(JOIN._replace(member_id="", requires_member_id=False))
    assert len(answer.member_id) == 22, "in the letters that Kafka writes ids with"
    other = book.say(JOIN._replace(member_id="", requires_member_id=False))
    assert other.member_id != answer.member_id
    assert list(book.group.members) == [answer.member_id, other.member_id]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (JOIN._replace(member_id=""), "MemberId can't be empty."),
        (JOIN._replace(member_id=" "), "MemberId can't be empty."),
        (ALIVE._replace(member_id="", requires_member_id=False), "MemberId can't be empty."),
        (ALIVE._replace(member_id="", member_epoch=-1, requires_member_id=False), "MemberId can't be empty."),
        (JOIN._replace(group_id=""), "GroupId can't be empty."),
        (JOIN._replace(instance_id=""), "InstanceId can't be empty."),
        (JOIN._replace(rack_id=""), "RackId can't be empty."),
        (JOIN._replace(rebalance_timeout_ms=-1), "RebalanceTimeoutMs must be provided in first request."),
        (JOIN._replace(topic_partitions=None), "TopicPartitions must be empty when (re-)joining."),
        (
            JOIN._replace(topic_partitions=(AssignedTopic(ORDERS, (0,)),)),
            "TopicPartitions must be empty when (re-)joining.",
        ),
        (
            JOIN._replace(subscribed_topic_names=None),
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
        ),
        (ALIVE._replace(member_epoch=-2), "InstanceId can't be null."),
        (ALIVE._replace(member_epoch=-3), "MemberEpoch is invalid."),
        (ALIVE._replace(member_epoch=-(1 << 31)), "MemberEpoch is invalid."),
    ],
)
def test_a_heartbeat_that_makes_no_sense_is_an_invalid_request(
    book: GroupBook, command: ConsumerGroupHeartbeat, message: str
) -> None:
    assert refusal(book, command) == (ErrorCode.INVALID_REQUEST, message)


@pytest.mark.parametrize(
    "fields",
    [
        {"group_id": "g" * 32_768},
        {"member_id": "m" * 32_768},
        {"member_id": "ü" * 16_384},
        {"instance_id": "i" * 32_768},
        {"rack_id": "r" * 32_768},
        {"subscribed_topic_regex": "a" * 32_768},
        {"server_assignor": "a" * 32_768},
        {"subscribed_topic_names": ("orders", "o" * 32_768)},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_name_that_no_record_has_room_for_is_an_invalid_request(book: GroupBook, fields: dict[str, str]) -> None:
    too_long = (ErrorCode.INVALID_REQUEST, "A name of more than 32767 bytes was sent.")
    assert refusal(book, JOIN._replace(**fields)) == too_long
    Consumer(book, "a").join()
    assert refusal(book, ALIVE._replace(**fields)) == too_long


def test_names_may_be_as_long_as_a_record_has_room_for(book: GroupBook) -> None:
    assert book.say(JOIN._replace(member_id="ü" * 16_383, rack_id="r" * 32_767)).error_code == 0


def test_more_names_than_a_record_has_room_for_are_refused() -> None:
    book = group_book(settings=BrokerSettings(message_max_bytes=10_000))
    names = tuple(f"{'t' * 100}{number}" for number in range(100))
    assert refusal(book, JOIN._replace(subscribed_topic_names=names))[0] is ErrorCode.UNKNOWN_SERVER_ERROR


def test_an_assignor_that_nobody_knows_is_refused(book: GroupBook) -> None:
    assert refusal(book, JOIN._replace(server_assignor="best")) == (
        ErrorCode.UNSUPPORTED_ASSIGNOR,
        "ServerAssignor best is not supported. Supported assignors: uniform, range.",
    )


def test_the_protocol_can_be_turned_off() -> None:
    book = group_book(settings=BrokerSettings(group_coordinator_rebalance_protocols=("classic",)))
    assert refusal(book, JOIN)[0] is ErrorCode.UNSUPPORTED_VERSION


def test_a_group_that_is_full_takes_nobody_new_but_keeps_those_it_has() -> None:
    book = group_book(settings=BrokerSettings(group_consumer_max_size=2))
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    full = (ErrorCode.GROUP_MAX_SIZE_REACHED, "The consumer group has reached its maximum capacity of 2 members.")
    assert refusal(book, JOIN._replace(member_id="c")) == full
    assert refusal(book, JOIN._replace(member_id="", requires_member_id=False)) == full
    assert refusal(book, ALIVE._replace(member_id="c")) == full
    first.join()
    second.leave()
    Consumer(book, "c").join()
    assert list(book.group.members) == ["a", "c"]


def test_only_a_join_makes_a_group(book: GroupBook) -> None:
    assert refusal(book, ALIVE) == (ErrorCode.GROUP_ID_NOT_FOUND, "Consumer group g not found.")
    assert refusal(book, ALIVE._replace(member_epoch=-1)) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")
    assert not book.machine.state.groups


def classic_group(*members: GroupMetadataMember) -> GroupMetadataRecord:
    return GroupMetadataRecord(GROUP, "consumer", 7, None, None, 0, members)


def test_an_empty_classic_group_makes_room_and_keeps_its_identity(book: GroupBook) -> None:
    book.records += [GroupIdentityRecord(GROUP, "cgp_old"), classic_group()]
    book.restart()
    assert refusal(book, ALIVE) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a consumer group.")
    assert refusal(book, ALIVE._replace(member_epoch=-1))[0] is ErrorCode.GROUP_ID_NOT_FOUND
    member = Consumer(book, "a")
    member.join()
    assert RemoveGroupMetadataRecord(GROUP) in book.records
    assert kinds(book).count(GroupIdentityRecord) == 1
    book.restart()
    assert book.machine.state.identities == {GROUP: "cgp_old"}
    member.heartbeat()


def test_a_member_that_starts_over_keeps_its_place_and_is_told_all(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    member.acknowledge()
    count = len(book.records)
    answer = member.join()
    assert answer.member_epoch == 2
    assert member.owned == {ORDERS: (0, 1, 2, 3)}
    assert len(book.records) == count, "nothing has changed"


def test_a_member_that_starts_over_has_given_up_what_it_was_to_give_up(book: GroupBook) -> None:
    first, second = Consumer(book, "a"), Consumer(book, "b")
    first.join()
    second.join()
    book.settle()
    first.heartbeat()
    answer = first.join()
    assert (answer.member_epoch, first.owned) == (3, {ORDERS: (0, 1)})
    second.heartbeat()
    assert second.owned == {ORDERS: (2, 3)}


def test_a_full_request_is_told_the_assignment_and_a_partial_one_only_what_is_new(book: GroupBook) -> None:
    member = Consumer(book, "a")
    member.join()
    assert member.heartbeat().assignment is None
    assert member.acknowledge().assignment is None
    assert member.ask_for_all().assignment.topic_partitions == (AssignedTopic(ORDERS, (0, 1, 2, 3)),)
    assert member.send(member.epoch, **member.fields).assignment is None, "it did not say what it owns"


def test_many_members_share_evenly_and_nothing_moves_afterwards(book: GroupBook) -> None:
    book.set_topics(topic("orders", ORDERS, 12), topic("bills", BILLS, 9))
    members = [Consumer(book, f"m{i}", subscribed_topic_names=("orders", "bills")) for i in range(7)]
    for each in members:
        each.join()
    converge(*members)
    assert [each.partitions for each in members] == [3] * 7
    owned = [dict(each.owned) for each in members]
    count = len(book.records)
    converge(*members)
    assert [each.owned for each in members] == owned
    assert len(book.records) == count


def test_a_member_without_a_connection_is_a_member_like_any_other(book: GroupBook) -> None:
    member = Consumer(book, "a", origin=NO_ORIGIN)
    member.join()
    assert member.heartbeat().member_epoch == 2


def test_a_classic_group_that_has_members_is_not_for_the_taking(book: GroupBook) -> None:
    book.records.append(classic_group(GroupMetadataMember("m", None, "c", "/h", 1000, 10_000, b"", b"")))
    book.restart()
    assert refusal(book, JOIN)[0] is ErrorCode.GROUP_ID_NOT_FOUND
    assert refusal(book, ALIVE)[0] is ErrorCode.UNKNOWN_MEMBER_ID
