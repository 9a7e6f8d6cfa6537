"""The files of a segment while they grow: batches are appended, and some of them get index entries, by Kafka's rule.

Decides which batches are indexed and what is made durable when; never looks into a batch. Runs in the settling worker
and at recovery, for settle.py (what comes from the WAL), cleaning.py (what compaction leaves) and index_repair.py.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from crc32c import crc32c

from kohort.store.files.disk import Buffer, Disk, File
from kohort.store.files.segment import (
    INDEX_ENTRY,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SUFFIXES,
    TIME_ENTRY,
    TIME_SUFFIX,
    FoundBatch,
    Segment,
    new_segment,
    segment_path,
)
from kohort.store.log import StoreFailedError


class Rows(NamedTuple):
    """Batches to be written: columns, one row a batch."""

    next_offsets: list[int]
    sizes: list[int]
    timestamps: list[int]
    slices: Callable[[int, int], Sequence[Buffer]]
    """The bytes of the rows from one to before another."""


class SegmentFiles:
    """Writes segments of one log. An ending marks files that are to take the place of others later."""

    def __init__(self, disk: Disk, directory: str, ending: str = "") -> None:
        self._disk = disk
        self._directory = directory
        self._ending = ending

    def path(self, base_offset: int, suffix: str) -> str:
        return segment_path(self._directory, base_offset, suffix) + self._ending

    def begin(self, base_offset: int, now_ms: int) -> Segment:
        """A new, empty segment. Files that have its names are leftovers of a crash."""
        for suffix in SUFFIXES:
            file = self._disk.open(self.path(base_offset, suffix), create=True)
            try:
                file.truncate(0)
            finally:
                file.close()
        self._disk.sync_directory(self._directory)
        return new_segment(base_offset, now_ms)

    def append(self, segment: Segment, rows: Rows, first: int, last: int, index_interval_bytes: int) -> Segment:
        """The segment with these rows; durable in .log, from which everything else can be made again."""
        self._write(self.path(segment.base_offset, LOG_SUFFIX), segment.size, rows.slices(first, last), is_durable=True)
        if not segment.size:
            segment = segment._replace(first_timestamp=rows.timestamps[first])
        growth = _IndexGrowth(segment)
        starts = list(accumulate(rows.sizes[first:last], initial=segment.size))
        end = starts.pop()
        mark = segment.size - segment.unindexed_bytes
        row = first
        while row < last:
            indexed = first + bisect_right(starts, mark + index_interval_bytes, lo=row - first)
            seen = min(indexed + 1, last)
            greatest = max(rows.timestamps[row:seen])
            growth.see(greatest, rows.next_offsets[rows.timestamps.index(greatest, row, seen)] - 1)
            if indexed < last:
                mark = starts[indexed - first]
                growth.add_entries(rows.next_offsets[indexed] - 1, mark)
            row = indexed + 1
        self._write_entries(segment, growth)
        return growth.grown(end, rows.next_offsets[last - 1], end - mark)

    def close(self, segment: Segment) -> Segment:
        """The segment as it stays: with its greatest timestamp in the time index, and its indexes durable."""
        growth = _IndexGrowth(segment)
        growth.add_time_entry()
        self._write_entries(segment, growth)
        for suffix in (INDEX_SUFFIX, TIME_SUFFIX):
            file = self._disk.open(self.path(segment.base_offset, suffix))
            try:
                file.sync()
            finally:
                file.close()
        return growth.grown(segment.size, segment.next_offset, segment.unindexed_bytes)

    def index_again(self, segment: Segment, batches: Sequence[FoundBatch], index_interval_bytes: int) -> Segment:
        """The segment with new indexes, made from its batches."""
        bare = new_segment(segment.base_offset, segment.written_ms)
        growth = _IndexGrowth(bare)
        mark = 0
        for found in batches:
            growth.see(found.header.max_timestamp, found.header.last_offset)
            if found.position - mark > index_interval_bytes:
                mark = found.position
                growth.add_entries(found.header.last_offset, mark)
        growth.add_time_entry()
        for suffix in (INDEX_SUFFIX, TIME_SUFFIX):
            self._write(self.path(segment.base_offset, suffix), 0, (), is_durable=False)
        self._write_entries(bare, growth)
        grown = growth.grown(segment.size, segment.next_offset, segment.size - mark)
        return grown._replace(first_timestamp=segment.first_timestamp, generation=segment.generation)

    def _write_entries(self, segment: Segment, growth: "_IndexGrowth") -> None:
        """An index may be lost in a crash, and is made again then, so nobody waits for it."""
        for suffix, size, entries in (
            (INDEX_SUFFIX, segment.index_entries * INDEX_ENTRY.size, growth.index),
            (TIME_SUFFIX, segment.time_entries * TIME_ENTRY.size, growth.times),
        ):
            if entries:
                self._write(self.path(segment.base_offset, suffix), size, (entries,), is_durable=False)

    def _write(self, path: str, size: int, buffers: Sequence[Buffer], *, is_durable: bool) -> None:
        file = self._disk.open(path, create=True)
        try:
            _cut_to(file, size, path)
            file.write(buffers)
            if is_durable:
                file.sync()
        finally:
            file.close()


def _cut_to(file: File, size: int, path: str) -> None:
    """What lies beyond is left over from a settling that was not finished."""
    if file.size < size:
        raise StoreFailedError(
            f"{path} has {file.size} bytes and had {size}: it was damaged or changed. An index is repaired by a "
            "restart after a kill; anything else has to be restored."
        )
    if file.size > size:
        file.truncate(size)


class _IndexGrowth:
    """What is remembered of a segment while batches are added to it, and its new index entries."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self.index = bytearray()
        self.times = bytearray()

    def see(self, timestamp: int, last_offset: int) -> None:
        """Takes note of a batch's greatest timestamp."""
        if timestamp > self._segment.max_timestamp:
            self._segment = self._segment._replace(max_timestamp=timestamp, max_timestamp_offset=last_offset)

    def add_entries(self, last_offset: int, position: int) -> None:
        self.index += INDEX_ENTRY.pack(last_offset - self._segment.base_offset, position)
        self.add_time_entry()

    def add_time_entry(self) -> None:
        """Only if there is a greater timestamp than in the last one."""
        segment = self._segment
        if segment.max_timestamp > segment.indexed_timestamp:
            self.times += TIME_ENTRY.pack(segment.max_timestamp, segment.max_timestamp_offset - segment.base_offset)
            self._segment = segment._replace(indexed_timestamp=segment.max_timestamp)

    def grown(self, size: int, next_offset: int, unindexed_bytes: int) -> Segment:
        segment = self._segment
        return segment._replace(
            size=size,
            next_offset=next_offset,
            unindexed_bytes=unindexed_bytes,
            index_entries=segment.index_entries + len(self.index) // INDEX_ENTRY.size,
            index_crc=crc32c(self.index, segment.index_crc),
            time_entries=segment.time_entries + len(self.times) // TIME_ENTRY.size,
            time_crc=crc32c(self.times, segment.time_crc),
        )
