"""kafka-python: a client written apart from all others, with a protocol implementation of its own."""

import time

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource
from kafka.errors import InvalidTopicError, MessageSizeTooLargeError, TopicAlreadyExistsError

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic


@pytest.mark.parametrize("codec", [None, "gzip"])  # it has no other codec without packages of its own
def test_what_was_produced_is_consumed_in_order(broker: BrokerProcess, topic: str, codec: str | None) -> None:
    values = [b"value %d " % number * 20 for number in range(300)]
    with KafkaProducer(bootstrap_servers=broker.bootstrap, compression_type=codec, linger_ms=10) as producer:
        futures = [producer.send(topic, value, key=b"key", headers=[("name", b"\x00")]) for value in values]
        offsets = [future.get(30).offset for future in futures]

    records = _read(broker, topic, len(values))

    assert offsets == list(range(300))
    assert [record.value for record in records] == values
    assert {(record.key, tuple(record.headers)) for record in records} == {(b"key", (("name", b"\x00"),))}


@pytest.mark.parametrize("acks", [0, 1, "all"])
def test_every_kind_of_acknowledgement_lands_the_records(broker: BrokerProcess, topic: str, acks: int | str) -> None:
    with KafkaProducer(bootstrap_servers=broker.bootstrap, acks=acks, enable_idempotence=False) as producer:
        for number in range(50):
            producer.send(topic, b"%d" % number)

    assert [record.value for record in _read(broker, topic, 50)] == [b"%d" % number for number in range(50)]


def test_a_message_beyond_the_topics_limit_is_refused(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="1000")
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        future = producer.send(topic, b"x" * 5000)
        with pytest.raises(MessageSizeTooLargeError):
            future.get(30)


def test_beginning_end_and_time_find_their_offsets(broker: BrokerProcess, topic: str) -> None:
    partition = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, timestamp_ms=1_000_000 + number * 1000).get(30)

    with _consumer(broker) as consumer:
        assert consumer.beginning_offsets([partition]) == {partition: 0}
        assert consumer.end_offsets([partition]) == {partition: 10}
        assert consumer.offsets_for_times({partition: 1_004_500})[partition].offset == 5
        assert consumer.offsets_for_times({partition: 1_009_001})[partition] is None
        assert consumer.partitions_for_topic(topic) == {0}


def test_seek_goes_back_and_forth(broker: BrokerProcess, topic: str) -> None:
    partition = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for number in range(100):
            producer.send(topic, b"%d" % number)

    with _consumer(broker) as consumer:
        consumer.assign([partition])
        seen = []
        for offset in (90, 5, 70, 0):
            consumer.seek(partition, offset)
            seen.append(next(consumer).offset)

    assert seen == [90, 5, 70, 0]


def test_the_admin_client_makes_changes_and_removes_topics(broker: BrokerProcess) -> None:
    name = f"kafka-python-{time.time_ns()}"
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    resource = "TOPIC"
    try:
        admin.create_topics(
            {name: {"num_partitions": 2, "replication_factor": 1, "configs": {"retention.ms": "70000"}}}
        )
        admin.create_partitions({name: 3})
        (described,) = admin.describe_topics([name])
        assert len(described["partitions"]) == 3

        admin.alter_configs([ConfigResource(resource, name, configs={"max.message.bytes": "9000"})])
        configs = admin.describe_configs([ConfigResource(resource, name)], config_filter="modified")
        values = {key: entry["value"] for key, entry in configs["topic"][name].items()}
        assert {key: values[key] for key in ("retention.ms", "max.message.bytes")} == {
            "retention.ms": "70000",
            "max.message.bytes": "9000",
        }

        admin.delete_topics([name])
        _wait_until_gone(admin, name)
    finally:
        admin.close()


def test_the_admin_client_is_refused_with_kafkas_codes(broker: BrokerProcess, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    try:
        with pytest.raises(TopicAlreadyExistsError):
            admin.create_topics({topic: {"num_partitions": 1, "replication_factor": 1}})
        with pytest.raises(InvalidTopicError):
            admin.create_topics({"not a name!": {"num_partitions": 1, "replication_factor": 1}})
    finally:
        admin.close()


def test_deleted_records_are_not_read_again(broker: BrokerProcess, topic: str) -> None:
    partition = TopicPartition(topic, 0)
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for number in range(50):
            producer.send(topic, b"%d" % number)
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    try:
        admin.delete_records({partition: 30})
    finally:
        admin.close()

    assert [record.offset for record in _read(broker, topic, 20)] == list(range(30, 50))


def test_the_cluster_and_its_log_directories_are_described(broker: BrokerProcess, topic: str) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    try:
        cluster = admin.describe_cluster()
        assert [(node["host"], node["port"]) for node in cluster["brokers"]] == [("127.0.0.1", broker.port)]
        assert len(cluster["cluster_id"]) == 22
        assert topic in repr(admin.describe_log_dirs())
    finally:
        admin.close()


def _consumer(broker: BrokerProcess) -> KafkaConsumer:
    return KafkaConsumer(
        bootstrap_servers=broker.bootstrap, group_id=None, enable_auto_commit=False, consumer_timeout_ms=20_000
    )


def _read(broker: BrokerProcess, topic: str, count: int) -> list[object]:
    """The first `count` records that the topic's only partition still has, and that none follow."""
    partition = TopicPartition(topic, 0)
    with _consumer(broker) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        records = [next(consumer) for _ in range(count)]
        assert consumer.position(partition) == consumer.end_offsets([partition])[partition]
    return records


def _wait_until_gone(admin: KafkaAdminClient, topic: str) -> None:
    deadline = time.monotonic() + 10
    while topic in admin.list_topics():
        assert time.monotonic() < deadline, "the topic was deleted and is still listed"
        time.sleep(0.1)
