"""One partition: who may append to its log, what became of each append, and what a fetch finds in it.

Decides the offsets and the leader epoch of what is written, whether an idempotent producer's batch is next, and whether
a fetch may read where it asks. It never waits: an append's outcome comes when the log calls, and those who wait for
data are told then, in the same turn of the loop. It knows no topics but its own and no sessions.

Next hop: admission.py and producers.py to judge a batch, store/log.py to keep it.
"""

from collections.abc import Callable
from typing import Final, Protocol

from kohort.broker.admission import RecordsRefusedError, admit
from kohort.broker.producers import Producers, first_offset
from kohort.model.commands.data import (
    NO_DIVERGENCE,
    EpochEndOffset,
    PartitionFetched,
    PartitionProduced,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.topics import TimestampType, Topic, TopicConfig
from kohort.store.log import (
    Chunk,
    Durability,
    Log,
    LogConfig,
    OffsetOutOfRangeError,
    ProducerBatch,
    StoreError,
)
from kohort.wire.record_batch import NO_PRODUCER_ID, NO_TIMESTAMP, Buffer, at_offset

NO_EPOCH: Final = -1

ProducedTo = Callable[[PartitionProduced], None]
FetchedTo = Callable[[PartitionFetched], None]


class Waiter(Protocol):
    """Somebody who waits for a partition to have more to read."""

    def on_readable(self, size: int) -> None:
        """This many bytes more are there."""

    def on_changed(self) -> None:
        """Something else than more data happened: the partition is gone, or its log was cut."""


class Partition:
    __slots__ = (
        "_config",
        "_echoes",
        "_waiters",
        "index",
        "leader_epoch",
        "log",
        "producers",
        "topic",
    )

    def __init__(self, topic: Topic, index: int, config: TopicConfig, log: Log, leader_epoch: int = 0) -> None:
        self.topic: Final = topic
        self.index: Final = index
        self.log: Final = log
        self.leader_epoch: Final = leader_epoch
        self.producers: Final = Producers()
        self.producers.reload(log.producers())
        self._config = config
        self._waiters: dict[Waiter, None] = {}
        self._echoes: list[tuple[int, Callable[[StoreError | None], None]]] = []

    @property
    def config(self) -> TopicConfig:
        return self._config

    def configure(self, config: TopicConfig) -> None:
        self._config = config
        self.log.configure(log_config(config))

    @property
    def high_watermark(self) -> int:
        return self.log.readable_offset

    @property
    def last_stable_offset(self) -> int:
        """Where committed reads end: before the first open transaction, and there are none yet."""
        return self.log.readable_offset

    # Appending

    def append(
        self, records: Buffer | None, durability: Durability, now_ms: int, done: ProducedTo, *, allows_zstd: bool = True
    ) -> bool:
        """Takes what a client sent. `done` gets the outcome; False if it has it already. Nothing is raised."""
        config = self._config
        duplicate: ProducerBatch | None = None
        try:
            header, data = admit(records, config, now_ms, allows_zstd=allows_zstd)
            if len(data) > config.segment_bytes:
                raise ProtocolError(
                    ErrorCode.RECORD_LIST_TOO_LARGE,
                    f"The record batch has {len(data)} bytes, but segment.bytes is {config.segment_bytes}.",
                )
            if header.producer_id != NO_PRODUCER_ID:
                duplicate = self.producers.find_duplicate(header)
        except ProtocolError as refusal:
            faults = refusal.faults if isinstance(refusal, RecordsRefusedError) else ()
            done(PartitionProduced(self.index, refusal.code, record_errors=faults, error_message=refusal.message))
            return False
        if duplicate is not None:
            return self._answer_duplicate(duplicate, done)
        log = self.log
        base_offset, size = log.end_offset, len(data)
        batch = at_offset(header, data, base_offset, self.leader_epoch)
        if header.producer_id != NO_PRODUCER_ID:
            self.producers.remember(batch.header)
        appended_ms = now_ms if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME else NO_TIMESTAMP

        def appended(error: StoreError | None) -> None:
            if error is None:
                done(PartitionProduced(self.index, 0, base_offset, appended_ms, log.start_offset))
                if self._waiters:
                    self._tell_waiters(size)
            else:
                # The log has gone back to what is durable, and so must the memory of its producers.
                self.producers.reload(log.producers())
                done(self._not_stored(error))
            if self._echoes:
                self._answer_echoes(error)

        log.append((batch,), durability, appended)
        return True

    def _not_stored(self, error: StoreError) -> PartitionProduced:
        return PartitionProduced(self.index, ErrorCode.KAFKA_STORAGE_ERROR, error_message=str(error))

    def _answer_duplicate(self, batch: ProducerBatch, done: ProducedTo) -> bool:
        """Answers as for the first time, once the first one is durable: a retry may overtake its original's answer."""

        def answer(error: StoreError | None) -> None:
            if error is not None:
                done(self._not_stored(error))
                return
            base_offset = first_offset(batch)
            done(PartitionProduced(self.index, 0, base_offset, batch.timestamp, self.log.start_offset))

        if batch.last_offset < self.log.readable_offset:
            answer(None)
            return False
        self._echoes.append((batch.last_offset, answer))
        return True

    def _answer_echoes(self, error: StoreError | None) -> None:
        echoes, self._echoes = self._echoes, []
        readable = self.log.readable_offset
        for last_offset, answer in echoes:
            if last_offset < readable:
                answer(None)
            elif error is not None:
                answer(error)
            else:
                self._echoes.append((last_offset, answer))

    # Reading

    def fetch(
        self,
        offset: int,
        max_bytes: int,
        done: FetchedTo,
        *,
        read_committed: bool,
        at_least_one: bool,
        leader_epoch: int = NO_EPOCH,
        last_fetched_epoch: int = NO_EPOCH,
    ) -> None:
        """Finds what lies at the offset; `done` is called before this returns unless the bytes have to come from disk.

        ProtocolError if the epoch or the offset is not this log's.
        """
        self.check_leader_epoch(leader_epoch)
        log = self.log
        if not log.start_offset <= offset <= log.end_offset:
            raise self._out_of_range(offset)
        high_watermark = log.readable_offset
        divergence = self._divergence(offset, last_fetched_epoch) if last_fetched_epoch != NO_EPOCH else NO_DIVERGENCE
        if offset >= high_watermark or divergence is not NO_DIVERGENCE:
            done(self._fetched((), divergence))
            return

        def found(chunk: Chunk | StoreError) -> None:
            if isinstance(chunk, Chunk):
                done(self._fetched(chunk.buffers, NO_DIVERGENCE))
                return
            out_of_range = isinstance(chunk, OffsetOutOfRangeError)
            code = ErrorCode.OFFSET_OUT_OF_RANGE if out_of_range else ErrorCode.KAFKA_STORAGE_ERROR
            done(PartitionFetched(self.index, code))

        until_offset = self.last_stable_offset if read_committed else high_watermark
        log.read(offset, max_bytes, until_offset, found, at_least_one)

    def _fetched(self, buffers: tuple[Buffer, ...], divergence: EpochEndOffset) -> PartitionFetched:
        log = self.log
        return PartitionFetched(
            self.index,
            0,
            log.readable_offset,
            self.last_stable_offset,
            log.start_offset,
            buffers,
            diverging_epoch=divergence,
        )

    def _divergence(self, offset: int, last_fetched_epoch: int) -> EpochEndOffset:
        """Where the reader's log and this one part, if they do (KIP-595)."""
        epoch, end_offset = self.end_of_epoch(last_fetched_epoch)
        if epoch == NO_EPOCH:
            raise self._out_of_range(offset)
        if epoch < last_fetched_epoch or end_offset < offset:
            return EpochEndOffset(epoch, end_offset)
        return NO_DIVERGENCE

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """The greatest epoch up to this one, and where it ends in the log; (-1, -1) of an epoch that is not known."""
        if 0 <= epoch == self.leader_epoch:
            return epoch, self.log.readable_offset
        return NO_EPOCH, -1

    def check_leader_epoch(self, epoch: int) -> None:
        """A client says which leader it believes in; ProtocolError if it is behind, or ahead."""
        if epoch == NO_EPOCH or epoch == self.leader_epoch:
            return
        if epoch < self.leader_epoch:
            raise ProtocolError(ErrorCode.FENCED_LEADER_EPOCH, f"{self} has come to leader epoch {self.leader_epoch}.")
        raise ProtocolError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"{self} is still at leader epoch {self.leader_epoch}.")

    def _out_of_range(self, offset: int) -> ProtocolError:
        return ProtocolError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{self} has offsets {self.log.start_offset} to {self.log.readable_offset}, but {offset} was asked for.",
        )

    # Waiting

    def add_waiter(self, waiter: Waiter) -> None:
        self._waiters[waiter] = None

    def remove_waiter(self, waiter: Waiter) -> None:
        self._waiters.pop(waiter, None)

    def _tell_waiters(self, size: int) -> None:
        for waiter in tuple(self._waiters):
            waiter.on_readable(size)

    def close(self) -> None:
        """The topic is gone: whoever waits here must look again."""
        for waiter in tuple(self._waiters):
            waiter.on_changed()

    def __str__(self) -> str:
        return f"{self.topic.name}-{self.index}"


def log_config(config: TopicConfig) -> LogConfig:
    """The part of a topic's settings that its logs are kept by."""
    return LogConfig(
        segment_bytes=config.segment_bytes,
        segment_ms=config.segment_ms,
        index_interval_bytes=config.index_interval_bytes,
        segment_index_bytes=config.segment_index_bytes,
        retention_ms=config.retention_ms,
        retention_bytes=config.retention_bytes,
        delete=config.cleanup_delete,
        compact=config.cleanup_compact,
        delete_retention_ms=config.delete_retention_ms,
        min_compaction_lag_ms=config.min_compaction_lag_ms,
        max_compaction_lag_ms=config.max_compaction_lag_ms,
        min_cleanable_dirty_ratio=config.min_cleanable_dirty_ratio,
        file_delete_delay_ms=config.file_delete_delay_ms,
    )
