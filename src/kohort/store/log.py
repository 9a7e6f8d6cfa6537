"""What every store offers: logs of record batches, appended in order, durable when they say so.

Groups, catalog and data all stand on these verbs. A log belongs to one caller at a time (its shard or its partition),
which appends batches that already carry their offsets. The store decides where bytes lie, when they are durable,
and what retention and compaction take; it never decides who may write, and never looks into a record except to
compact by key. Nothing here blocks: what takes time calls `done`, always on the thread that called, in order of append.

Next hop: files/store.py (a WAL settled into Kafka's segments) or memory/store.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol
from uuid import UUID

from kohort.wire.record_batch import Batch, Buffer


class LogId(NamedTuple):
    """Which log: a partition of a topic of an org. The topic id tells a topic from its namesake made later."""

    org_id: int
    topic: str
    topic_id: UUID
    partition: int


class Durability(Enum):
    """When an append is done: once it would survive a power cut, or once the operating system has it."""

    FSYNC = "fsync"
    OS = "os"


class StoreError(Exception):
    """The store could not do it; what was asked did not happen. The message says what an operator can do."""


class StoreFullError(StoreError):
    """No space left. Appends are refused until there is some again; nothing acknowledged is harmed."""


class StoreFailedError(StoreError):
    """The disk failed in a way after which nothing in memory can be trusted. The process must stop and recover."""


class OffsetOutOfRangeError(StoreError):
    """The offset lies before the log's start or beyond its end."""


@dataclass(frozen=True, slots=True)
class LogConfig:
    """How a log is kept. Kafka's topic settings of the same names; -1 is without limit."""

    segment_bytes: int = 1 << 30
    segment_ms: int = 7 * 24 * 3600 * 1000
    index_interval_bytes: int = 4096
    segment_index_bytes: int = 10 << 20
    retention_ms: int = 7 * 24 * 3600 * 1000
    retention_bytes: int = -1
    delete: bool = True
    compact: bool = False
    delete_retention_ms: int = 24 * 3600 * 1000
    min_compaction_lag_ms: int = 0
    max_compaction_lag_ms: int = (1 << 63) - 1
    min_cleanable_dirty_ratio: float = 0.5
    file_delete_delay_ms: int = 60_000


class Chunk(NamedTuple):
    """What a read found: buffers that, laid end to end, are whole batches; the last may be cut short as in Kafka.

    The first batch holds the asked offset, and may begin before it. Empty when the asked offset is the end.
    """

    buffers: tuple[Buffer, ...]
    size: int


class ProducerBatch(NamedTuple):
    """One of the last batches of an idempotent producer, as the log remembers it."""

    first_sequence: int
    last_sequence: int
    last_offset: int
    timestamp: int


class ProducerEntry(NamedTuple):
    """What a log knows of one producer: its epoch and its last batches, oldest first, five at most."""

    producer_id: int
    producer_epoch: int
    batches: tuple[ProducerBatch, ...]


class TimestampOffset(NamedTuple):
    """A batch found by time: its base offset and its greatest timestamp."""

    base_offset: int
    max_timestamp: int


AppendDone = Callable[[StoreError | None], None]
ReadDone = Callable[[Chunk | StoreError], None]
FindDone = Callable[[TimestampOffset | StoreError | None], None]


class Log(Protocol):
    """One log. Offsets: start_offset <= readable_offset <= end_offset."""

    @property
    def id(self) -> LogId: ...

    @property
    def start_offset(self) -> int:
        """The first offset that may be read: retention, trim and delete-records move it up."""

    @property
    def readable_offset(self) -> int:
        """One past the last offset that is durable as its append asked: the high watermark."""

    @property
    def end_offset(self) -> int:
        """The offset that the next append must begin with, or lie above."""

    @property
    def size_bytes(self) -> int:
        """Bytes of all batches between start and end, wherever they lie."""

    def append(self, batches: Sequence[Batch], durability: Durability, done: AppendDone) -> None:
        """Takes the batches into the log at once (end_offset moves), calls done when they are durable as asked.

        Their bytes are copied before it returns: the memory they lie in is the caller's to use again.
        All batches of one call become durable together or not at all. When done gets an error, end_offset is
        back at what is durable, and every append behind the failed one fails too, before done is called for any.
        """

    def read(self, offset: int, max_bytes: int, until_offset: int, done: ReadDone, at_least_one: bool = True) -> None:
        """Batches from the one that holds offset, about max_bytes of them, none beginning at or beyond until_offset.

        From memory done is called before read returns. With at_least_one the first batch comes whole,
        however large. OffsetOutOfRangeError outside [start_offset, readable_offset].
        """

    def find_time(self, timestamp: int, done: FindDone) -> None:
        """The first batch, from start_offset on, whose greatest timestamp is at least this; None if there is none."""

    def find_max_timestamp(self, done: FindDone) -> None:
        """The first batch that holds the greatest timestamp of the log; None if the log is empty."""

    def producers(self) -> Iterable[ProducerEntry]:
        """The producers of the log as of end_offset: asked once, by who opens it or reloads it after an error."""

    def configure(self, config: LogConfig) -> None:
        """From now on keep the log like this."""

    def trim(self, offset: int, done: AppendDone) -> None:
        """Moves start_offset up to offset (never down), durably. Bytes go when whole segments are before it."""


class Store(Protocol):
    """All logs of a broker behind one claim: whoever opened last, with the higher epoch, is the only writer."""

    def open(self, epoch: int | None = None) -> int:
        """Claims and recovers the store, blocking; the epoch claimed. None takes one above the last.

        StoreError says who holds the store, or what is wrong with it.
        """

    def logs(self) -> Iterable[LogId]:
        """Every log the store holds."""

    def log(self, log_id: LogId, config: LogConfig) -> Log:
        """This log, made if it is new."""

    def delete(self, log_id: LogId, done: AppendDone) -> None:
        """Forgets the log, durably; its bytes go in the background. Appends that wait fail."""

    def maintain(self, now_ms: int) -> None:
        """Starts what is due of retention, rolling and compaction in the background. Called about once a second."""

    def close(self) -> None:
        """Makes everything durable, settles what is cheap to settle, and gives the claim back. Blocking."""


OnFailure = Callable[[StoreFailedError], None]
"""Called once when the store has failed for good."""
