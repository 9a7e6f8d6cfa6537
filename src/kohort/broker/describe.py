"""What an operator asks of partitions: who produces to them, and how large they are.

Decides nothing. Next hop: partition.py.
"""

from collections.abc import Iterable
from pathlib import Path
from shutil import disk_usage
from typing import Final

from kohort.broker.partition import Partition
from kohort.broker.partitions import Partitions
from kohort.broker.producers import NO_SEQUENCE, last_timestamp
from kohort.carrier.contract import AnswerTo, Pending
from kohort.model.commands.data import (
    DescribeLogDirs,
    DescribeProducers,
    LogDirDescribed,
    LogDirsDescribed,
    PartitionProducers,
    PartitionSize,
    ProducerDescribed,
    ProducersDescribed,
    TopicPartitions,
    TopicProducers,
    TopicSizes,
)
from kohort.model.errors import ProtocolError
from kohort.model.ids import OrgId

UNKNOWN_BYTES: Final = -1


class Descriptions:
    def __init__(self, partitions: Partitions, directory: Path) -> None:
        self._partitions: Final = partitions
        self._directory: Final = directory

    def handle_describe_producers(
        self, org_id: OrgId, command: DescribeProducers, answer_to: AnswerTo
    ) -> Pending | None:
        answer_to(
            ProducersDescribed(
                tuple(
                    TopicProducers(
                        topic.name,
                        tuple(self._producers(org_id, topic.name, index) for index in topic.partition_indexes),
                    )
                    for topic in command.topics
                )
            )
        )
        return None

    def _producers(self, org_id: OrgId, topic: str, index: int) -> PartitionProducers:
        try:
            partition = self._partitions.named(org_id, topic, index)
        except ProtocolError as error:
            return PartitionProducers(index, error.code, error.message)
        return PartitionProducers(
            index,
            0,
            active_producers=tuple(
                ProducerDescribed(
                    entry.producer_id,
                    entry.producer_epoch,
                    entry.batches[-1].last_sequence if entry.batches else NO_SEQUENCE,
                    last_timestamp(entry),
                )
                for entry in partition.producers.entries()
            ),
        )

    def handle_describe_log_dirs(self, org_id: OrgId, command: DescribeLogDirs, answer_to: AnswerTo) -> Pending | None:
        asked = command.topics
        if asked is None:
            asked = tuple(
                TopicPartitions(topic.name, tuple(range(topic.partitions))) for topic in self._partitions.topics(org_id)
            )
        total, usable = self._space()
        sizes = tuple(self._sizes(org_id, topic) for topic in asked)
        described = LogDirDescribed(
            0, str(self._directory.absolute()), tuple(topic for topic in sizes if topic.partitions), total, usable
        )
        answer_to(LogDirsDescribed((described,)))
        return None

    def _sizes(self, org_id: OrgId, topic: TopicPartitions) -> TopicSizes:
        """Of the partitions that are there; Kafka is silent about others."""
        return TopicSizes(
            topic.name,
            tuple(PartitionSize(partition.index, partition.log.size_bytes) for partition in self._found(org_id, topic)),
        )

    def _found(self, org_id: OrgId, topic: TopicPartitions) -> Iterable[Partition]:
        for index in topic.partition_indexes:
            try:
                yield self._partitions.named(org_id, topic.name, index)
            except ProtocolError:
                continue

    def _space(self) -> tuple[int, int]:
        """All bytes of the disk, and those still free."""
        try:
            usage = disk_usage(self._directory)
        except OSError:
            return UNKNOWN_BYTES, UNKNOWN_BYTES
        return usage.total, usage.free
