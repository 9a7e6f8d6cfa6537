"""Indexes made again from the batches they point into, when a crash or a hand has spoilt them.

Decides whether an index is what the checkpoint remembers of it. Blocking: runs at recovery.
"""

import logging

from crc32c import crc32c

from kohort.store.files.disk import Disk
from kohort.store.files.segment import (
    INDEX_ENTRY,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    TIME_ENTRY,
    TIME_SUFFIX,
    Segment,
    scan,
    segment_path,
)
from kohort.store.files.segment_files import SegmentFiles
from kohort.store.log import LogConfig, StoreError

_logger = logging.getLogger(__name__)


def with_whole_index(disk: Disk, directory: str, segment: Segment) -> Segment:
    """The segment with indexes that can be trusted: those it has, or new ones."""
    index_path = segment_path(directory, segment.base_offset, INDEX_SUFFIX)
    time_path = segment_path(directory, segment.base_offset, TIME_SUFFIX)
    if _is_whole(disk, index_path, segment.index_entries * INDEX_ENTRY.size, segment.index_crc) and _is_whole(
        disk, time_path, segment.time_entries * TIME_ENTRY.size, segment.time_crc
    ):
        return segment
    _logger.warning("The index of %s at %d is damaged; it is made again.", directory, segment.base_offset)
    return _rebuilt(disk, directory, segment)


def _is_whole(disk: Disk, path: str, size: int, crc: int) -> bool:
    try:
        file = disk.open(path, read_only=True)
    except FileNotFoundError:
        return False
    try:
        data = file.pread(size, 0)
    finally:
        file.close()
    return len(data) == size and bool(crc32c(data) == crc)


def _rebuilt(disk: Disk, directory: str, segment: Segment) -> Segment:
    path = segment_path(directory, segment.base_offset, LOG_SUFFIX)
    file = disk.open(path, read_only=True)
    try:
        batches = list(scan(file, 0, segment.size))
    finally:
        file.close()
    end = batches[-1].end if batches else 0
    if end != segment.size:
        raise StoreError(f"{path} is damaged at byte {end}. Restore it, or the whole data directory.")
    return SegmentFiles(disk, directory).index_again(segment, batches, LogConfig().index_interval_bytes)
