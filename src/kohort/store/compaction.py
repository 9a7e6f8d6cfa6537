"""Which records of a compacted log survive: Kafka's log cleaner as pure functions, for every store.

A cleaning has two passes over batches that the store reads and writes, one at a time:

    due             is a cleaning worth it now, and from where to where
    latest_offsets  pass 1, over the dirty part: where each key was written last
    clean           pass 2, from the log's first batch on: the batches as they shall be, some left out
    group           which neighbouring segments a cleaning makes one of, so that they do not shrink away

A record survives when no later one has its key. A record without a value, a tombstone, survives like any other, and
goes delete.retention.ms after it was first cleaned, so that whoever reads along hears of the deletion. That moment is
kept as in Kafka: the delete horizon stands in the batch's base timestamp, and attribute bit 6 says so.

Offsets never change: a batch keeps its first and last offset whatever it loses. A batch left without records stays,
empty, where its header is still needed: it is the last one of its producer, or the last of what was cleaned.

A store that calls this replaces files atomically, and then remembers `LatestOffsets.end_offset` as the log's clean
offset; forgetting it costs a cleaning, no data. A clean offset outside of the log counts as its start.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple

from kohort.store.log import LogConfig, ProducerEntry
from kohort.store.retention import SegmentSummary
from kohort.wire.record_batch import NO_PRODUCER_ID, Batch, BatchHeader, Buffer
from kohort.wire.records import Record, decode_records, empty_batch, filter_batch

KEYS_AT_ONCE: Final = 250_000
"""Keys that one cleaning remembers, at about 180 bytes each; a log with more takes several cleanings."""
_DIGEST_BYTES: Final = 16
"""So wide that two keys never share a digest: one would be lost."""
_LARGEST_OFFSET_DELTA: Final = (1 << 31) - 1


class Cleaning(NamedTuple):
    """What to clean: keys are looked for from dirty_offset on; nothing at or beyond end_offset is touched."""

    dirty_offset: int
    end_offset: int


def due(
    closed: Sequence[SegmentSummary],
    *,
    start_offset: int,
    clean_offset: int,
    end_offset: int,
    config: LogConfig,
    now_ms: int,
) -> Cleaning | None:
    """The cleaning that is due, if any. `closed` are all segments but the active one, which begins at end_offset.

    A cleaning is due when the dirty share of what may be cleaned exceeds min.cleanable.dirty.ratio, or when a dirty
    record is older than max.compaction.lag.ms. Segments younger than min.compaction.lag.ms are not touched.
    """
    dirty_offset = clean_offset if start_offset <= clean_offset <= end_offset else start_offset
    clean_bytes = dirty_bytes = 0
    is_overdue = False
    next_offsets = [segment.base_offset for segment in closed[1:]] + [end_offset]
    for segment, next_offset in zip(closed, next_offsets):
        if next_offset <= dirty_offset:
            clean_bytes += segment.size_bytes
            continue
        if config.min_compaction_lag_ms > 0 and segment.max_timestamp > now_ms - config.min_compaction_lag_ms:
            end_offset = segment.base_offset
            break
        dirty_bytes += segment.size_bytes
        is_overdue = is_overdue or 0 < segment.first_timestamp < now_ms - config.max_compaction_lag_ms
    if not dirty_bytes:
        return None
    if not is_overdue and dirty_bytes / (clean_bytes + dirty_bytes) <= config.min_cleanable_dirty_ratio:
        return None
    return Cleaning(dirty_offset, max(dirty_offset, end_offset))


class LatestOffsets:
    """Where each key of the dirty part was written last, up to end_offset, where memory or the cleaning ended."""

    __slots__ = ("_offsets", "end_offset")

    def __init__(self, offsets: Mapping[bytes, int], end_offset: int) -> None:
        self._offsets = offsets
        self.end_offset: Final = end_offset

    def is_latest(self, key: Buffer, offset: int) -> bool:
        return offset >= self._offsets.get(_digest(key), -1)


def latest_offsets(batches: Iterable[Batch], cleaning: Cleaning, keys_at_once: int = KEYS_AT_ONCE) -> LatestOffsets:
    """Reads the dirty part. `batches` are those of the log, from one at or before cleaning.dirty_offset on."""
    offsets: dict[bytes, int] = {}
    for header, data in batches:
        if header.base_offset >= cleaning.end_offset:
            break
        if header.is_control:
            continue
        for record in decode_records(data):
            if record.key is None or record.offset < cleaning.dirty_offset:
                continue
            digest = _digest(record.key)
            if len(offsets) >= keys_at_once and digest not in offsets:
                return LatestOffsets(offsets, record.offset)
            offsets[digest] = record.offset
    return LatestOffsets(offsets, cleaning.end_offset)


def last_offsets(producers: Iterable[ProducerEntry]) -> dict[int, int]:
    """The last offset of each producer that the log still knows: the batch that ends there keeps its header."""
    return {entry.producer_id: entry.batches[-1].last_offset for entry in producers if entry.batches}


def clean(
    batches: Iterable[Batch],
    latest: LatestOffsets,
    *,
    producers: Mapping[int, int],
    delete_retention_ms: int,
    now_ms: int,
) -> Iterator[Batch]:
    """The batches that take the place of these, which lie before latest.end_offset. `producers` is last_offsets(…).

    A batch beyond latest.end_offset, in the segment where memory ended, comes out as it went in.
    """
    for batch in batches:
        header = batch.header
        if header.is_control or header.base_offset >= latest.end_offset:
            yield batch
            continue
        cleaned = _clean_batch(batch, latest, now_ms + delete_retention_ms, now_ms)
        if cleaned is not None:
            yield cleaned
        elif _needs_header(header, latest.end_offset, producers):
            yield empty_batch(header)


def _clean_batch(batch: Batch, latest: LatestOffsets, new_horizon_ms: int, now_ms: int) -> Batch | None:
    """The batch with what survives of it: itself if nothing has to change, None if no record survives."""
    header = batch.header
    horizon_ms = header.delete_horizon_ms
    drops_tombstones = horizon_ms is not None and horizon_ms <= now_ms
    kept: set[int] = set()
    has_tombstone = loses_record = False
    for record in decode_records(batch.data):
        if _survives(record, latest, drops_tombstones):
            kept.add(record.offset)
            has_tombstone = has_tombstone or record.value is None
        else:
            loses_record = True
    if not kept:
        return None
    needs_horizon = has_tombstone and horizon_ms is None
    if not loses_record and not needs_horizon:
        return batch
    return filter_batch(batch, kept.__contains__, delete_horizon_ms=new_horizon_ms if needs_horizon else horizon_ms)


def _survives(record: Record, latest: LatestOffsets, drops_tombstones: bool) -> bool:
    if record.offset >= latest.end_offset:
        return True
    if record.key is None or not latest.is_latest(record.key, record.offset):
        return False
    return record.value is not None or not drops_tombstones


def _needs_header(header: BatchHeader, end_offset: int, producers: Mapping[int, int]) -> bool:
    """Its last batch lost, a producer would be refused its next one; the last offset lost, it might be given again."""
    is_last_of_producer = (
        header.producer_id != NO_PRODUCER_ID and producers.get(header.producer_id) == header.last_offset
    )
    return is_last_of_producer or header.next_offset == end_offset


def group(segments: Sequence[SegmentSummary], end_offset: int, segment_bytes: int) -> list[list[SegmentSummary]]:
    """Neighbours that together fit into one segment, in order: each group becomes one segment, named by its first."""
    groups: list[list[SegmentSummary]] = []
    size_bytes = 0
    next_offsets = [segment.base_offset for segment in segments[1:]] + [end_offset]
    for segment, next_offset in zip(segments, next_offsets):
        size_bytes += segment.size_bytes
        fits = size_bytes <= segment_bytes and bool(groups)
        if fits and next_offset - 1 - groups[-1][0].base_offset <= _LARGEST_OFFSET_DELTA:
            groups[-1].append(segment)
        else:
            groups.append([segment])
            size_bytes = segment.size_bytes
    return groups


def _digest(key: Buffer) -> bytes:
    return blake2b(key, digest_size=_DIGEST_BYTES).digest()
