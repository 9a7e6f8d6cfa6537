"""What happens behind the serving thread's back: settling, and every other change of what is settled, one at a time.

A chore is such a change. It prepares files, then the checkpoint says how things are now, then what nobody needs any
more goes: in this order, so that a crash between any two steps leaves a store that recovers. Chores never overlap, so
each may count on what it read. Decides their order, and what follows when one fails. Next hop: settle.py, upkeep.py.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice
from typing import Final, NamedTuple

from kohort.store.files.checkpoint import Checkpoint, CheckpointFile, LogEntry
from kohort.store.files.disk import Disk
from kohort.store.files.log import FilesLog
from kohort.store.files.segment import Settled
from kohort.store.files.settle import settle_part
from kohort.store.files.tail import TailPart, WalSegment
from kohort.store.files.wal import Wal, as_store_error
from kohort.store.files.workers import Workers
from kohort.store.log import LogConfig, StoreFailedError, StoreFullError

_LOGS_AT_ONCE: Final = 64
"""So many logs are settled in one go: between two goes, the other thread has its turn."""

Chore = Callable[[], None]
"""Begins a chore; it ends with finish or give_up. One that was given up begins anew."""


class Settling(NamedTuple):
    """One log's share of a WAL segment."""

    log: FilesLog
    part: TailPart
    settled: Settled
    config: LogConfig
    is_first: bool


class Background:
    def __init__(
        self, disk: Disk, workers: Workers, checkpoints: CheckpointFile, wal: Wal, now_ms: Callable[[], int]
    ) -> None:
        self._disk = disk
        self._workers = workers
        self._checkpoints = checkpoints
        self._wal = wal
        self._now_ms = now_ms
        self.logs: dict[int, FilesLog] = {}
        """Every log there is, by its number."""
        self.next_log_number = 1
        self.settled_sequence = 0
        self._chain = 0
        self._chores: deque[Chore] = deque()
        self._is_busy = False
        self.is_stalled = False
        """The first chore was given up, for lack of space: it is tried again when somebody calls retry."""

    def start(self, checkpoint: Checkpoint, logs: dict[int, FilesLog]) -> None:
        self.logs = logs
        self.next_log_number = checkpoint.next_log_number
        self.settled_sequence = checkpoint.settled_sequence
        self._chain = checkpoint.chain

    @property
    def is_idle(self) -> bool:
        return not self._chores

    def add(self, chore: Chore) -> None:
        self._chores.append(chore)
        self._begin()

    def retry(self) -> None:
        """Tries again what failed for lack of space."""
        self.is_stalled = False
        self._begin()

    def _begin(self) -> None:
        if self._chores and not self._is_busy and not self.is_stalled:
            self._is_busy = True
            self._chores[0]()

    def finish(self) -> None:
        """The chore that was begun is done."""
        self._chores.popleft()
        self._is_busy = False
        self._begin()

    def give_up(self, error: BaseException, what: str) -> None:
        """The chore that was begun failed; what it did so far is done again when it is tried again."""
        self._is_busy = False
        self.is_stalled = True
        self._wal.on_settling_failed(as_store_error(error, what))

    def report(self, error: BaseException, what: str) -> None:
        """Something beside the chores failed. Without space it is tried again some other time."""
        failure = as_store_error(error, what)
        if not isinstance(failure, StoreFullError):
            self._wal.on_settling_failed(failure)

    # Settling

    def settle(self, segment: WalSegment, then: Callable[[WalSegment], None]) -> None:
        """Everything in the segment goes where it belongs."""
        self.add(lambda: self._settle(segment, then))

    def _settle(self, segment: WalSegment, then: Callable[[WalSegment], None]) -> None:
        settlings = iter(
            [
                Settling(log, part, log.settled, log.config, not log.is_settled_since_open)
                for part in segment.parts
                if (log := self.logs.get(part.log_number)) is not None
            ]
        )
        changes: dict[int, Settled] = {}

        def go_on(outcome: dict[int, Settled] | BaseException) -> None:
            if isinstance(outcome, BaseException):
                self.give_up(outcome, "settle the write-ahead log")
                return
            changes.update(outcome)
            some = list(islice(settlings, _LOGS_AT_ONCE))
            if some:
                self._workers.settle(partial(self._settle_some, some), go_on)
            else:
                self._settled(segment, changes, then)

        go_on({})

    def _settle_some(self, some: Iterable[Settling]) -> dict[int, Settled]:
        """Runs in the settling worker."""
        return {
            log.number: settle_part(self._disk, log.id, settled, part, config, self._now_ms(), is_first=is_first)
            for log, part, settled, config, is_first in some
        }

    def _settled(self, segment: WalSegment, changes: dict[int, Settled], then: Callable[[WalSegment], None]) -> None:
        before = (self.settled_sequence, self._chain)
        self.settled_sequence, self._chain = segment.sequence, segment.chain

        def done(error: BaseException | None) -> None:
            if error is not None:
                self.settled_sequence, self._chain = before
                self.give_up(error, "write the checkpoint")
                return
            for number in changes:
                if number in self.logs:
                    self.logs[number].is_settled_since_open = True
            then(segment)
            self.finish()

        self.commit(changes, done)

    # Changes of what is settled

    def commit(
        self,
        changes: Mapping[int, Settled],
        done: Callable[[BaseException | None], None],
        after: Callable[[], None] | None = None,
    ) -> None:
        """Makes these changes true: in the checkpoint, then on the disk by `after`, then in memory."""
        checkpoint = self.checkpoint(changes, is_clean=False)

        def work() -> None:
            self._checkpoints.write(checkpoint)
            if after is not None:
                try:
                    after()
                except OSError as error:
                    raise StoreFailedError(
                        f"The disk failed to exchange files: {error}. Restart the broker."
                    ) from error

        def on_written(outcome: BaseException | None) -> None:
            if outcome is None:
                for entry in checkpoint.logs:
                    log = self.logs.get(entry.number)
                    if log is not None:
                        log.tail.is_recorded = True
                        log.settled = entry.settled
            done(outcome)

        self._workers.settle(work, on_written)

    def checkpoint(self, changes: Mapping[int, Settled], is_clean: bool) -> Checkpoint:
        entries = tuple(
            LogEntry(number, log.id, log.start_offset, changes.get(number, log.settled))
            for number, log in self.logs.items()
        )
        return Checkpoint(self.settled_sequence, self._chain, self.next_log_number, is_clean, entries)
