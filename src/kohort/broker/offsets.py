"""Where things lie in a partition: ListOffsets, OffsetForLeaderEpoch, and DeleteRecords, which moves its start.

Decides what each of Kafka's names for a place means here: latest is where a client may read to, a time is the first
record at or after it, and nothing is tiered, so all that is local is all there is.

Next hop: partition.py, record_times.py, and store/log.py to trim.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from kohort.broker.each_partition import ask_each_partition
from kohort.broker.partition import Partition
from kohort.broker.partitions import Partitions
from kohort.broker.record_times import RecordTime, find_latest_record, find_record_at
from kohort.carrier.contract import AnswerTo, Pending
from kohort.model.commands.data import (
    DeleteRecords,
    EpochEnds,
    ListOffsets,
    OffsetForLeaderEpoch,
    OffsetsListed,
    OffsetSpec,
    PartitionEpoch,
    PartitionEpochEnd,
    PartitionOffset,
    PartitionTime,
    PartitionTrim,
    PartitionTrimmed,
    RecordsDeleted,
    TopicEpochEnds,
    TopicOffsets,
    TopicTimes,
    TopicTrimmed,
    TopicTrims,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import OrgId
from kohort.store.log import OffsetOutOfRangeError, StoreError
from kohort.wire.errors import DecodeError

HIGH_WATERMARK: Final = -1
"""DeleteRecords' word for everything."""

OffsetTo = Callable[[PartitionOffset], None]


class Offsets:
    def __init__(self, partitions: Partitions) -> None:
        self._partitions: Final = partitions

    # ListOffsets

    def handle_list_offsets(self, org_id: OrgId, command: ListOffsets, answer_to: AnswerTo) -> Pending | None:
        repeated = _repeated(command.topics)

        def ask(topic: TopicTimes, asked: PartitionTime, done: OffsetTo) -> None:
            try:
                if (topic.name, asked.partition_index) in repeated:
                    raise ProtocolError(ErrorCode.INVALID_REQUEST, "The partition is named twice.")
                partition = self._partitions.named(org_id, topic.name, asked.partition_index)
                partition.check_leader_epoch(asked.current_leader_epoch)
                _find_offset(partition, asked.timestamp, command.read_committed, done)
            except ProtocolError as error:
                done(PartitionOffset(asked.partition_index, error.code))

        return ask_each_partition(
            command.topics,
            ask,
            lambda outcomes: answer_to(
                OffsetsListed(tuple(TopicOffsets(topic.name, offsets) for topic, offsets in outcomes))
            ),
        )

    # OffsetForLeaderEpoch

    def handle_offset_for_leader_epoch(
        self, org_id: OrgId, command: OffsetForLeaderEpoch, answer_to: AnswerTo
    ) -> Pending | None:
        answer_to(
            EpochEnds(
                tuple(
                    TopicEpochEnds(
                        topic.topic, tuple(self._epoch_end(org_id, topic.topic, each) for each in topic.partitions)
                    )
                    for topic in command.topics
                )
            )
        )
        return None

    def _epoch_end(self, org_id: OrgId, topic: str, asked: PartitionEpoch) -> PartitionEpochEnd:
        try:
            partition = self._partitions.named(org_id, topic, asked.partition)
            partition.check_leader_epoch(asked.current_leader_epoch)
        except ProtocolError as error:
            return PartitionEpochEnd(asked.partition, error.code)
        return PartitionEpochEnd(asked.partition, 0, *partition.end_of_epoch(asked.leader_epoch))

    # DeleteRecords

    def handle_delete_records(self, org_id: OrgId, command: DeleteRecords, answer_to: AnswerTo) -> Pending | None:
        def ask(topic: TopicTrims, asked: PartitionTrim, done: Callable[[PartitionTrimmed], None]) -> None:
            try:
                partition = self._partitions.named(org_id, topic.name, asked.partition_index)
                _trim(partition, asked.offset, done)
            except ProtocolError as error:
                done(PartitionTrimmed(asked.partition_index, error.code))

        return ask_each_partition(
            command.topics,
            ask,
            lambda outcomes: answer_to(
                RecordsDeleted(tuple(TopicTrimmed(topic.name, trimmed) for topic, trimmed in outcomes))
            ),
        )


def _repeated(topics: tuple[TopicTimes, ...]) -> set[tuple[str, int]]:
    """The partitions that a request names more than once."""
    seen: set[tuple[str, int]] = set()
    repeated: set[tuple[str, int]] = set()
    for topic in topics:
        for asked in topic.partitions:
            key = (topic.name, asked.partition_index)
            (repeated if key in seen else seen).add(key)
    return repeated


def _find_offset(partition: Partition, timestamp: int, read_committed: bool, done: OffsetTo) -> None:
    until_offset = partition.last_stable_offset if read_committed else partition.high_watermark
    at = partial(PartitionOffset, partition.index, 0, leader_epoch=partition.leader_epoch)

    def found(record: RecordTime | StoreError | DecodeError | None) -> None:
        match record:
            case RecordTime(offset, record_timestamp):
                done(at(timestamp=record_timestamp, offset=offset))
            case None:
                done(PartitionOffset(partition.index, 0))
            case DecodeError():
                done(PartitionOffset(partition.index, ErrorCode.CORRUPT_MESSAGE))
            case _:
                done(PartitionOffset(partition.index, ErrorCode.KAFKA_STORAGE_ERROR))

    match timestamp:
        case OffsetSpec.LATEST:
            done(at(offset=until_offset))
        case OffsetSpec.EARLIEST | OffsetSpec.EARLIEST_LOCAL:
            done(at(offset=partition.log.start_offset))
        case OffsetSpec.MAX_TIMESTAMP:
            find_latest_record(partition.log, until_offset, found)
        case OffsetSpec.LATEST_TIERED | OffsetSpec.EARLIEST_PENDING_UPLOAD:
            found(None)
        case _ if timestamp < 0:
            raise ProtocolError(ErrorCode.UNSUPPORTED_VERSION, f"{timestamp} stands for no offset.")
        case _:
            find_record_at(partition.log, timestamp, until_offset, found)


def _trim(partition: Partition, offset: int, done: Callable[[PartitionTrimmed], None]) -> None:
    if partition.topic.is_internal:
        raise ProtocolError(ErrorCode.INVALID_TOPIC_EXCEPTION, "Records of internal topics cannot be deleted.")
    if not partition.config.cleanup_delete:
        raise ProtocolError(
            ErrorCode.POLICY_VIOLATION, "Only records of a topic with cleanup.policy=delete can be deleted."
        )
    if offset == HIGH_WATERMARK:
        offset = partition.high_watermark
    if not 0 <= offset <= partition.high_watermark:
        raise ProtocolError(ErrorCode.OFFSET_OUT_OF_RANGE, f"There is no offset {offset} in {partition}.")

    def trimmed(error: StoreError | None) -> None:
        match error:
            case None:
                done(PartitionTrimmed(partition.index, 0, partition.log.start_offset))
            case OffsetOutOfRangeError():
                done(PartitionTrimmed(partition.index, ErrorCode.OFFSET_OUT_OF_RANGE))
            case _:
                done(PartitionTrimmed(partition.index, ErrorCode.KAFKA_STORAGE_ERROR))

    partition.log.trim(offset, trimmed)
