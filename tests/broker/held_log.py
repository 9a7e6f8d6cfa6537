"""A partition's log that does what a test says when it says so: appends are done or fail, reads come late."""

from collections.abc import Iterable, Sequence

from kohort.store.log import (
    AppendDone,
    Chunk,
    FindDone,
    LogConfig,
    LogId,
    OffsetOutOfRangeError,
    ProducerEntry,
    ReadDone,
    StoreFullError,
    TimestampOffset,
)
from kohort.store.producers import remember
from kohort.wire.record_batch import Batch, decode_header, lay_down
from tests.broker.hand_cranked_log import HandCrankedLog


class HeldLog(HandCrankedLog):
    """Adds what a partition asks of a log to what a shard does."""

    def __init__(self, log_id: LogId | None = None, config: LogConfig | None = None) -> None:
        super().__init__()
        self.config = config
        self.reads_are_late = False
        self._late_reads: list[tuple[ReadDone, Chunk]] = []

    @property
    def size_bytes(self) -> int:
        return sum(len(batch.data) for batch in self.durable)

    def producers(self) -> Iterable[ProducerEntry]:
        entries: dict[int, ProducerEntry] = {}
        waiting = (batch for batches, _ in self.waiting for batch in batches)
        for batch in (*self.durable, *waiting):
            remember(entries, batch.header)
        return entries.values()

    def append(self, batches: Sequence[Batch], durability: object, done: AppendDone) -> None:
        super().append([_laid_down(batch) for batch in batches], durability, done)  # type: ignore[arg-type]

    def configure(self, config: LogConfig) -> None:
        self.config = config

    def read(self, offset: int, max_bytes: int, until_offset: int, done: ReadDone, at_least_one: bool = True) -> None:
        if not self.start_offset <= offset <= self.readable_offset:
            done(OffsetOutOfRangeError(f"{offset}"))
            return
        found: list[bytes] = []
        size = 0
        for header, data in self.durable:
            if header.last_offset < offset or header.base_offset >= until_offset:
                continue
            if size + len(data) > max_bytes and (found or not at_least_one):
                break
            found.append(bytes(data))
            size += len(data)
        chunk = Chunk(tuple(found), size)
        if self.reads_are_late:
            self._late_reads.append((done, chunk))
        else:
            done(chunk)

    def bring_reads(self) -> None:
        """The disk delivers."""
        late, self._late_reads = self._late_reads, []
        for done, chunk in late:
            done(chunk)

    def fail_reads(self) -> None:
        late, self._late_reads = self._late_reads, []
        for done, _ in late:
            done(StoreFullError("The disk did not answer."))

    def find_time(self, timestamp: int, done: FindDone) -> None:
        for header, _ in self.durable:
            if header.max_timestamp >= timestamp and header.last_offset >= self.start_offset:
                done(TimestampOffset(header.base_offset, header.max_timestamp))
                return
        done(None)


def _laid_down(batch: Batch) -> Batch:
    memory = bytearray(len(batch.data))
    lay_down(batch, memory, 0)
    return Batch(decode_header(memory), bytes(memory))
