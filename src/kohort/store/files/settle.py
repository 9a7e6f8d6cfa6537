"""Settling: moves what a WAL segment holds of a log into the log's segment files, and makes it durable there.

Decides where segments end, by Kafka's rules; does little for each batch, because it takes its turn with the thread that
serves requests. Runs in the settling worker on values that nobody changes meanwhile; what comes back is the log's new
Settled. Doing it again after a crash does it right. Next hop: segment_files.py.
"""

from base64 import urlsafe_b64encode
from bisect import bisect_right
from itertools import accumulate
from operator import sub
from struct import Struct
from typing import Final

from kohort.store.files.disk import Disk
from kohort.store.files.index_repair import with_whole_index
from kohort.store.files.segment import INDEX_ENTRY, METADATA_NAME, Segment, Settled, log_directory
from kohort.store.files.segment_files import Rows, SegmentFiles
from kohort.store.files.tail import TailPart
from kohort.store.log import LogConfig, LogId, ProducerEntry
from kohort.store.producers import BATCHES_REMEMBERED, remember
from kohort.store.retention import roll_after_ms
from kohort.wire.record_batch import NO_TIMESTAMP

_LARGEST_RELATIVE_OFFSET: Final = (1 << 31) - 1
_PRODUCER_ID: Final = Struct(">q")
_PRODUCER_ID_POSITION: Final = 43


def settle_part(
    disk: Disk,
    log_id: LogId,
    settled: Settled,
    part: TailPart,
    config: LogConfig,
    now_ms: int,
    *,
    is_first: bool,
) -> Settled:
    """Everything of the part goes behind what is settled already.

    The first time after a start, the indexes of the active segment may have been spoilt: they are not synced.
    """
    if not part.next_offsets:
        return settled
    directory = log_directory(log_id)
    files = SegmentFiles(disk, directory)
    sizes = list(map(sub, part.ends, part.positions))
    rows = Rows(part.next_offsets.tolist(), sizes, part.timestamps.tolist(), part.slices)
    segments = list(settled.segments)
    if not segments:
        _make_directory(disk, directory, log_id)
        segments.append(files.begin(part.header(0).base_offset, now_ms))
    elif is_first:
        segments[-1] = with_whole_index(disk, directory, segments[-1])
    row = 0
    while row < len(rows.sizes):
        until = _rows_that_fit(segments[-1], rows, row, config)
        if until == row:
            segments[-1] = files.close(segments[-1])
            segments.append(files.begin(part.header(row).base_offset, now_ms))
            continue
        segments[-1] = files.append(segments[-1], rows, row, until, config.index_interval_bytes)
        row = until
    producers = producers_after(settled.producers, part)
    return settled._replace(next_offset=part.next_offset, segments=tuple(segments), producers=producers)


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


def _rows_that_fit(segment: Segment, rows: Rows, first: int, config: LogConfig) -> int:
    """The row before which the segment ends. An empty segment takes at least one batch, however large."""
    if segment.size and segment.index_entries * INDEX_ENTRY.size >= config.segment_index_bytes:
        return first
    last = first + bisect_right(list(accumulate(rows.sizes[first:])), config.segment_bytes - segment.size)
    last = min(last, bisect_right(rows.next_offsets, segment.base_offset + _LARGEST_RELATIVE_OFFSET + 1))
    first_timestamp = segment.first_timestamp if segment.size else rows.timestamps[first]
    if first_timestamp != NO_TIMESTAMP and last > first:
        latest = first_timestamp + roll_after_ms(config)
        if max(rows.timestamps[first:last]) > latest:
            last = next(row for row in range(first, last) if rows.timestamps[row] > latest)
    return last if segment.size else max(last, first + 1)


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
