"""What lies in memory: WAL segments, and of each log the index into them from which reads are answered.

Decides which bytes answer a read; never copies them, unless they are so many small pieces that handing them on one by
one would cost more. Written by wal.py, read by log.py, and settled by settle.py once the WAL segment is full.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterator
from typing import Final

from kohort.store.files.aligned_memory import AlignedMemory
from kohort.store.files.disk import File
from kohort.store.log import Chunk, LogId, TimestampOffset
from kohort.wire.record_batch import NO_PRODUCER_ID, NO_TIMESTAMP, BatchHeader, Buffer, decode_header

_SMALL_PIECE: Final = 4096
_FEW_PIECES: Final = 8


class WalSegment:
    """One use of a recycled file, and the memory that holds the same bytes at the same positions."""

    __slots__ = (
        "appends",
        "begun_ms",
        "chain",
        "file",
        "is_sealed",
        "memory",
        "parts",
        "sequence",
        "slot",
        "unwritten_frames",
    )

    def __init__(self, slot: int, file: File, memory: AlignedMemory, sequence: int, begun_ms: int) -> None:
        self.slot: Final = slot
        self.file: Final = file
        self.memory: Final = memory
        self.sequence: Final = sequence
        self.begun_ms: Final = begun_ms
        self.appends = 0
        self.chain = 0
        """The crc of its last frame."""
        self.unwritten_frames = 0
        self.is_sealed = False
        """Nothing more goes into it."""
        self.parts: list[TailPart] = []
        """Of each log that has batches in it, in the order of their first."""


class TailPart:
    """The batches of one log in one WAL segment, in the order they were appended: four columns, one row a batch."""

    __slots__ = (
        "ends",
        "first_offset",
        "has_producers",
        "log_number",
        "next_offsets",
        "positions",
        "segment",
        "timestamps",
        "view",
    )

    def __init__(self, segment: WalSegment, log_number: int, first_offset: int) -> None:
        self.segment = segment
        self.log_number = log_number
        self.view = segment.memory.view
        self.first_offset = first_offset
        """Where the log ended before: an offset at or beyond it is in this part or behind it."""
        self.has_producers = False
        self.next_offsets = array("q")
        self.positions = array("q")
        self.ends = array("q")
        self.timestamps = array("q")

    @property
    def next_offset(self) -> int:
        """One past the last offset in it."""
        return self.next_offsets[-1] if self.next_offsets else self.first_offset

    @property
    def size_bytes(self) -> int:
        return sum(self.ends) - sum(self.positions)

    def add(self, header: BatchHeader, position: int, end: int) -> None:
        """One more batch, which lies there. wal.py does the same without the call."""
        self.positions.append(position)
        self.ends.append(end)
        self.next_offsets.append(header.next_offset)
        self.timestamps.append(header.max_timestamp)
        self.has_producers = self.has_producers or header.producer_id != NO_PRODUCER_ID

    def header(self, row: int) -> BatchHeader:
        return decode_header(self.view, self.positions[row])

    def headers(self, from_offset: int = 0) -> Iterator[BatchHeader]:
        """Of the batches from the one that holds this offset on."""
        for row in range(bisect_right(self.next_offsets, from_offset), len(self.next_offsets)):
            yield self.header(row)

    def cut(self, end_offset: int) -> None:
        """Forgets what lies at or beyond this offset."""
        kept = bisect_right(self.next_offsets, end_offset)
        for column in (self.next_offsets, self.positions, self.ends, self.timestamps):
            del column[kept:]

    def rows_before(self, offset: int) -> int:
        """How many of its batches begin before this offset."""
        rows = bisect_left(self.next_offsets, offset)
        if rows < len(self.next_offsets) and self.header(rows).base_offset < offset:
            rows += 1
        return rows

    def slices(self, first: int, last: int) -> list[memoryview]:
        """The bytes of these rows, without a copy."""
        return list(map(self.view.__getitem__, map(slice, self.positions[first:last], self.ends[first:last])))


class Tail:
    """The end of a log, as far as it lies in memory, and the log's offsets there."""

    __slots__ = ("end_offset", "first_offset", "is_recorded", "log_id", "log_number", "parts", "readable_offset")

    def __init__(self, log_number: int, log_id: LogId, next_offset: int, is_recorded: bool) -> None:
        self.log_number: Final = log_number
        self.log_id: Final = log_id
        self.end_offset = next_offset
        self.readable_offset = next_offset
        self.first_offset = next_offset
        """What lies before it is in no memory."""
        self.is_recorded = is_recorded
        """Whether a restart would know what the log's number stands for."""
        self.parts: deque[TailPart] = deque()

    def forget(self, part: TailPart) -> None:
        """Its memory is wanted for other things; it is the oldest, and settled."""
        if self.parts and self.parts[0] is part:
            self.parts.popleft()
            self.first_offset = part.next_offset

    def roll_back(self) -> None:
        """Nothing was appended but what is readable."""
        self.end_offset = self.readable_offset
        while self.parts and self.parts[-1].next_offset > self.end_offset:
            part = self.parts[-1]
            part.cut(self.end_offset)
            if part.next_offsets:
                return
            part.segment.parts.remove(part)
            self.parts.pop()

    def read(self, offset: int, max_bytes: int, until_offset: int, at_least_one: bool) -> Chunk:
        """A read that begins in memory; until_offset is at most what is readable."""
        buffers: list[Buffer] = []
        size = 0
        for part in self.parts:
            if part.next_offset <= offset:
                continue
            first = bisect_right(part.next_offsets, offset)
            until = part.rows_before(until_offset)
            last = first
            while last < until:
                batch_size = part.ends[last] - part.positions[last]
                if size + batch_size > max_bytes and (size or not at_least_one):
                    break
                size += batch_size
                last += 1
            buffers += part.slices(first, last)
            if last < len(part.next_offsets):
                break
        if len(buffers) > _FEW_PIECES and size < len(buffers) * _SMALL_PIECE:
            buffers = [b"".join(buffers)]
        return Chunk(tuple(buffers), size)

    def readable_bytes(self, from_offset: int) -> int:
        """Bytes of what is readable from this offset on, which begins a part or ends the last."""
        return sum(
            sum(part.ends[:rows]) - sum(part.positions[:rows])
            for part in self.parts
            if part.next_offset > from_offset and (rows := part.rows_before(self.readable_offset))
        )

    def find_time(self, start_offset: int, timestamp: int) -> TimestampOffset | None:
        """The first readable batch from the start on whose greatest timestamp is at least this."""
        for part in self.parts:
            if part.next_offset <= start_offset or max(part.timestamps) < timestamp:
                continue
            for row in range(bisect_right(part.next_offsets, start_offset), part.rows_before(self.readable_offset)):
                if part.timestamps[row] >= timestamp:
                    return TimestampOffset(part.header(row).base_offset, part.timestamps[row])
        return None

    def find_max_timestamp(self, start_offset: int) -> TimestampOffset | None:
        """The first readable batch from the start on that has the greatest timestamp."""
        greatest = NO_TIMESTAMP - 1
        for part in self.parts:
            first = bisect_right(part.next_offsets, start_offset)
            readable = part.timestamps[first : part.rows_before(self.readable_offset)]
            greatest = max(greatest, max(readable, default=greatest))
        return self.find_time(start_offset, greatest) if greatest >= NO_TIMESTAMP else None
