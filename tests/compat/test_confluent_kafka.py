"""confluent-kafka (librdkafka) produces and consumes: what goes in comes out, wherever the consumer begins."""

import time
from collections import Counter

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    KafkaError,
    Message,
    TopicPartition,
)

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic
from tests.compat.librdkafka import make_consumer, make_producer, produce_all, read_partition, read_to_end

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("idempotent", [True, False])
def test_what_was_produced_is_consumed_in_order(
    broker: BrokerProcess, topic: str, codec: str, idempotent: bool
) -> None:
    values = [b"value %d " % number * 20 for number in range(500)]
    producer = make_producer(broker.bootstrap, compression_type=codec, enable_idempotence=idempotent)

    delivered = produce_all(producer, topic, values)

    assert [message.offset() for message in delivered] == list(range(500))
    consumed = read_partition(broker.bootstrap, topic)
    assert [message.value() for message in consumed] == values
    assert [message.offset() for message in consumed] == list(range(500))


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_every_kind_of_acknowledgement_lands_the_records(broker: BrokerProcess, topic: str, acks: str) -> None:
    values = [b"%d" % number for number in range(100)]
    produce_all(make_producer(broker.bootstrap, acks=acks), topic, values)

    deadline = time.monotonic() + 10
    while len(consumed := read_partition(broker.bootstrap, topic)) < 100 and time.monotonic() < deadline:
        time.sleep(0.1)  # acks=0 says nothing of when the records land

    assert [message.value() for message in consumed] == values


def test_keys_headers_nulls_and_timestamps_come_back_as_they_were(broker: BrokerProcess, topic: str) -> None:
    headers = [("trace", b"\x00\xff"), ("trace", b"again"), ("empty", b""), ("null", None)]
    producer = make_producer(broker.bootstrap)
    produce_all(producer, topic, [b"value"], key=b"key", headers=headers, timestamp=1_600_000_000_123)
    produce_all(producer, topic, [None], key=b"tombstone")
    produce_all(producer, topic, [b""])

    full, tombstone, empty = read_partition(broker.bootstrap, topic)

    assert (full.key(), full.value(), full.headers()) == (b"key", b"value", headers)
    assert full.timestamp() == (TIMESTAMP_CREATE_TIME, 1_600_000_000_123)
    assert (tombstone.key(), tombstone.value(), tombstone.headers()) == (b"tombstone", None, None)
    assert (empty.key(), empty.value()) == (None, b"")


@pytest.mark.parametrize("codec", CODECS)
def test_a_topic_of_log_append_time_stamps_records_itself(
    broker: BrokerProcess, make_topic: MakeTopic, codec: str
) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    before = int(time.time() * 1000)
    produce_all(make_producer(broker.bootstrap, compression_type=codec), topic, [b"a" * 100, b"b" * 100], timestamp=1)
    after = int(time.time() * 1000)

    for message in read_partition(broker.bootstrap, topic):
        kind, timestamp = message.timestamp()
        assert kind == TIMESTAMP_LOG_APPEND_TIME
        assert before <= timestamp <= after


def test_a_message_beyond_the_limit_is_refused_and_the_next_goes_through(broker: BrokerProcess, topic: str) -> None:
    producer = make_producer(broker.bootstrap, message_max_bytes=5_000_000)
    errors: list[KafkaError | None] = []
    producer.produce(topic, b"x" * 2_000_000, on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(30) == 0
    produce_all(producer, topic, [b"small"])

    assert [error.code() for error in errors if error] == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert [message.value() for message in read_partition(broker.bootstrap, topic)] == [b"small"]


def test_a_big_message_reaches_a_consumer_that_asks_for_little(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="4000000")
    big = bytes(range(256)) * 12_000
    produce_all(make_producer(broker.bootstrap, message_max_bytes=4_000_000), topic, [big, b"after"])

    consumer = make_consumer(
        broker.bootstrap, max_partition_fetch_bytes=1000, fetch_max_bytes=1000, message_max_bytes=1000
    )

    assert [message.value() for message in read_to_end(consumer, [TopicPartition(topic, 0, 0)])] == [big, b"after"]


def test_a_consumer_begins_where_it_is_told(broker: BrokerProcess, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"%d" % number for number in range(1000)])

    def values_from(offset: int) -> list[bytes | None]:
        return [message.value() for message in read_partition(broker.bootstrap, topic, start=offset)]

    assert values_from(0) == values_from(OFFSET_BEGINNING) == [b"%d" % number for number in range(1000)]
    assert values_from(613) == [b"%d" % number for number in range(613, 1000)]
    assert values_from(999) == [b"999"]
    assert values_from(1000) == values_from(OFFSET_END) == []


def test_seek_goes_back_and_forth(broker: BrokerProcess, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"%d" % number for number in range(100)])
    consumer = make_consumer(broker.bootstrap, enable_partition_eof=False)
    consumer.assign([TopicPartition(topic, 0, 90)])
    seen = [_next_message(consumer).offset()]
    for offset in (5, 70, 0):
        consumer.seek(TopicPartition(topic, 0, offset))
        seen.append(_next_message(consumer).offset())
    consumer.close()

    assert seen == [90, 5, 70, 0]


def test_watermarks_and_offsets_by_time_are_answered(broker: BrokerProcess, topic: str) -> None:
    producer = make_producer(broker.bootstrap, linger_ms=0)
    for number in range(10):
        produce_all(producer, topic, [b"%d" % number], timestamp=1_000_000 + number * 1000)
    consumer = make_consumer(broker.bootstrap)

    def offset_at(timestamp: int) -> int:
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, timestamp)], timeout=10)
        assert found.error is None
        return int(found.offset)

    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 10)
    assert [offset_at(at) for at in (0, 1_000_000, 1_000_001, 1_004_500, 1_009_000)] == [0, 0, 1, 5, 9]
    assert offset_at(1_009_001) == OFFSET_END
    consumer.close()


def test_a_timestamp_inside_of_a_batch_finds_its_record(broker: BrokerProcess, topic: str) -> None:
    producer = make_producer(broker.bootstrap, linger_ms=200, compression_type="lz4")
    for number in range(50):
        producer.produce(topic, b"%d" % number, timestamp=2_000_000 + number * 10)
    assert producer.flush(30) == 0
    consumer = make_consumer(broker.bootstrap)

    (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, 2_000_305)], timeout=10)

    assert found.offset == 31
    consumer.close()


def test_a_waiting_consumer_hears_of_a_record_at_once(broker: BrokerProcess, topic: str) -> None:
    consumer = make_consumer(broker.bootstrap, fetch_wait_max_ms=20_000, enable_partition_eof=False)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert consumer.poll(2) is None  # by now the fetch waits at the broker
    producer = make_producer(broker.bootstrap, linger_ms=0)
    produce_all(producer, topic, [b"first"])
    assert _next_message(consumer).value() == b"first"

    begun = time.monotonic()
    produce_all(producer, topic, [b"second"])
    received = _next_message(consumer)
    elapsed = time.monotonic() - begun
    consumer.close()

    assert received.value() == b"second"
    assert elapsed < 2, "the record waited for the fetch to time out"


def test_a_fetch_waits_for_its_minimum_of_bytes_and_no_longer_than_it_said(broker: BrokerProcess, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"little"])
    consumer = make_consumer(
        broker.bootstrap, fetch_min_bytes=100_000, fetch_wait_max_ms=3000, enable_partition_eof=False
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    begun = time.monotonic()
    message = _next_message(consumer)
    elapsed = time.monotonic() - begun
    consumer.close()

    assert message.value() == b"little"
    assert 2.5 < elapsed < 8


def test_one_consumer_reads_a_hundred_partitions(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=100)
    producer = make_producer(broker.bootstrap)
    for round_number in range(3):
        for partition in range(100):
            producer.produce(topic, b"%d %d" % (partition, round_number), partition=partition)
    assert producer.flush(30) == 0

    consumer = make_consumer(broker.bootstrap)
    messages = read_to_end(consumer, [TopicPartition(topic, partition, 0) for partition in range(100)])

    by_partition = _values_by_partition(messages)
    assert by_partition == {each: [b"%d %d" % (each, number) for number in range(3)] for each in range(100)}


def test_many_records_over_many_partitions_stay_in_order(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=4)
    producer = make_producer(broker.bootstrap, enable_idempotence=True, compression_type="lz4", batch_num_messages=100)
    for number in range(20_000):
        producer.produce(topic, b"%d" % number, partition=number % 4)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0

    messages = read_to_end(
        make_consumer(broker.bootstrap), [TopicPartition(topic, partition, 0) for partition in range(4)]
    )

    by_partition = _values_by_partition(messages)
    for partition in range(4):
        assert by_partition[partition] == [b"%d" % number for number in range(partition, 20_000, 4)]


def test_a_reader_of_committed_records_sees_plain_ones(broker: BrokerProcess, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"plain"])
    consumer = make_consumer(broker.bootstrap, isolation_level="read_committed")

    assert [message.value() for message in read_to_end(consumer, [TopicPartition(topic, 0, 0)])] == [b"plain"]


def test_an_offset_beyond_the_end_is_out_of_range(broker: BrokerProcess, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"only"])
    consumer = make_consumer(broker.bootstrap, auto_offset_reset="error")
    consumer.assign([TopicPartition(topic, 0, 17)])
    error = _first_error(consumer)
    consumer.close()

    assert error.code() == KafkaError._AUTO_OFFSET_RESET
    assert "out of range" in error.str().lower()


def test_an_offset_out_of_range_resets_as_the_consumer_wants(broker: BrokerProcess, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"a", b"b"])
    consumer = make_consumer(broker.bootstrap, auto_offset_reset="earliest")

    messages = read_to_end(consumer, [TopicPartition(topic, 0, 17)])

    assert [message.value() for message in messages] == [b"a", b"b"]


def test_a_topic_comes_to_be_when_it_is_first_produced_to(broker: BrokerProcess) -> None:
    topic = f"first-use-{time.time_ns()}"
    produce_all(make_producer(broker.bootstrap), topic, [b"made it"])

    assert [message.value() for message in read_partition(broker.bootstrap, topic)] == [b"made it"]


def test_a_consumer_does_not_make_topics(broker: BrokerProcess) -> None:
    topic = f"never-made-{time.time_ns()}"
    consumer = make_consumer(broker.bootstrap, allow_auto_create_topics=False)
    consumer.assign([TopicPartition(topic, 0, 0)])
    assert consumer.poll(1) is None

    error = consumer.list_topics(topic, timeout=10).topics[topic].error
    all_topics = consumer.list_topics(timeout=10).topics
    consumer.close()

    assert error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART
    assert topic not in all_topics


def test_a_record_for_a_partition_that_is_not_there_fails(broker: BrokerProcess, topic: str) -> None:
    producer = make_producer(broker.bootstrap)
    errors: list[KafkaError | None] = []
    producer.produce(topic, b"nowhere", partition=7, on_delivery=lambda error, _: errors.append(error))
    producer.flush(30)

    assert [error.code() for error in errors if error] == [KafkaError._UNKNOWN_PARTITION]


def test_several_producers_at_once_lose_nothing(broker: BrokerProcess, topic: str) -> None:
    producers = [make_producer(broker.bootstrap, enable_idempotence=True) for _ in range(5)]
    for number in range(200):
        for name, producer in enumerate(producers):
            producer.produce(topic, b"%d" % number, key=b"%d" % name)
    for producer in producers:
        assert producer.flush(30) == 0

    messages = read_partition(broker.bootstrap, topic)

    assert Counter(message.key() for message in messages) == {b"%d" % name: 200 for name in range(5)}
    for name in range(5):
        of_one = [message.value() for message in messages if message.key() == b"%d" % name]
        assert of_one == [b"%d" % number for number in range(200)]


def _next_message(consumer: object, timeout: float = 20) -> Message:
    message = consumer.poll(timeout)  # type: ignore[attr-defined]
    assert message is not None, "nothing came"
    assert message.error() is None, message.error()
    return message


def _first_error(consumer: object, timeout: float = 20) -> KafkaError:
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        message = consumer.poll(1)  # type: ignore[attr-defined]
        if message is not None and message.error() and message.error().code() != KafkaError._PARTITION_EOF:
            return message.error()
    raise AssertionError("no error came")


def _values_by_partition(messages: list[Message]) -> dict[int, list[bytes | None]]:
    values: dict[int, list[bytes | None]] = {}
    for message in messages:
        values.setdefault(message.partition(), []).append(message.value())
    return values
