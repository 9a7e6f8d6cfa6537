"""A settled segment: three files in Kafka's own format, and what the store remembers of them.

    <base offset>.log         record batches, laid end to end
    <base offset>.index       for a batch now and then: last offset - base offset i32, position in .log i32
    <base offset>.timeindex   for the same batches: greatest timestamp so far i64, its offset - base offset i32

What is remembered here and kept in the checkpoint is what counts: bytes of a file beyond it are leftovers of a crash.
Decides where in a segment a batch is found. Written by settle.py, read by cold_reads.py.
"""

from collections.abc import Iterator
from struct import Struct
from typing import Final, NamedTuple

from kohort.store.files.disk import Disk, File
from kohort.store.log import LogId, ProducerEntry
from kohort.store.retention import SegmentSummary
from kohort.wire.record_batch import HEADER_SIZE, NO_TIMESTAMP, BatchHeader, decode_header

INDEX_ENTRY: Final = Struct(">ii")
TIME_ENTRY: Final = Struct(">qi")
LOG_SUFFIX: Final = ".log"
INDEX_SUFFIX: Final = ".index"
TIME_SUFFIX: Final = ".timeindex"
SUFFIXES: Final = (LOG_SUFFIX, INDEX_SUFFIX, TIME_SUFFIX)
METADATA_NAME: Final = "partition.metadata"
_SCAN_BYTES: Final = 64 << 10


class Segment(NamedTuple):
    """What is known of a segment without opening its files."""

    base_offset: int
    next_offset: int
    """One past the last offset in it."""
    size: int
    first_timestamp: int
    """The greatest of its first batch."""
    max_timestamp: int
    max_timestamp_offset: int
    """The last offset of the first batch that has max_timestamp."""
    written_ms: int
    """When it was begun: its age where batches have no timestamps."""
    generation: int = 0
    """How often compaction rewrote it."""
    unindexed_bytes: int = 0
    """Bytes behind the last batch that has an index entry."""
    index_entries: int = 0
    index_crc: int = 0
    time_entries: int = 0
    time_crc: int = 0
    indexed_timestamp: int = NO_TIMESTAMP
    """That of the last entry in .timeindex."""

    def summary(self) -> SegmentSummary:
        """As retention and compaction see it."""
        first = self.written_ms if self.first_timestamp == NO_TIMESTAMP else self.first_timestamp
        greatest = self.written_ms if self.max_timestamp == NO_TIMESTAMP else self.max_timestamp
        return SegmentSummary(self.base_offset, self.size, first, greatest)


def new_segment(base_offset: int, now_ms: int) -> Segment:
    return Segment(base_offset, base_offset, 0, NO_TIMESTAMP, NO_TIMESTAMP, base_offset, now_ms)


class Settled(NamedTuple):
    """The settled part of a log: everything before next_offset that still is."""

    next_offset: int = 0
    clean_offset: int = 0
    """What lies before it was compacted."""
    segments: tuple[Segment, ...] = ()
    producers: tuple[ProducerEntry, ...] = ()
    """As of next_offset."""

    @property
    def size_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)


def log_directory(log_id: LogId) -> str:
    """Kafka's name for it. No topic of Kafka's can have the name of the folder that other orgs lie in."""
    name = f"{log_id.topic}-{log_id.partition}"
    return name if log_id.org_id == 0 else f"orgs/{log_id.org_id}/{name}"


def segment_path(directory: str, base_offset: int, suffix: str) -> str:
    return f"{directory}/{base_offset:020d}{suffix}"


class FoundBatch(NamedTuple):
    """A batch in a .log file."""

    position: int
    header: BatchHeader

    @property
    def end(self) -> int:
        return self.position + self.header.size


def scan(file: File, position: int, end: int) -> Iterator[FoundBatch]:
    """The batches from this position, which is one's beginning, to the end. Reads their headers only."""
    window = b""
    window_start = position
    while position + HEADER_SIZE <= end:
        if position + HEADER_SIZE > window_start + len(window):
            window_start = position
            window = file.pread(min(_SCAN_BYTES, end - position), position)
            if len(window) < HEADER_SIZE:
                return
        found = FoundBatch(position, decode_header(window, position - window_start))
        if found.header.length < HEADER_SIZE - 12 or found.end > end:
            return
        yield found
        position = found.end


def indexed_position(disk: Disk, directory: str, segment: Segment, offset: int) -> int:
    """Where in .log to begin looking for the offset: a batch that ends at or before it, by the index."""
    if not segment.index_entries:
        return 0
    file = disk.open(segment_path(directory, segment.base_offset, INDEX_SUFFIX), read_only=True)
    try:
        low, high, position = 0, segment.index_entries, 0
        while low < high:
            middle = (low + high) // 2
            relative_offset, entry_position = INDEX_ENTRY.unpack(
                file.pread(INDEX_ENTRY.size, middle * INDEX_ENTRY.size)
            )
            if segment.base_offset + relative_offset <= offset:
                low, position = middle + 1, entry_position
            else:
                high = middle
        return position
    finally:
        file.close()


def indexed_time(disk: Disk, directory: str, segment: Segment, timestamp: int) -> int:
    """Where to begin looking for the time, by the time index: what lies before this offset is older."""
    if not segment.time_entries:
        return segment.base_offset
    file = disk.open(segment_path(directory, segment.base_offset, TIME_SUFFIX), read_only=True)
    try:
        low, high, offset = 0, segment.time_entries, segment.base_offset
        while low < high:
            middle = (low + high) // 2
            entry_timestamp, relative_offset = TIME_ENTRY.unpack(file.pread(TIME_ENTRY.size, middle * TIME_ENTRY.size))
            if entry_timestamp < timestamp:
                low, offset = middle + 1, segment.base_offset + relative_offset
            else:
                high = middle
        return offset
    finally:
        file.close()
