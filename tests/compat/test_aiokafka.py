"""aiokafka: asyncio's client, with producers and consumers of its own making."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import MessageSizeTooLargeError, OffsetOutOfRangeError

from tests.compat.brokers import BrokerProcess


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
@pytest.mark.parametrize("idempotent", [True, False])
def test_what_was_produced_is_consumed_in_order(
    broker: BrokerProcess, topic: str, codec: str | None, idempotent: bool
) -> None:
    values = [b"value %d " % number * 20 for number in range(300)]

    async def scenario() -> None:
        async with AIOKafkaProducer(
            bootstrap_servers=broker.bootstrap,
            compression_type=codec,
            enable_idempotence=idempotent,
            linger_ms=5,
        ) as producer:
            futures = [await producer.send(topic, value, headers=[("name", b"\x00")]) for value in values]
            offsets = [(await future).offset for future in futures]
        records = await _read(broker, topic, len(values))

        assert offsets == list(range(300))
        assert [record.value for record in records] == values
        assert {record.headers for record in records} == {(("name", b"\x00"),)}

    _run(scenario())


def test_a_batch_made_by_hand_lands_whole(broker: BrokerProcess, topic: str) -> None:
    async def scenario() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            batch = producer.create_batch()
            for number in range(10):
                batch.append(key=b"%d" % number, value=b"by hand", timestamp=5000 + number)
            sent = await (await producer.send_batch(batch, topic, partition=0))
        records = await _read(broker, topic, 10)

        assert sent.offset == 0
        assert [(record.key, record.timestamp) for record in records] == [
            (b"%d" % number, 5000 + number) for number in range(10)
        ]

    _run(scenario())


def test_a_message_beyond_the_limit_is_refused(broker: BrokerProcess, topic: str) -> None:
    async def scenario() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap, max_request_size=5_000_000) as producer:
            with pytest.raises(MessageSizeTooLargeError):
                await producer.send_and_wait(topic, b"x" * 2_000_000)

    _run(scenario())


def test_offsets_are_found_by_time_beginning_and_end(broker: BrokerProcess, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def scenario() -> None:
        async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
            for number in range(10):
                await producer.send_and_wait(topic, b"%d" % number, timestamp_ms=1_000_000 + number * 1000)
        async with _consumer(broker) as consumer:
            assert await consumer.beginning_offsets([partition]) == {partition: 0}
            assert await consumer.end_offsets([partition]) == {partition: 10}
            found = await consumer.offsets_for_times({partition: 1_004_500})
            assert found[partition].offset == 5

    _run(scenario())


def test_an_offset_beyond_the_end_is_out_of_range(broker: BrokerProcess, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def scenario() -> None:
        async with _consumer(broker, auto_offset_reset="none") as consumer:
            consumer.assign([partition])
            consumer.seek(partition, 17)
            with pytest.raises(OffsetOutOfRangeError):
                await consumer.getmany(timeout_ms=10_000)

    _run(scenario())


def test_a_waiting_consumer_hears_of_a_record_at_once(broker: BrokerProcess, topic: str) -> None:
    partition = TopicPartition(topic, 0)

    async def scenario() -> None:
        async with (
            _consumer(broker, fetch_max_wait_ms=20_000) as consumer,
            AIOKafkaProducer(bootstrap_servers=broker.bootstrap) as producer,
        ):
            consumer.assign([partition])
            consumer.seek(partition, 0)
            waiting = asyncio.create_task(consumer.getone())
            await asyncio.sleep(1)
            begun = time.monotonic()
            await producer.send_and_wait(topic, b"news")
            record = await asyncio.wait_for(waiting, 20)

            assert record.value == b"news"
            assert time.monotonic() - begun < 2, "the record waited for the fetch to time out"

    _run(scenario())


def test_the_admin_client_makes_changes_and_removes_topics(broker: BrokerProcess) -> None:
    name = f"aiokafka-{time.time_ns()}"
    resource = ConfigResource(ConfigResourceType.TOPIC, name)

    async def scenario() -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, 2, 1, topic_configs={"retention.ms": "70000"})])
            await admin.create_partitions({name: NewPartitions(3)})
            (described,) = await admin.describe_topics([name])
            assert len(described["partitions"]) == 3
            (answer,) = await admin.describe_configs([resource])
            assert ("retention.ms", "70000") in [tuple(entry[:2]) for entry in answer.resources[0][4]]
            await admin.delete_topics([name])
            deadline = time.monotonic() + 10
            while name in await admin.list_topics():
                assert time.monotonic() < deadline, "the topic was deleted and is still listed"
                await asyncio.sleep(0.1)
        finally:
            await admin.close()

    _run(scenario())


def _run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 60))


def _consumer(broker: BrokerProcess, **settings: Any) -> AIOKafkaConsumer:
    """A consumer outside of any group."""
    return AIOKafkaConsumer(bootstrap_servers=broker.bootstrap, group_id=None, enable_auto_commit=False, **settings)


async def _read(broker: BrokerProcess, topic: str, count: int) -> list[Any]:
    """The first `count` records of the topic's only partition, and that none follow."""
    partition = TopicPartition(topic, 0)
    async with _consumer(broker) as consumer:
        consumer.assign([partition])
        consumer.seek(partition, 0)
        records = [await consumer.getone() for _ in range(count)]
        assert await consumer.position(partition) == (await consumer.end_offsets([partition]))[partition]
        return records
