"""Settling: moves what a WAL segment holds of a log into the log's segment files, and makes it durable there.

Decides where segments end and which batches get an index entry, by Kafka's rules; never looks into a batch, and does
little for each, because it takes its turn with the thread that serves requests. Runs in the settling worker on values
that nobody changes meanwhile; what comes back is the log's new Settled. Doing it again after a crash does it right.
"""

from base64 import urlsafe_b64encode
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from operator import sub
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from kohort.store.files.disk import Buffer, Disk, File
from kohort.store.files.segment import (
    INDEX_ENTRY,
    INDEX_SUFFIX,
    LOG_SUFFIX,
    METADATA_NAME,
    SUFFIXES,
    TIME_ENTRY,
    TIME_SUFFIX,
    Segment,
    Settled,
    log_directory,
    new_segment,
    segment_path,
)
from kohort.store.files.tail import TailPart
from kohort.store.log import LogConfig, LogId, ProducerEntry, StoreError
from kohort.store.producers import BATCHES_REMEMBERED, remember
from kohort.store.retention import roll_after_ms
from kohort.wire.record_batch import NO_TIMESTAMP

_LARGEST_RELATIVE_OFFSET: Final = (1 << 31) - 1
_PRODUCER_ID: Final = Struct(">q")
_PRODUCER_ID_POSITION: Final = 43


class Rows(NamedTuple):
    """The columns of a tail part, with the sizes that settling needs again and again."""

    part: TailPart
    next_offsets: list[int]
    sizes: list[int]
    timestamps: list[int]


def settle_part(disk: Disk, log_id: LogId, settled: Settled, part: TailPart, config: LogConfig, now_ms: int) -> Settled:
    """Everything of the part goes behind what is settled already."""
    if not part.next_offsets:
        return settled
    directory = log_directory(log_id)
    rows = Rows(part, part.next_offsets.tolist(), list(map(sub, part.ends, part.positions)), part.timestamps.tolist())
    segments = list(settled.segments)
    if not segments:
        _make_directory(disk, directory, log_id)
        segments.append(_begin(disk, directory, part.header(0).base_offset, now_ms))
    row = 0
    while row < len(rows.sizes):
        until = _rows_that_fit(segments[-1], rows, row, config)
        if until == row:
            segments[-1] = close_segment(disk, directory, segments[-1])
            segments.append(_begin(disk, directory, part.header(row).base_offset, now_ms))
            continue
        segments[-1] = _write(disk, directory, segments[-1], rows, row, until, config.index_interval_bytes)
        row = until
    return Settled(part.next_offset, settled.clean_offset, tuple(segments), producers_after(settled.producers, part))


def producers_after(known: tuple[ProducerEntry, ...], part: TailPart) -> tuple[ProducerEntry, ...]:
    """What is known of producers after these batches. Only the last few batches of each can still matter."""
    if not part.has_producers:
        return known
    rows_by_producer: dict[int, list[int]] = {}
    for row, position in enumerate(part.positions):
        producer_id: int = _PRODUCER_ID.unpack_from(part.view, position + _PRODUCER_ID_POSITION)[0]
        rows = rows_by_producer.get(producer_id)
        if rows is None:
            rows_by_producer[producer_id] = [row]
        else:
            rows.append(row)
    producers = {entry.producer_id: entry for entry in known}
    for rows in rows_by_producer.values():
        for row in rows[-BATCHES_REMEMBERED:]:
            remember(producers, part.header(row))
    return tuple(producers.values())


def _make_directory(disk: Disk, directory: str, log_id: LogId) -> None:
    """With Kafka's file in it that tells whose it is."""
    disk.make_directory(directory)
    topic_id = urlsafe_b64encode(log_id.topic_id.bytes).rstrip(b"=").decode()
    file = disk.open(f"{directory}/{METADATA_NAME}", create=True)
    try:
        file.truncate(0)
        file.write((f"version: 0\ntopic_id: {topic_id}\n".encode(),))
        file.sync()
    finally:
        file.close()
    while directory:
        directory = directory.rpartition("/")[0]
        disk.sync_directory(directory)


def _begin(disk: Disk, directory: str, base_offset: int, now_ms: int) -> Segment:
    """A new, empty segment; files of that name are leftovers of a crash."""
    for suffix in SUFFIXES:
        file = disk.open(segment_path(directory, base_offset, suffix), create=True)
        try:
            file.truncate(0)
        finally:
            file.close()
    disk.sync_directory(directory)
    return new_segment(base_offset, now_ms)


def close_segment(disk: Disk, directory: str, segment: Segment) -> Segment:
    """The segment as it stays: with its greatest timestamp in the time index, and its indexes durable."""
    if segment.max_timestamp > segment.indexed_timestamp:
        entry = _time_entry(segment)
        _append_index(
            disk,
            segment_path(directory, segment.base_offset, TIME_SUFFIX),
            segment.time_entries * TIME_ENTRY.size,
            entry,
        )
        segment = segment._replace(
            time_entries=segment.time_entries + 1,
            time_crc=crc32c(entry, segment.time_crc),
            indexed_timestamp=segment.max_timestamp,
        )
    for suffix in (INDEX_SUFFIX, TIME_SUFFIX):
        file = disk.open(segment_path(directory, segment.base_offset, suffix))
        try:
            file.sync()
        finally:
            file.close()
    return segment


def _rows_that_fit(segment: Segment, rows: Rows, first: int, config: LogConfig) -> int:
    """The row before which the segment ends. An empty segment takes at least one batch, however large."""
    is_full = segment.index_entries * INDEX_ENTRY.size >= config.segment_index_bytes
    if segment.size and is_full:
        return first
    last = first + bisect_right(list(accumulate(rows.sizes[first:])), config.segment_bytes - segment.size)
    last = min(last, bisect_right(rows.next_offsets, segment.base_offset + _LARGEST_RELATIVE_OFFSET + 1))
    first_timestamp = segment.first_timestamp if segment.size else rows.timestamps[first]
    if first_timestamp != NO_TIMESTAMP and last > first:
        latest = first_timestamp + roll_after_ms(config)
        if max(rows.timestamps[first:last]) > latest:
            last = next(row for row in range(first, last) if rows.timestamps[row] > latest)
    return last if segment.size else max(last, first + 1)


def _write(
    disk: Disk, directory: str, segment: Segment, rows: Rows, first: int, last: int, index_interval_bytes: int
) -> Segment:
    """Appends these rows to the segment's files; durable in .log, where everything can be made from again."""
    path = segment_path(directory, segment.base_offset, LOG_SUFFIX)
    _append_durably(disk, path, segment.size, rows.part.slices(first, last))
    if not segment.size:
        segment = segment._replace(first_timestamp=rows.timestamps[first])
    growth = IndexGrowth(segment)
    starts = list(accumulate(rows.sizes[first:last], initial=segment.size))
    end = starts.pop()
    mark = segment.size - segment.unindexed_bytes
    row = first
    while row < last:
        indexed = first + bisect_right(starts, mark + index_interval_bytes, lo=row - first)
        growth.see(rows, row, min(indexed + 1, last))
        if indexed < last:
            mark = starts[indexed - first]
            growth.add_entries(rows.next_offsets[indexed] - 1, mark)
        row = indexed + 1
    return growth.finish(disk, directory, end, rows.next_offsets[last - 1], end - mark)


class IndexGrowth:
    """A segment while batches are added to it: its greatest timestamp so far, and its new index entries."""

    def __init__(self, segment: Segment) -> None:
        self._segment = segment
        self._index = bytearray()
        self._times = bytearray()

    def see(self, rows: Rows, first: int, last: int) -> None:
        """Takes note of the timestamps of these rows."""
        greatest = max(rows.timestamps[first:last])
        if greatest > self._segment.max_timestamp:
            row = rows.timestamps.index(greatest, first, last)
            self.see_batch(greatest, rows.next_offsets[row] - 1)

    def see_batch(self, timestamp: int, last_offset: int) -> None:
        if timestamp > self._segment.max_timestamp:
            self._segment = self._segment._replace(max_timestamp=timestamp, max_timestamp_offset=last_offset)

    def add_entries(self, last_offset: int, position: int) -> None:
        segment = self._segment
        self._index += INDEX_ENTRY.pack(last_offset - segment.base_offset, position)
        if segment.max_timestamp > segment.indexed_timestamp:
            self._times += _time_entry(segment)
            self._segment = segment._replace(indexed_timestamp=segment.max_timestamp)

    def finish(self, disk: Disk, directory: str, size: int, next_offset: int, unindexed_bytes: int) -> Segment:
        """Writes the entries; the segment as it is now."""
        segment = self._segment
        if self._index:
            path = segment_path(directory, segment.base_offset, INDEX_SUFFIX)
            _append_index(disk, path, segment.index_entries * INDEX_ENTRY.size, self._index)
        if self._times:
            path = segment_path(directory, segment.base_offset, TIME_SUFFIX)
            _append_index(disk, path, segment.time_entries * TIME_ENTRY.size, self._times)
        return segment._replace(
            size=size,
            next_offset=next_offset,
            unindexed_bytes=unindexed_bytes,
            index_entries=segment.index_entries + len(self._index) // INDEX_ENTRY.size,
            index_crc=crc32c(self._index, segment.index_crc),
            time_entries=segment.time_entries + len(self._times) // TIME_ENTRY.size,
            time_crc=crc32c(self._times, segment.time_crc),
        )


def _time_entry(segment: Segment) -> bytes:
    return TIME_ENTRY.pack(segment.max_timestamp, segment.max_timestamp_offset - segment.base_offset)


def _append_index(disk: Disk, path: str, size: int, entries: Buffer) -> None:
    """An index may be lost in a crash and is made again then, so nobody waits for it."""
    file = disk.open(path, create=True)
    try:
        _cut_to(file, size, path)
        file.write((entries,))
    finally:
        file.close()


def _append_durably(disk: Disk, path: str, size: int, buffers: Sequence[Buffer]) -> None:
    file = disk.open(path)
    try:
        _cut_to(file, size, path)
        file.write(buffers)
        file.sync()
    finally:
        file.close()


def _cut_to(file: File, size: int, path: str) -> None:
    """What lies beyond is left over from a settling that was not finished."""
    if file.size < size:
        raise StoreError(f"{path} has {file.size} bytes and should have {size}: was it changed or restored?")
    if file.size > size:
        file.truncate(size)
