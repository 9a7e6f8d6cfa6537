"""Producing to and fetching from partitions, and asking where things lie in them.

Topics are named by name or by id, as the client did: the other is "" or NO_TOPIC_ID. NamedTuples, because these
are made many times for each request of the hot path.
"""

from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

Buffer = bytes | bytearray | memoryview


class LeaderIdAndEpoch(NamedTuple):
    leader_id: int = -1
    leader_epoch: int = -1


NO_LEADER = LeaderIdAndEpoch()


# Produce


class PartitionProduce(NamedTuple):
    index: int  # type: ignore[assignment]
    records: Buffer | None


class TopicProduce(NamedTuple):
    name: str
    topic_id: UUID
    partitions: tuple[PartitionProduce, ...]


class Produce(NamedTuple):
    """acks 0 and 1 are done when the operating system has the bytes, -1 when the log's durability holds."""

    topics: tuple[TopicProduce, ...]
    acks: int
    timeout_ms: int
    transactional_id: str | None = None
    allows_zstd: bool = True
    """Not in a request older than the codec is."""


class BatchIndexAndErrorMessage(NamedTuple):
    batch_index: int
    batch_index_error_message: str | None


class PartitionProduced(NamedTuple):
    index: int  # type: ignore[assignment]
    error_code: int
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: tuple[BatchIndexAndErrorMessage, ...] = ()
    error_message: str | None = None
    current_leader: LeaderIdAndEpoch = NO_LEADER


class TopicProduced(NamedTuple):
    name: str
    topic_id: UUID
    partition_responses: tuple[PartitionProduced, ...]


class Produced(NamedTuple):
    responses: tuple[TopicProduced, ...]
    throttle_time_ms: int = 0
    node_endpoints: tuple[()] = ()


# Fetch


class PartitionFetch(NamedTuple):
    partition: int
    fetch_offset: int
    partition_max_bytes: int
    current_leader_epoch: int = -1
    last_fetched_epoch: int = -1


class TopicFetch(NamedTuple):
    topic: str
    topic_id: UUID
    partitions: tuple[PartitionFetch, ...]


class ForgottenTopic(NamedTuple):
    topic: str
    topic_id: UUID
    partitions: tuple[int, ...]


class Fetch(NamedTuple):
    """Sessions as in KIP-227: (0, -1) none, (0, 0) a new one, (id, n) the n-th request of one, (id, -1) its end."""

    topics: tuple[TopicFetch, ...]
    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    read_committed: bool = False
    session_id: int = 0
    session_epoch: int = -1
    forgotten: tuple[ForgottenTopic, ...] = ()
    by_topic_id: bool = False


class EpochEndOffset(NamedTuple):
    epoch: int = -1
    end_offset: int = -1


class SnapshotId(NamedTuple):
    end_offset: int = -1
    epoch: int = -1


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int


NO_DIVERGENCE = EpochEndOffset()
NO_SNAPSHOT = SnapshotId()


class PartitionFetched(NamedTuple):
    """`records` are buffers that, laid end to end, are batches; the wire writes them without joining them."""

    partition_index: int
    error_code: int
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    records: tuple[Buffer, ...] = ()
    aborted_transactions: tuple[AbortedTransaction, ...] | None = None
    preferred_read_replica: int = -1
    diverging_epoch: EpochEndOffset = NO_DIVERGENCE
    current_leader: LeaderIdAndEpoch = NO_LEADER
    snapshot_id: SnapshotId = NO_SNAPSHOT


class TopicFetched(NamedTuple):
    topic: str
    topic_id: UUID
    partitions: tuple[PartitionFetched, ...]


class Fetched(NamedTuple):
    error_code: int
    session_id: int
    responses: tuple[TopicFetched, ...]
    throttle_time_ms: int = 0
    node_endpoints: tuple[()] = ()


# Where things lie: ListOffsets, OffsetForLeaderEpoch, DeleteRecords, DescribeProducers, DescribeLogDirs


class OffsetSpec(IntEnum):
    """The timestamps below zero that ListOffsets gives a meaning to."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


class PartitionTime(NamedTuple):
    """A timestamp of at least 0, or an OffsetSpec."""

    partition_index: int
    timestamp: int
    current_leader_epoch: int = -1


class TopicTimes(NamedTuple):
    name: str
    partitions: tuple[PartitionTime, ...]


class ListOffsets(NamedTuple):
    topics: tuple[TopicTimes, ...]
    read_committed: bool = False


class PartitionOffset(NamedTuple):
    partition_index: int
    error_code: int
    timestamp: int = -1
    offset: int = -1
    leader_epoch: int = -1


class TopicOffsets(NamedTuple):
    name: str
    partitions: tuple[PartitionOffset, ...]


class OffsetsListed(NamedTuple):
    topics: tuple[TopicOffsets, ...]
    throttle_time_ms: int = 0


class PartitionEpoch(NamedTuple):
    partition: int
    leader_epoch: int
    current_leader_epoch: int = -1


class TopicEpochs(NamedTuple):
    topic: str
    partitions: tuple[PartitionEpoch, ...]


class OffsetForLeaderEpoch(NamedTuple):
    topics: tuple[TopicEpochs, ...]


class PartitionEpochEnd(NamedTuple):
    partition: int
    error_code: int
    leader_epoch: int = -1
    end_offset: int = -1


class TopicEpochEnds(NamedTuple):
    topic: str
    partitions: tuple[PartitionEpochEnd, ...]


class EpochEnds(NamedTuple):
    topics: tuple[TopicEpochEnds, ...]
    throttle_time_ms: int = 0


class PartitionTrim(NamedTuple):
    """offset -1 is the high watermark: everything."""

    partition_index: int
    offset: int


class TopicTrims(NamedTuple):
    name: str
    partitions: tuple[PartitionTrim, ...]


class DeleteRecords(NamedTuple):
    topics: tuple[TopicTrims, ...]
    timeout_ms: int


class PartitionTrimmed(NamedTuple):
    partition_index: int
    error_code: int
    low_watermark: int = -1


class TopicTrimmed(NamedTuple):
    name: str
    partitions: tuple[PartitionTrimmed, ...]


class RecordsDeleted(NamedTuple):
    topics: tuple[TopicTrimmed, ...]
    throttle_time_ms: int = 0


class TopicPartitions(NamedTuple):
    name: str
    partition_indexes: tuple[int, ...]


class DescribeProducers(NamedTuple):
    topics: tuple[TopicPartitions, ...]


class ProducerDescribed(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int = -1
    current_txn_start_offset: int = -1


class PartitionProducers(NamedTuple):
    partition_index: int
    error_code: int
    error_message: str | None = None
    active_producers: tuple[ProducerDescribed, ...] = ()


class TopicProducers(NamedTuple):
    name: str
    partitions: tuple[PartitionProducers, ...]


class ProducersDescribed(NamedTuple):
    topics: tuple[TopicProducers, ...]
    throttle_time_ms: int = 0


class DescribeLogDirs(NamedTuple):
    """None asks for every topic."""

    topics: tuple[TopicPartitions, ...] | None


class PartitionSize(NamedTuple):
    partition_index: int
    partition_size: int
    offset_lag: int = 0
    is_future_key: bool = False


class TopicSizes(NamedTuple):
    name: str
    partitions: tuple[PartitionSize, ...]


class LogDirDescribed(NamedTuple):
    error_code: int
    log_dir: str
    topics: tuple[TopicSizes, ...]
    total_bytes: int = -1
    usable_bytes: int = -1
    is_cordoned: bool = False


class LogDirsDescribed(NamedTuple):
    results: tuple[LogDirDescribed, ...]
    throttle_time_ms: int = 0
    error_code: int = 0


class InitProducerId(NamedTuple):
    """-1, -1 asks for a new producer; an id and epoch of one's own asks for the next epoch (KIP-360)."""

    transactional_id: str | None
    producer_id: int = -1
    producer_epoch: int = -1


class ProducerIdGiven(NamedTuple):
    error_code: int
    producer_id: int = -1
    producer_epoch: int = -1
    throttle_time_ms: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1
