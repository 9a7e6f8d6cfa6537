"""What is due on settled segments: retention, rolling, compaction, and indexes that a read found spoilt.

Decides which logs are looked at when. The rules are retention.py's and compaction.py's; every change is a chore of
background.py. Compaction does its long part beside the chores (cleaning.py): only the exchange of files is one.
"""

from functools import partial
from typing import Final, NamedTuple

from kohort.store import compaction
from kohort.store.compaction import Cleaning
from kohort.store.files.background import Background
from kohort.store.files.cleaning import Cleaned, CleaningStoppedError, LogCleaning, put_in_place
from kohort.store.files.disk import Disk
from kohort.store.files.index_repair import with_whole_index
from kohort.store.files.leftovers import remove_cleaned, remove_files
from kohort.store.files.log import FilesLog
from kohort.store.files.segment import SUFFIXES, Segment, Settled, segment_path
from kohort.store.files.segment_files import SegmentFiles
from kohort.store.files.workers import Workers
from kohort.store.retention import SegmentSummary, expired_segments, roll_after_ms

_LOGS_AT_ONCE: Final = 200
"""So many logs are looked at in one call: thousands take turns, and nobody who is served waits for that."""


class _Work(NamedTuple):
    """What is due on one log."""

    log: FilesLog
    settled: Settled
    """Without what expired."""
    expired: tuple[Segment, ...]
    spoilt: frozenset[int]
    rolls: bool


class Upkeep:
    def __init__(self, disk: Disk, workers: Workers, background: Background) -> None:
        self._disk = disk
        self._workers = workers
        self._background = background
        self._looked_at = 0
        self._is_working = False
        self._is_cleaning = False
        self._is_stopped = False

    def stop(self) -> None:
        """Nothing more is begun, and what can be left is left: the store is being closed."""
        self._is_stopped = True

    def look(self, now_ms: int) -> None:
        """Starts what is due on the logs whose turn it is."""
        logs = self._next_logs()
        due = [log for log in logs if _is_work_due(log, now_ms)]
        if due and not self._is_working:
            self._is_working = True
            self._background.add(partial(self._work, due, now_ms))
        for log in logs:
            if self._is_cleaning:
                break
            cleaning = _cleaning_due(log, now_ms)
            if cleaning is not None:
                self._clean(log, cleaning, now_ms)

    def _next_logs(self) -> list[FilesLog]:
        logs = list(self._background.logs.values())
        if self._looked_at >= len(logs):
            self._looked_at = 0
        turn = logs[self._looked_at : self._looked_at + _LOGS_AT_ONCE]
        self._looked_at += len(turn)
        return turn

    # Retention, rolling, repair

    def _work(self, logs: list[FilesLog], now_ms: int) -> None:
        if self._is_stopped:
            self._finish()
            return
        alive = [log for log in logs if log.number in self._background.logs]
        works = [_work_due(log, now_ms) for log in alive]
        for log, settled, expired, _, _ in works:
            if expired:
                start_offset = settled.segments[0].base_offset if settled.segments else settled.next_offset
                log.start_offset = max(log.start_offset, start_offset)

        def on_prepared(outcome: dict[int, Settled] | BaseException) -> None:
            if isinstance(outcome, BaseException):
                self._background.give_up(outcome, "roll a segment")
            else:
                self._background.commit(outcome, done, after=partial(self._remove_expired, works))

        def done(error: BaseException | None) -> None:
            if error is not None:
                self._background.give_up(error, "write the checkpoint")
                return
            for work in works:
                work.log.spoilt_indexes.difference_update(work.spoilt)
            self._finish()

        self._workers.settle(partial(self._prepare, works, now_ms), on_prepared)

    def _finish(self) -> None:
        self._is_working = False
        self._background.finish()

    def _prepare(self, works: list[_Work], now_ms: int) -> dict[int, Settled]:
        """Runs in the settling worker."""
        prepared: dict[int, Settled] = {}
        for log, settled, _, spoilt, rolls in works:
            segments = [
                with_whole_index(self._disk, log.directory, segment) if segment.base_offset in spoilt else segment
                for segment in settled.segments
            ]
            if rolls:
                # Its index is synced only now, and may have been lost in a crash since which nothing was settled.
                files = SegmentFiles(self._disk, log.directory)
                segments[-1] = files.close(with_whole_index(self._disk, log.directory, segments[-1]))
                segments.append(files.begin(settled.next_offset, now_ms))
            prepared[log.number] = settled._replace(segments=tuple(segments))
        return prepared

    def _remove_expired(self, works: list[_Work]) -> None:
        """Runs in the settling worker, when the checkpoint knows nothing of them any more."""
        for log, _, expired, _, _ in works:
            if expired:
                bases = [segment.base_offset for segment in expired]
                remove_files(
                    self._disk, [segment_path(log.directory, base, suffix) for base in bases for suffix in SUFFIXES]
                )
                self._disk.sync_directory(log.directory)

    # Compaction

    def _clean(self, log: FilesLog, cleaning: Cleaning, now_ms: int) -> None:
        self._is_cleaning = True

        def is_stopped() -> bool:
            return self._is_stopped or log.failure is not None

        run = LogCleaning(self._disk, log.directory, log.settled, log.config, is_stopped).run

        def on_cleaned(outcome: Cleaned | BaseException) -> None:
            if isinstance(outcome, Cleaned):
                self._background.add(partial(self._exchange, log, outcome))
                return
            self._background.add(partial(self._discard, log))
            if not isinstance(outcome, CleaningStoppedError | FileNotFoundError):
                self._background.report(outcome, f"compact {log.directory}")

        self._workers.read(partial(run, cleaning, now_ms), on_cleaned)

    def _exchange(self, log: FilesLog, cleaned: Cleaned) -> None:
        """The cleaned segments take the place of those they were made from, if those are still there."""
        settled = log.settled
        count = len(cleaned.replaced)
        if log.number not in self._background.logs or settled.segments[:count] != cleaned.replaced:
            self._discard(log)
            return

        def done(error: BaseException | None) -> None:
            log.release_reads()
            if error is not None:
                self._background.give_up(error, f"compact {log.directory}")
            else:
                self._end_cleaning()

        log.hold_reads()
        segments = (*cleaned.segments, *settled.segments[count:])
        change = settled._replace(clean_offset=cleaned.clean_offset, segments=segments)
        after = partial(put_in_place, self._disk, log.directory, cleaned)
        self._background.commit({log.number: change}, done, after=after)

    def _discard(self, log: FilesLog) -> None:
        def done(error: BaseException | None) -> None:
            if error is not None:
                self._background.give_up(error, f"compact {log.directory}")
            else:
                self._end_cleaning()

        self._workers.settle(partial(remove_cleaned, self._disk, log.directory), done)

    def _end_cleaning(self) -> None:
        self._is_cleaning = False
        self._background.finish()


def _is_work_due(log: FilesLog, now_ms: int) -> bool:
    return bool(log.spoilt_indexes) or _is_roll_due(log, now_ms) or _expired(log, now_ms) > 0


def _work_due(log: FilesLog, now_ms: int) -> _Work:
    expired = _expired(log, now_ms)
    settled = log.settled
    rest = settled._replace(segments=settled.segments[expired:])
    spoilt = frozenset(log.spoilt_indexes)
    return _Work(log, rest, settled.segments[:expired], spoilt, bool(rest.segments) and _is_roll_due(log, now_ms))


def _is_roll_due(log: FilesLog, now_ms: int) -> bool:
    """Only compaction cares whether the active segment of a log that nobody writes to is closed."""
    segments = log.settled.segments
    if not log.config.compact or not segments or not segments[-1].size:
        return False
    return now_ms - segments[-1].summary().first_timestamp > roll_after_ms(log.config)


def _expired(log: FilesLog, now_ms: int) -> int:
    """How many settled segments go, from the oldest on. What is not settled yet counts as one that stays."""
    settled = log.settled
    if not settled.segments:
        return 0
    summaries = [segment.summary() for segment in settled.segments]
    unsettled_bytes = log.tail.readable_bytes(settled.next_offset)
    if unsettled_bytes:
        summaries.append(SegmentSummary(settled.next_offset, unsettled_bytes, now_ms, now_ms))
    expired = expired_segments(summaries, start_offset=log.start_offset, config=log.config, now_ms=now_ms)
    return min(expired, len(settled.segments))


def _cleaning_due(log: FilesLog, now_ms: int) -> Cleaning | None:
    segments = log.settled.segments
    if not log.config.compact or len(segments) < 2:
        return None
    return compaction.due(
        [segment.summary() for segment in segments[:-1]],
        start_offset=log.start_offset,
        clean_offset=log.settled.clean_offset,
        end_offset=segments[-1].base_offset,
        config=log.config,
        now_ms=now_ms,
    )
