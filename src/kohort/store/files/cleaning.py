"""Compaction of one log's closed segments: reads them, writes cleaned ones beside them, and puts those in their place.

Decides only how files are read and written; what survives is compaction.py's to say. The long part runs beside
everything else in a reading worker, on segments that nobody changes; if one is deleted meanwhile, the work was for
nothing. A crash leaves either all of the old files, or cleaned ones that the next start puts in place (leftovers.py).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kohort.store import compaction
from kohort.store.compaction import Cleaning, LatestOffsets
from kohort.store.files.disk import Disk
from kohort.store.files.leftovers import cleaned_ending, remove_files
from kohort.store.files.segment import LOG_SUFFIX, SUFFIXES, Segment, Settled, scan, segment_path
from kohort.store.files.segment_files import Rows, SegmentFiles
from kohort.store.log import LogConfig
from kohort.wire.record_batch import Batch

_WRITTEN_AT_ONCE: Final = 1 << 20


class CleaningStoppedError(Exception):
    """The store is being closed, or the log was deleted: nobody waits for what would come of it."""


class Cleaned(NamedTuple):
    """What a cleaning made."""

    replaced: tuple[Segment, ...]
    segments: tuple[Segment, ...]
    """What takes their place, in files with an ending."""
    clean_offset: int


class LogCleaning:
    """One cleaning of one log."""

    def __init__(
        self, disk: Disk, directory: str, settled: Settled, config: LogConfig, is_stopped: Callable[[], bool]
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._settled = settled
        self._config = config
        self._is_stopped = is_stopped

    def run(self, cleaning: Cleaning, now_ms: int) -> Cleaned:
        """Runs in a reading worker."""
        closed = self._settled.segments[:-1]
        latest = compaction.latest_offsets(self._batches(closed, cleaning.dirty_offset), cleaning)
        touched = tuple(segment for segment in closed if segment.base_offset < latest.end_offset)
        summaries = [segment.summary() for segment in touched]
        segments: list[Segment] = []
        done = 0
        for members in compaction.group(summaries, cleaning.end_offset, self._config.segment_bytes):
            cleaned = self._clean(touched[done : done + len(members)], latest, now_ms)
            done += len(members)
            if cleaned.size:
                segments.append(cleaned)
            else:
                ending = cleaned_ending(cleaned.generation)
                paths = (segment_path(self._directory, cleaned.base_offset, suffix) + ending for suffix in SUFFIXES)
                remove_files(self._disk, paths)
        return Cleaned(touched, tuple(segments), latest.end_offset)

    def _clean(self, members: Sequence[Segment], latest: LatestOffsets, now_ms: int) -> Segment:
        """What is left of these segments, as one."""
        generation = 1 + max(segment.generation for segment in members)
        files = SegmentFiles(self._disk, self._directory, cleaned_ending(generation))
        segment = files.begin(members[0].base_offset, members[-1].written_ms)._replace(generation=generation)
        survivors = compaction.clean(
            self._batches(members, members[0].base_offset),
            latest,
            producers=compaction.last_offsets(self._settled.producers),
            delete_retention_ms=self._config.delete_retention_ms,
            now_ms=now_ms,
        )
        for batches in _pieces(survivors):
            segment = files.append(segment, _as_rows(batches), 0, len(batches), self._config.index_interval_bytes)
        return files.close(segment)

    def _batches(self, segments: Iterable[Segment], from_offset: int) -> Iterator[Batch]:
        for segment in segments:
            if segment.next_offset <= from_offset:
                continue
            path = segment_path(self._directory, segment.base_offset, LOG_SUFFIX)
            file = self._disk.open(path, read_only=True)
            try:
                for found in scan(file, 0, segment.size):
                    if self._is_stopped():
                        raise CleaningStoppedError
                    if found.header.next_offset > from_offset:
                        yield Batch(found.header, file.pread(found.header.size, found.position))
            finally:
                file.close()


def _pieces(batches: Iterable[Batch]) -> Iterator[list[Batch]]:
    """Of about as many bytes as are written at once."""
    piece: list[Batch] = []
    size = 0
    for batch in batches:
        piece.append(batch)
        size += len(batch.data)
        if size >= _WRITTEN_AT_ONCE:
            yield piece
            piece, size = [], 0
    if piece:
        yield piece


def _as_rows(batches: Sequence[Batch]) -> Rows:
    return Rows(
        [batch.header.next_offset for batch in batches],
        [len(batch.data) for batch in batches],
        [batch.header.max_timestamp for batch in batches],
        lambda first, last: [batch.data for batch in batches[first:last]],
    )


def put_in_place(disk: Disk, directory: str, cleaned: Cleaned) -> None:
    """The checkpoint knows of the cleaned segments already; now their files take the names of the old ones."""
    for segment in cleaned.segments:
        for suffix in SUFFIXES:
            path = segment_path(directory, segment.base_offset, suffix)
            disk.rename(path + cleaned_ending(segment.generation), path)
    kept = {segment.base_offset for segment in cleaned.segments}
    merged = [segment.base_offset for segment in cleaned.replaced if segment.base_offset not in kept]
    remove_files(disk, [segment_path(directory, base, suffix) for base in merged for suffix in SUFFIXES])
    disk.sync_directory(directory)
