"""One log in memory: segments of batches, rolled, expired and compacted by the rules every store shares.

Decides where a batch lies; retention.py, compaction.py and producers.py decide what goes and what is remembered.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from kohort.store import compaction
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
from kohort.store.producers import remember
from kohort.store.retention import SegmentSummary, expired_segments, roll_after_ms
from kohort.wire.record_batch import NO_TIMESTAMP, Batch, Buffer, lay_down


class _Segment:
    """Batches that retention and compaction treat as one, as a segment file's."""

    __slots__ = ("base_offset", "batches", "seen_ms", "size_bytes")

    def __init__(self, base_offset: int, batches: Iterable[Batch] = (), seen_ms: int | None = None) -> None:
        self.base_offset = base_offset
        self.batches: list[Batch] = []
        self.size_bytes = 0
        self.seen_ms = seen_ms
        """When maintenance first met it: its age where the batches have no timestamps."""
        for batch in batches:
            self.append(batch)

    def append(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.size_bytes += len(batch.data)

    def summary(self, now_ms: int) -> SegmentSummary:
        if self.seen_ms is None:
            self.seen_ms = now_ms
        greatest = max((batch.header.max_timestamp for batch in self.batches), default=NO_TIMESTAMP)
        first = self.batches[0].header.max_timestamp if self.batches else NO_TIMESTAMP
        return SegmentSummary(
            self.base_offset,
            self.size_bytes,
            first if first != NO_TIMESTAMP else self.seen_ms,
            greatest if greatest != NO_TIMESTAMP else self.seen_ms,
        )


class _Waiting(NamedTuple):
    """An append whose done is still to be called."""

    end_offset: int
    done: AppendDone


class MemoryLog:
    """A log of a MemoryStore; store/log.py says what its verbs promise."""

    def __init__(self, log_id: LogId, config: LogConfig, soon: Callable[[Callable[[], None]], None]) -> None:
        self._id = log_id
        self._config = config
        self._soon = soon
        self._segments = [_Segment(0)]
        self._start_offset = self._readable_offset = self._end_offset = 0
        self._clean_offset = 0
        self._producers: dict[int, ProducerEntry] = {}
        self._waiting: deque[_Waiting] = deque()
        self._closed: StoreError | None = None

    def reopened(self) -> "MemoryLog":
        """The same log for the next who opens the store: what was appended, nobody waiting."""
        log = MemoryLog(self._id, self._config, self._soon)
        log._segments = self._segments
        log._start_offset = self._start_offset
        log._readable_offset = log._end_offset = self._end_offset
        log._clean_offset = self._clean_offset
        log._producers = self._producers
        return log

    @property
    def id(self) -> LogId:
        return self._id

    @property
    def start_offset(self) -> int:
        return self._start_offset

    @property
    def readable_offset(self) -> int:
        return self._readable_offset

    @property
    def end_offset(self) -> int:
        return self._end_offset

    @property
    def size_bytes(self) -> int:
        return sum(segment.size_bytes for segment in self._segments)

    def append(self, batches: Sequence[Batch], durability: Durability, done: AppendDone) -> None:
        if self._closed is not None:
            self._soon(partial(done, self._closed))
            return
        for batch in batches:
            self._append_one(batch)
        self._waiting.append(_Waiting(self._end_offset, done))
        self._soon(self._finish_one)

    def _append_one(self, batch: Batch) -> None:
        header = batch.header
        if header.base_offset < self._end_offset:
            raise ValueError(
                f"A batch at offset {header.base_offset} was appended to a log that ends at {self._end_offset}."
            )
        memory = bytearray(len(batch.data))
        lay_down(batch, memory, 0)
        if self._is_full(header.size, header.max_timestamp):
            self._segments.append(_Segment(header.base_offset))
        self._segments[-1].append(Batch(header, bytes(memory)))
        self._end_offset = header.next_offset
        remember(self._producers, header)

    def _is_full(self, more_bytes: int, timestamp: int) -> bool:
        """Whether a batch of this size and time begins a new segment."""
        active = self._segments[-1]
        if not active.batches:
            return False
        first_timestamp = active.batches[0].header.max_timestamp
        is_old = first_timestamp != NO_TIMESTAMP and timestamp - first_timestamp > roll_after_ms(self._config)
        return is_old or active.size_bytes + more_bytes > self._config.segment_bytes

    def _finish_one(self) -> None:
        if self._waiting:
            waiting = self._waiting.popleft()
            self._readable_offset = waiting.end_offset
            waiting.done(None)

    def flush(self) -> None:
        """Finishes every append that waits."""
        while self._waiting:
            self._finish_one()

    def close(self, reason: StoreError) -> None:
        """Ends the log for who holds it: appends that wait, and all to come, fail for this reason."""
        self._closed = reason
        waiting, self._waiting = self._waiting, deque()
        self._end_offset = self._readable_offset
        for append in waiting:
            self._soon(partial(append.done, reason))

    def read(self, offset: int, max_bytes: int, until_offset: int, done: ReadDone, at_least_one: bool = True) -> None:
        if self._closed is not None:
            done(self._closed)
            return
        if not self._start_offset <= offset <= self._readable_offset:
            done(OffsetOutOfRangeError(f"Offset {offset} is outside {self._start_offset} to {self._readable_offset}."))
            return
        buffers: list[Buffer] = []
        size = 0
        for header, data in self._batches_from(offset):
            if header.base_offset >= min(until_offset, self._readable_offset):
                break
            if size + len(data) > max_bytes and (buffers or not at_least_one):
                break
            buffers.append(data)
            size += len(data)
        done(Chunk(tuple(buffers), size))

    def _batches_from(self, offset: int) -> Iterator[Batch]:
        """All batches from the one that holds offset on, or the next if none does."""
        first = bisect_right(self._segments, offset, key=lambda segment: segment.base_offset)
        for segment in self._segments[max(first - 1, 0) :]:
            for batch in segment.batches:
                if batch.header.last_offset >= offset:
                    yield batch

    def _readable(self) -> Iterator[Batch]:
        for batch in self._batches_from(self._start_offset):
            if batch.header.base_offset >= self._readable_offset:
                return
            yield batch

    def find_time(self, timestamp: int, done: FindDone) -> None:
        for header, _ in self._readable():
            if header.max_timestamp >= timestamp:
                done(TimestampOffset(header.base_offset, header.max_timestamp))
                return
        done(None)

    def find_max_timestamp(self, done: FindDone) -> None:
        found: TimestampOffset | None = None
        for header, _ in self._readable():
            if found is None or header.max_timestamp > found.max_timestamp:
                found = TimestampOffset(header.base_offset, header.max_timestamp)
        done(found)

    def producers(self) -> Iterable[ProducerEntry]:
        return tuple(self._producers.values())

    def configure(self, config: LogConfig) -> None:
        self._config = config

    def trim(self, offset: int, done: AppendDone) -> None:
        if offset > self._readable_offset:
            refusal = OffsetOutOfRangeError(f"Offset {offset} is beyond the log's end, {self._readable_offset}.")
            self._soon(partial(done, refusal))
            return
        self._start_offset = max(self._start_offset, offset)
        self._soon(partial(done, None))

    def maintain(self, now_ms: int) -> None:
        """Rolls by time, deletes what expired, and compacts if that is due."""
        if self._closed is not None or self._waiting:
            return
        summaries = [segment.summary(now_ms) for segment in self._segments]
        if self._segments[-1].batches and now_ms - summaries[-1].first_timestamp > roll_after_ms(self._config):
            self._roll()
        self._expire(now_ms)
        if self._config.compact:
            self._compact(now_ms)

    def _roll(self) -> None:
        self._segments.append(_Segment(self._end_offset))

    def _expire(self, now_ms: int) -> None:
        expired = expired_segments(
            [segment.summary(now_ms) for segment in self._segments],
            start_offset=self._start_offset,
            config=self._config,
            now_ms=now_ms,
        )
        if not expired:
            return
        if expired == len(self._segments):
            self._roll()
        del self._segments[:expired]
        self._start_offset = max(self._start_offset, self._segments[0].base_offset)

    def _compact(self, now_ms: int) -> None:
        closed = self._segments[:-1]
        summaries = [segment.summary(now_ms) for segment in closed]
        cleaning = compaction.due(
            summaries,
            start_offset=self._start_offset,
            clean_offset=self._clean_offset,
            end_offset=self._segments[-1].base_offset,
            config=self._config,
            now_ms=now_ms,
        )
        if cleaning is None:
            return
        latest = compaction.latest_offsets(self._batches_from(cleaning.dirty_offset), cleaning)
        touched = [summary for summary in summaries if summary.base_offset < latest.end_offset]
        producers = compaction.last_offsets(self._producers.values())
        cleaned: list[_Segment] = []
        for members in compaction.group(touched, cleaning.end_offset, self._config.segment_bytes):
            old = closed[: len(members)]
            del closed[: len(members)]
            batches = compaction.clean(
                (batch for segment in old for batch in segment.batches),
                latest,
                producers=producers,
                delete_retention_ms=self._config.delete_retention_ms,
                now_ms=now_ms,
            )
            cleaned.append(_Segment(old[0].base_offset, batches, old[-1].seen_ms))
        self._segments = [*cleaned, *closed, self._segments[-1]]
        self._clean_offset = latest.end_offset
