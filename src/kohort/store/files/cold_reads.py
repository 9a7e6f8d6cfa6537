"""Reads of settled segments, from their files. Runs in the reading workers, on values that nobody changes.

Decides how many bytes answer a read, and where batches are found by offset and by time. Files are opened for each
read, which costs little beside the read itself: so thousands of partitions need no more descriptors than readers do.
A segment that retention or compaction took away meanwhile is a FileNotFoundError: log.py asks again.
"""

import logging
from collections.abc import Sequence
from struct import error as StructError
from typing import Final

from kohort.store.files.aligned_memory import MemoryPool
from kohort.store.files.disk import PAGE_SIZE, Disk, File
from kohort.store.files.frames import page_up
from kohort.store.files.segment import (
    LOG_SUFFIX,
    FoundBatch,
    Segment,
    indexed_position,
    indexed_time,
    scan,
    segment_path,
)
from kohort.store.log import Chunk, StoreError, TimestampOffset
from kohort.wire.record_batch import Buffer

_logger = logging.getLogger(__name__)

LARGEST_READ: Final = 4 << 20
"""One read brings no more than this, but for a single batch that is larger."""
_POOLED_FROM: Final = 256 << 10
EMPTY: Final = Chunk((), 0)


class SegmentReader:
    """Reads the segments of one log."""

    def __init__(self, disk: Disk, directory: str, memory: MemoryPool, spoilt_indexes: set[int]) -> None:
        self._disk = disk
        self._directory = directory
        self._memory = memory
        self._spoilt_indexes = spoilt_indexes

    def read(
        self, segments: Sequence[Segment], offset: int, max_bytes: int, until_offset: int, at_least_one: bool
    ) -> Chunk | None:
        """From the batch that holds the offset, or the first behind it; None if these segments have none."""
        for segment in segments:
            file = self._open(segment)
            try:
                first = self._find(file, segment, offset)
                if first is None:
                    continue
                if first.header.base_offset >= until_offset:
                    return EMPTY
                end = self._end(file, segment, first, until_offset)
                wanted = min(end - first.position, max_bytes, LARGEST_READ)
                if wanted < first.header.size:
                    if not at_least_one and max_bytes < first.header.size:
                        return EMPTY
                    wanted = first.header.size
                return Chunk((self._bytes(file, first.position, wanted),), wanted)
            finally:
                file.close()
        return None

    def find_time(self, segments: Sequence[Segment], start_offset: int, timestamp: int) -> TimestampOffset | None:
        """The first batch behind the start whose greatest timestamp is at least this."""
        for segment in segments:
            if segment.max_timestamp < timestamp:
                continue
            file = self._open(segment)
            try:
                first = self._find(file, segment, max(start_offset, self._time_start(segment, timestamp)))
                for found in () if first is None else scan(file, first.position, segment.size):
                    if found.header.max_timestamp >= timestamp:
                        return TimestampOffset(found.header.base_offset, found.header.max_timestamp)
            finally:
                file.close()
        return None

    def find_max_timestamp(self, segments: Sequence[Segment], start_offset: int) -> TimestampOffset | None:
        """The first batch behind the start that has the greatest timestamp."""
        greatest: TimestampOffset | None = None
        for segment in segments:
            if greatest is not None and segment.max_timestamp <= greatest.max_timestamp:
                continue
            if start_offset > segment.max_timestamp_offset:
                found = self._max_timestamp_from(segment, start_offset)
            else:
                found = self.find_time((segment,), start_offset, segment.max_timestamp)
            if found is not None and (greatest is None or found.max_timestamp > greatest.max_timestamp):
                greatest = found
        return greatest

    def _max_timestamp_from(self, segment: Segment, start_offset: int) -> TimestampOffset | None:
        """Where the start cut the segment's greatest off: looked for in every header behind it."""
        file = self._open(segment)
        try:
            first = self._find(file, segment, start_offset)
            if first is None:
                return None
            headers = [found.header for found in scan(file, first.position, segment.size)]
            greatest = max(headers, key=lambda header: header.max_timestamp)
            return TimestampOffset(greatest.base_offset, greatest.max_timestamp)
        finally:
            file.close()

    def _open(self, segment: Segment) -> File:
        return self._disk.open(segment_path(self._directory, segment.base_offset, LOG_SUFFIX), read_only=True)

    def _time_start(self, segment: Segment, timestamp: int) -> int:
        try:
            return indexed_time(self._disk, self._directory, segment, timestamp)
        except (FileNotFoundError, StructError):
            return segment.base_offset

    def _find(self, file: File, segment: Segment, offset: int) -> FoundBatch | None:
        """The batch that holds this offset, or the first behind it."""
        position = self._index_start(segment, offset)
        is_begun = position == 0
        for found in scan(file, position, segment.size):
            if not is_begun and not segment.base_offset <= found.header.last_offset <= offset:
                break  # the index led astray: no entry points behind what is looked for
            is_begun = True
            if found.header.last_offset >= offset:
                return found
        if is_begun:
            return None
        self._warn_of_index(segment)
        return next((found for found in scan(file, 0, segment.size) if found.header.last_offset >= offset), None)

    def _index_start(self, segment: Segment, offset: int) -> int:
        try:
            position = indexed_position(self._disk, self._directory, segment, offset)
        except (FileNotFoundError, StructError):
            position = -1
        if 0 <= position < segment.size:
            return position
        self._warn_of_index(segment)
        return 0

    def _warn_of_index(self, segment: Segment) -> None:
        self._spoilt_indexes.add(segment.base_offset)
        _logger.warning("The index of %s at %d is spoilt; reading without.", self._directory, segment.base_offset)

    def _end(self, file: File, segment: Segment, first: FoundBatch, until_offset: int) -> int:
        """Where the batches that begin before until_offset end in the file."""
        if until_offset >= segment.next_offset:
            return segment.size
        start = max(first.position, self._index_start(segment, until_offset))
        for found in scan(file, start, segment.size):
            if found.header.base_offset >= until_offset:
                return found.position
        return segment.size

    def _bytes(self, file: File, position: int, length: int) -> Buffer:
        if length < _POOLED_FROM:
            return file.pread(length, position)
        start = position - position % PAGE_SIZE
        needed = page_up(position + length) - start
        memory = self._memory.take(1 << (needed - 1).bit_length())
        try:
            if file.read_into(memory.view[:needed], start) < position - start + length:
                raise StoreError(f"A segment of {self._directory} is shorter than it was: was it changed or restored?")
            return memory.view[position - start : position - start + length]
        finally:
            self._memory.give_back(memory)
