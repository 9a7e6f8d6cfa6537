"""Consumer groups through librdkafka: commits in full, and what its admin client is told of both protocols' groups."""

from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    ConsumerGroupTopicPartitions,
    ConsumerGroupType,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic
from tests.compat.group_members import LIBRDKAFKA, Kind, StartMember, each_of, group_name, wait_until_shared

pytestmark = pytest.mark.usefixtures("consumer_groups")

each_protocol = each_of(LIBRDKAFKA[0], LIBRDKAFKA[3])
TYPES = {"classic": ConsumerGroupType.CLASSIC, "consumer": ConsumerGroupType.CONSUMER}


@pytest.fixture
def committer(broker: BrokerProcess) -> Iterator[Callable[[str], Consumer]]:
    """Makes consumers that commit to a group without being in it."""
    made: list[Consumer] = []

    def make(group: str) -> Consumer:
        made.append(Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group}))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


def commit(consumer: Consumer, *partitions: TopicPartition) -> None:
    consumer.commit(offsets=list(partitions), asynchronous=False)


def test_offsets_are_committed_and_told_with_epoch_and_metadata(
    committer: Callable[[str], Consumer], topic: str
) -> None:
    consumer = committer(group_name())
    assert [each.offset for each in consumer.committed([TopicPartition(topic, 0)], timeout=30)] == [-1001]
    commit(consumer, TopicPartition(topic, 0, 7, metadata="where I was", leader_epoch=0))
    (told,) = consumer.committed([TopicPartition(topic, 0)], timeout=30)
    assert (told.offset, told.metadata, told.leader_epoch) == (7, "where I was", 0)


def test_a_commit_to_a_partition_that_is_not_there_is_refused(committer: Callable[[str], Consumer], topic: str) -> None:
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
        commit(committer(group_name()), TopicPartition(topic, 9, 7))


@each_protocol
def test_a_live_group_is_listed_and_described(
    admin: AdminClient, broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic, group = make_topic(3), group_name()
    member = start_member(kind, broker, group, [topic], instance_id="i")
    wait_until_shared([member], 3)
    protocol = "consumer" if kind.strategy == "consumer" else "classic"

    def is_listed(**filters: object) -> bool:
        listed = admin.list_consumer_groups(**filters).result(30)
        assert listed.errors == []
        return group in [each.group_id for each in listed.valid]

    assert is_listed()
    assert is_listed(states={ConsumerGroupState.STABLE}, types={TYPES[protocol]})
    assert not is_listed(states={ConsumerGroupState.EMPTY})
    assert not is_listed(types=set(TYPES.values()) - {TYPES[protocol]})

    told = admin.describe_consumer_groups([group])[group].result(30)
    assert (told.state, told.type) == (ConsumerGroupState.STABLE, TYPES[protocol])
    assert told.partition_assignor == ("uniform" if protocol == "consumer" else "range")
    assert told.coordinator.port == broker.port
    (described,) = told.members
    assert (described.client_id, described.host, described.group_instance_id) == ("rdkafka", "/127.0.0.1", "i")
    assert {(each.topic, each.partition) for each in described.assignment.topic_partitions} == member.owned


@each_protocol
def test_a_group_is_deleted_once_nobody_is_in_it(
    admin: AdminClient, broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic, group = make_topic(1), group_name()
    member = start_member(kind, broker, group, [topic])
    wait_until_shared([member], 1)
    member.commit((topic, 0), 3, "")
    with pytest.raises(KafkaException, match="NON_EMPTY_GROUP"):
        admin.delete_consumer_groups([group])[group].result(30)
    member.close()
    told = admin.describe_consumer_groups([group])[group].result(30)
    assert told.state == ConsumerGroupState.EMPTY
    admin.delete_consumer_groups([group])[group].result(30)
    with pytest.raises(KafkaException, match="GROUP_ID_NOT_FOUND"):
        admin.delete_consumer_groups([group])[group].result(30)
    assert group not in [each.group_id for each in admin.list_consumer_groups().result(30).valid]


def test_offsets_of_a_group_are_altered_and_listed(
    admin: AdminClient, committer: Callable[[str], Consumer], make_topic: MakeTopic
) -> None:
    topic, other, group = make_topic(2), make_topic(1), group_name()
    commit(committer(group), TopicPartition(topic, 0, 7), TopicPartition(other, 0, 1))
    wish = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 4)])
    altered = admin.alter_consumer_group_offsets([wish])[group].result(30)
    assert [each.error for each in altered.topic_partitions] == [None, None]

    def listed(partitions: list[TopicPartition] | None) -> dict[tuple[str, int], int]:
        told = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, partitions)])[group].result(30)
        return {(each.topic, each.partition): each.offset for each in told.topic_partitions}

    assert listed(None) == {(topic, 0): 3, (topic, 1): 4, (other, 0): 1}
    assert listed([TopicPartition(topic, 1)]) == {(topic, 1): 4}


@each_protocol
def test_offsets_of_a_live_group_are_not_altered(
    admin: AdminClient, broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, kind: Kind
) -> None:
    topic, group = make_topic(1), group_name()
    member = start_member(kind, broker, group, [topic])
    wait_until_shared([member], 1)
    wish = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 3)])
    (refused,) = admin.alter_consumer_group_offsets([wish])[group].result(30).topic_partitions
    assert refused.error.code() == KafkaError.UNKNOWN_MEMBER_ID
    assert member.committed((topic, 0)) is None
