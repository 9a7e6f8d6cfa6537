"""What operators see of partitions."""

from pathlib import Path

import pytest

from kohort.model.commands.data import DescribeLogDirs, DescribeProducers, ProducerDescribed, TopicPartitions
from kohort.model.errors import ErrorCode
from kohort.model.settings import BrokerSettings
from tests.broker.broker_in_memory import BrokerInMemory, batch_of, produce


@pytest.fixture
def broker(tmp_path: Path) -> BrokerInMemory:
    broker = BrokerInMemory(settings=BrokerSettings(log_dirs=(str(tmp_path),)))
    broker.create("orders", 2)
    return broker


def test_the_producers_of_a_partition_are_told_with_their_last_batch(broker: BrokerInMemory) -> None:
    now_ms = broker.now_ms()
    for sequence, values in ((0, "ab"), (2, "c")):
        records = batch_of(list(values), now_ms, producer_id=7, producer_epoch=3, base_sequence=sequence)
        broker.ask(produce("orders", records))
    (topic,) = broker.ask(DescribeProducers((TopicPartitions("orders", (0, 1, 2)),))).topics
    first, second, third = topic.partitions
    assert first.active_producers == (ProducerDescribed(7, 3, 2, now_ms),)
    assert second.active_producers == ()
    assert third.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_size_of_every_partition_is_told_and_that_of_the_disk(broker: BrokerInMemory, tmp_path: Path) -> None:
    records = batch_of(["a"], broker.now_ms())
    broker.ask(produce("orders", records, partition=1))
    (described,) = broker.ask(DescribeLogDirs(None)).results
    assert described.log_dir == str(tmp_path)
    assert 0 < described.usable_bytes <= described.total_bytes
    (topic,) = described.topics
    assert [(each.partition_index, each.partition_size) for each in topic.partitions] == [(0, 0), (1, len(records))]


def test_only_the_partitions_asked_for_are_told_and_unknown_ones_are_not(broker: BrokerInMemory) -> None:
    asked = (TopicPartitions("orders", (1, 9)), TopicPartitions("nobody", (0,)))
    (described,) = broker.ask(DescribeLogDirs(asked)).results
    assert [(topic.name, [each.partition_index for each in topic.partitions]) for topic in described.topics] == [
        ("orders", [1])
    ]


def test_a_broker_without_a_directory_tells_no_size_of_a_disk() -> None:
    broker = BrokerInMemory(settings=BrokerSettings(log_dirs=("/nowhere/at/all",)))
    (described,) = broker.ask(DescribeLogDirs(None)).results
    assert (described.total_bytes, described.usable_bytes) == (-1, -1)
