"""One log of the embedded store: its end in memory, the rest in segments.

Decides where a read is answered from; appends go to the WAL. Nothing of it is touched by another thread: workers are
given values, and what they return is applied here. Next hop: wal.py for appends, cold_reads.py for reads of segments.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeVar

from kohort.store.files.aligned_memory import MemoryPool
from kohort.store.files.cold_reads import SegmentReader
from kohort.store.files.disk import Disk
from kohort.store.files.frames import EntryKind, encode_offset
from kohort.store.files.segment import Segment, Settled, log_directory
from kohort.store.files.settle import producers_after
from kohort.store.files.tail import Tail
from kohort.store.files.wal import Wal
from kohort.store.files.workers import Workers
from kohort.store.log import (
    AppendDone,
    Chunk,
    Durability,
    FindDone,
    LogConfig,
    LogId,
    OffsetOutOfRangeError,
    ProducerEntry,
    ReadDone,
    StoreError,
    TimestampOffset,
)
from kohort.wire.record_batch import Batch

T = TypeVar("T")


class FilesLog:
    """store/log.py says what its verbs promise."""

    def __init__(
        self,
        tail: Tail,
        settled: Settled,
        start_offset: int,
        wal: Wal,
        disk: Disk,
        workers: Workers,
        memory: MemoryPool,
    ) -> None:
        self.tail: Final = tail
        self.settled = settled
        self.config = LogConfig()
        self.start_offset = start_offset
        self.is_settled_since_open = False
        self.failure: StoreError | None = None
        """Why nobody may use it any more."""
        self._wal = wal
        self._workers = workers
        self.directory: Final = log_directory(tail.log_id)
        self._replacements = 0
        self._held: list[Callable[[], None]] | None = None
        """Reads that wait while files are replaced."""
        self.spoilt_indexes: Final[set[int]] = set()
        """Base offsets of segments whose index a read found to be wrong."""
        self._reader: Final = SegmentReader(disk, self.directory, memory, self.spoilt_indexes)

    @property
    def id(self) -> LogId:
        return self.tail.log_id

    @property
    def number(self) -> int:
        return self.tail.log_number

    @property
    def readable_offset(self) -> int:
        return self.tail.readable_offset

    @property
    def end_offset(self) -> int:
        return self.tail.end_offset

    @property
    def size_bytes(self) -> int:
        unsettled = sum(part.size_bytes for part in self.tail.parts if part.next_offset > self.settled.next_offset)
        return self.settled.size_bytes + unsettled

    def append(self, batches: Sequence[Batch], durability: Durability, done: AppendDone) -> None:
        if self.failure is None:
            self._wal.append(self.tail, batches, durability, done)
        else:
            self._workers.soon(partial(done, self.failure))

    def read(self, offset: int, max_bytes: int, until_offset: int, done: ReadDone, at_least_one: bool = True) -> None:
        tail = self.tail
        if self.failure is not None:
            done(self.failure)
            return
        readable_offset = tail.readable_offset
        if not self.start_offset <= offset <= readable_offset:
            done(OffsetOutOfRangeError(f"Offset {offset} is outside {self.start_offset} to {readable_offset}."))
            return
        until_offset = min(until_offset, readable_offset)
        if offset >= tail.first_offset:
            done(tail.read(offset, max_bytes, until_offset, at_least_one))
            return
        settled = self.settled
        work = partial(self._reader.read, segments_from(settled, offset), offset, max_bytes, until_offset, at_least_one)

        def on_read(chunk: Chunk | None) -> None:
            if chunk is not None:
                done(chunk)
            else:
                self.read(settled.next_offset, max_bytes, until_offset, done, at_least_one)

        again = partial(self.read, offset, max_bytes, until_offset, done, at_least_one)
        self._read_segments(offset, work, on_read, again, done)

    def find_time(self, timestamp: int, done: FindDone) -> None:
        start_offset = self.start_offset
        segments = segments_from(self.settled, start_offset)
        if not any(segment.max_timestamp >= timestamp for segment in segments):
            done(self.tail.find_time(start_offset, timestamp))
            return

        def on_found(found: TimestampOffset | None) -> None:
            done(found if found is not None else self.tail.find_time(start_offset, timestamp))

        work = partial(self._reader.find_time, segments, start_offset, timestamp)
        self._read_segments(start_offset, work, on_found, partial(self.find_time, timestamp, done), done)

    def find_max_timestamp(self, done: FindDone) -> None:
        start_offset = self.start_offset
        segments = segments_from(self.settled, start_offset)
        if not segments:
            done(self.tail.find_max_timestamp(start_offset))
            return

        def on_found(found: TimestampOffset | None) -> None:
            newer = self.tail.find_max_timestamp(start_offset)
            is_newer = newer is not None and (found is None or newer.max_timestamp > found.max_timestamp)
            done(newer if is_newer else found)

        work = partial(self._reader.find_max_timestamp, segments, start_offset)
        self._read_segments(start_offset, work, on_found, partial(self.find_max_timestamp, done), done)

    def _read_segments(
        self,
        offset: int,
        work: Callable[[], T],
        on_outcome: Callable[[T], None],
        again: Callable[[], None],
        done: Callable[[StoreError], None],
    ) -> None:
        """Runs this in a reading worker, and again if meanwhile files were replaced, or deleted up to the offset."""
        if self._held is not None:
            self._held.append(again)
            return
        settled, replacements = self.settled, self._replacements

        def on_read(outcome: T | BaseException) -> None:
            is_replaced = self._replacements != replacements
            is_gone = isinstance(outcome, FileNotFoundError) and (
                self.settled is not settled or self.start_offset > offset
            )
            if self.failure is not None:
                done(self.failure)
            elif is_replaced or is_gone:
                again()
            elif isinstance(outcome, BaseException):
                done(_as_read_error(outcome, self.directory))
            else:
                on_outcome(outcome)

        self._workers.read(work, on_read)

    def hold_reads(self) -> None:
        """Files are about to be replaced: what is read from now on waits, what was read until release is read again."""
        self._replacements += 1
        self._held = []

    def release_reads(self) -> None:
        """They were, or not; what is settled says so."""
        held, self._held = self._held, None
        for again in held or ():
            again()

    def producers(self) -> Iterable[ProducerEntry]:
        entries = self.settled.producers
        for part in self.tail.parts:
            if part.next_offset > self.settled.next_offset:
                entries = producers_after(entries, part)
        return entries

    def configure(self, config: LogConfig) -> None:
        self.config = config

    def trim(self, offset: int, done: AppendDone) -> None:
        if self.failure is not None:
            self._workers.soon(partial(done, self.failure))
            return
        if offset > self.readable_offset:
            refusal = OffsetOutOfRangeError(f"Offset {offset} is beyond the log's end, {self.readable_offset}.")
            self._workers.soon(partial(done, refusal))
            return

        def on_noted(error: StoreError | None) -> None:
            if error is None:
                self.start_offset = max(self.start_offset, offset)
            done(error)

        self._wal.note(self.tail, EntryKind.TRIMMED, encode_offset(offset), on_noted)


def segments_from(settled: Settled, offset: int) -> tuple[Segment, ...]:
    """The segment that may hold this offset, and all behind it."""
    first = bisect_right(settled.segments, offset, key=lambda segment: segment.base_offset)
    return settled.segments[max(first - 1, 0) :]


def _as_read_error(error: BaseException, directory: str) -> StoreError:
    if isinstance(error, StoreError):
        return error
    return StoreError(f"A segment of {directory} cannot be read: {error}.")
