"""confluent-kafka's admin client: topics, their configs, their records, and what the cluster says of itself."""

import re
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
)

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic
from tests.compat.librdkafka import make_producer, produce_all, read_partition

TOPIC = ConfigResource.Type.TOPIC


def test_a_created_topic_is_listed_and_described(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)

    listed = admin.list_topics(timeout=10).topics[topic]
    described = _only(admin.describe_topics(TopicCollection([topic])))

    assert sorted(listed.partitions) == [0, 1, 2]
    assert [partition.id for partition in described.partitions] == [0, 1, 2]
    assert all(partition.leader is not None for partition in described.partitions)
    assert described.is_internal is False
    assert re.fullmatch(r"[A-Za-z0-9+/]{22}", str(described.topic_id))


def test_a_deleted_topic_is_gone_and_its_name_begins_anew(
    broker: BrokerProcess, admin: AdminClient, topic: str
) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"old"] * 10)
    old_id = str(_only(admin.describe_topics(TopicCollection([topic]))).topic_id)

    _only(admin.delete_topics([topic]))
    _wait_until(lambda: topic not in admin.list_topics(timeout=10).topics)
    _only(admin.create_topics([NewTopic(topic, 1, 1)]))
    produce_all(make_producer(broker.bootstrap), topic, [b"new"])

    assert str(_only(admin.describe_topics(TopicCollection([topic]))).topic_id) != old_id
    assert [(each.offset(), each.value()) for each in read_partition(broker.bootstrap, topic)] == [(0, b"new")]


@pytest.mark.parametrize(
    ("new_topic", "code"),
    [
        (NewTopic("not a name!", 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("x" * 250, 1, 1), KafkaError.TOPIC_EXCEPTION),
        (NewTopic("compat-replicas", 1, 3), KafkaError.INVALID_REPLICATION_FACTOR),
        (NewTopic("compat-config", 1, 1, config={"no.such.config": "1"}), KafkaError.INVALID_CONFIG),
        (NewTopic("compat-config", 1, 1, config={"retention.ms": "soon"}), KafkaError.INVALID_CONFIG),
        (NewTopic("compat-config", 1, 1, config={"cleanup.policy": "shred"}), KafkaError.INVALID_CONFIG),
    ],
)
def test_a_topic_that_cannot_be_is_refused_with_kafkas_code(admin: AdminClient, new_topic: NewTopic, code: int) -> None:
    assert _refusal(admin.create_topics([new_topic])) == code
    assert new_topic.topic not in admin.list_topics(timeout=10).topics


def test_a_topic_is_not_created_twice(admin: AdminClient, topic: str) -> None:
    assert _refusal(admin.create_topics([NewTopic(topic, 1, 1)])) == KafkaError.TOPIC_ALREADY_EXISTS


def test_deleting_an_unknown_topic_is_refused(admin: AdminClient) -> None:
    assert _refusal(admin.delete_topics(["nobody-made-this"])) == KafkaError.UNKNOWN_TOPIC_OR_PART


def test_validating_a_topic_creates_nothing(admin: AdminClient) -> None:
    _only(admin.create_topics([NewTopic("only-validated", 2, 1)], validate_only=True))

    assert "only-validated" not in admin.list_topics(timeout=10).topics


def test_a_topic_without_a_count_gets_the_brokers_default(admin: AdminClient) -> None:
    name = f"default-count-{time.time_ns()}"
    _only(admin.create_topics([NewTopic(name, -1, -1)]))

    assert len(admin.list_topics(timeout=10).topics[name].partitions) == 1


def test_partitions_are_added_and_used(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"before"])

    _only(admin.create_partitions([NewPartitions(topic, 3)]))
    produce_all(make_producer(broker.bootstrap), topic, [b"after"], partition=2)

    assert len(admin.list_topics(timeout=10).topics[topic].partitions) == 3
    assert [each.value() for each in read_partition(broker.bootstrap, topic, 0)] == [b"before"]
    assert [each.value() for each in read_partition(broker.bootstrap, topic, 2)] == [b"after"]


def test_partitions_are_never_taken_away(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)

    assert _refusal(admin.create_partitions([NewPartitions(topic, 2)])) == KafkaError.INVALID_PARTITIONS
    assert _refusal(admin.create_partitions([NewPartitions(topic, 3)])) == KafkaError.INVALID_PARTITIONS


def test_configs_say_where_their_values_are_from(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="7200000")

    configs = _topic_configs(admin, topic)

    assert configs["retention.ms"].value == "7200000"
    assert configs["retention.ms"].source == ConfigSource.DYNAMIC_TOPIC_CONFIG.value
    assert configs["retention.ms"].is_default is False
    assert configs["cleanup.policy"].value == "delete"
    assert configs["cleanup.policy"].source == ConfigSource.DEFAULT_CONFIG.value
    assert configs["max.message.bytes"].value == "1048588"
    assert configs["compression.type"].value == "producer"
    assert configs["segment.bytes"].value == "1073741824"


def test_configs_are_altered_one_by_one(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="7200000", segment_bytes="2097152")

    _only(
        admin.incremental_alter_configs(
            [
                _topic_resource(
                    topic,
                    _change("retention.ms", AlterConfigOpType.DELETE),
                    _change("max.message.bytes", AlterConfigOpType.SET, "5000"),
                    _change("cleanup.policy", AlterConfigOpType.APPEND, "compact"),
                )
            ]
        )
    )

    configs = _topic_configs(admin, topic)
    assert configs["retention.ms"].value == "604800000"
    assert configs["max.message.bytes"].value == "5000"
    assert configs["segment.bytes"].value == "2097152"
    assert set(configs["cleanup.policy"].value.split(",")) == {"delete", "compact"}


def test_altering_all_configs_forgets_those_not_named(admin: AdminClient, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="7200000")

    _only(admin.alter_configs([ConfigResource(TOPIC, topic, set_config={"max.message.bytes": "6000"})]))

    configs = _topic_configs(admin, topic)
    assert configs["max.message.bytes"].value == "6000"
    assert configs["retention.ms"].value == "604800000"


def test_a_bad_value_changes_nothing(admin: AdminClient, topic: str) -> None:
    change = _topic_resource(
        topic,
        _change("max.message.bytes", AlterConfigOpType.SET, "7000"),
        _change("retention.ms", AlterConfigOpType.SET, "never"),
    )

    assert _refusal(admin.incremental_alter_configs([change])) == KafkaError.INVALID_CONFIG
    assert _topic_configs(admin, topic)["max.message.bytes"].value == "1048588"


def test_an_altered_limit_holds_for_the_next_record(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    change = _topic_resource(topic, _change("max.message.bytes", AlterConfigOpType.SET, "2000"))
    _only(admin.incremental_alter_configs([change]))
    producer = make_producer(broker.bootstrap)
    errors: list[KafkaError | None] = []
    producer.produce(topic, b"x" * 5000, on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)

    assert [error.code() for error in errors if error] == [KafkaError.MSG_SIZE_TOO_LARGE]


def test_deleted_records_are_not_read_again(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"%d" % number for number in range(100)])

    deleted = _only(admin.delete_records([TopicPartition(topic, 0, 60)]))

    assert deleted.low_watermark == 60
    consumed = read_partition(broker.bootstrap, topic)
    assert [each.offset() for each in consumed] == list(range(60, 100))


def test_records_beyond_the_end_cannot_be_deleted(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"only"])

    assert _refusal(admin.delete_records([TopicPartition(topic, 0, 2)])) == KafkaError.OFFSET_OUT_OF_RANGE


def test_offsets_are_listed_by_every_spec(broker: BrokerProcess, admin: AdminClient, topic: str) -> None:
    producer = make_producer(broker.bootstrap, linger_ms=0)
    for timestamp in (5000, 9000, 7000):
        produce_all(producer, topic, [b"x"], timestamp=timestamp)
    partition = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> tuple[int, int]:
        found = _only(admin.list_offsets({partition: spec}))
        return found.offset, found.timestamp

    assert offset(OffsetSpec.earliest()) == (0, -1)
    assert offset(OffsetSpec.latest()) == (3, -1)
    assert offset(OffsetSpec.max_timestamp()) == (1, 9000)
    assert offset(OffsetSpec.for_timestamp(6000)) == (1, 9000)
    assert offset(OffsetSpec.for_timestamp(9001)) == (-1, -1)


def test_the_cluster_names_itself_and_its_one_broker(broker: BrokerProcess, admin: AdminClient) -> None:
    cluster = admin.describe_cluster().result(10)

    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", cluster.cluster_id)
    assert [(node.host, node.port) for node in cluster.nodes] == [("127.0.0.1", broker.port)]
    assert cluster.controller.id == cluster.nodes[0].id
    assert admin.list_topics(timeout=10).cluster_id == cluster.cluster_id


def test_the_brokers_configs_are_described(admin: AdminClient) -> None:
    (node,) = admin.describe_cluster().result(10).nodes
    configs = _only(admin.describe_configs([ConfigResource(ConfigResource.Type.BROKER, str(node.id))]))

    assert configs["num.partitions"].value == "1"
    assert configs["message.max.bytes"].value == "1048588"
    assert configs["auto.create.topics.enable"].value == "true"


def test_many_topics_are_created_and_deleted_in_one_request(admin: AdminClient) -> None:
    names = [f"many-{time.time_ns()}-{number}" for number in range(50)]
    for future in admin.create_topics([NewTopic(name, 2, 1) for name in names]).values():
        future.result(30)
    _wait_until(lambda: set(names) <= set(admin.list_topics(timeout=10).topics))

    for future in admin.delete_topics(names).values():
        future.result(30)
    _wait_until(lambda: not set(names) & set(admin.list_topics(timeout=10).topics))


def _wait_until(condition: Callable[[], bool]) -> None:
    """Kafka's brokers hear of a change after its controller has answered: only the outcome is promised at once."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it did not come true within ten seconds"
        time.sleep(0.05)


def _only(futures: dict[Any, Future[Any]]) -> Any:
    (future,) = futures.values()
    return future.result(30)


def _refusal(futures: dict[Any, Future[Any]]) -> int:
    with pytest.raises(KafkaException) as refused:
        _only(futures)
    return int(refused.value.args[0].code())


def _topic_configs(admin: AdminClient, topic: str) -> dict[str, ConfigEntry]:
    configs: dict[str, ConfigEntry] = _only(admin.describe_configs([ConfigResource(TOPIC, topic)]))
    return configs


def _topic_resource(topic: str, *changes: ConfigEntry) -> ConfigResource:
    return ConfigResource(TOPIC, topic, incremental_configs=list(changes))


def _change(name: str, operation: AlterConfigOpType, value: str | None = None) -> ConfigEntry:
    return ConfigEntry(name, value, incremental_operation=operation)
