"""The embedded store: opens, recovers and closes the data directory, and knows its logs.

Decides who may open it (one process at a time, each with a higher epoch) and when memory is taken and given back.
Next hop: log.py for one log, wal.py for appends, background.py for what is settled.
"""

import json
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from kohort.store.files.aligned_memory import MemoryPool
from kohort.store.files.background import Background
from kohort.store.files.checkpoint import CheckpointFile
from kohort.store.files.disk import Disk
from kohort.store.files.frames import EntryKind
from kohort.store.files.leftovers import remove_log_directory
from kohort.store.files.log import FilesLog
from kohort.store.files.recovery import Recovery
from kohort.store.files.segment import Settled
from kohort.store.files.settings import FilesSettings
from kohort.store.files.tail import Tail, WalSegment
from kohort.store.files.upkeep import Upkeep
from kohort.store.files.wal import WAL_DIRECTORY, Wal
from kohort.store.files.workers import Workers
from kohort.store.log import AppendDone, LogConfig, LogId, OnFailure, StoreError, StoreFailedError

_LOCK_PATH: Final = "lock"
_META_PATH: Final = "meta.json"
_FORMAT: Final = 1


class FilesStore:
    """store/log.py says what its verbs promise."""

    def __init__(
        self,
        disk: Disk,
        workers: Workers,
        settings: FilesSettings,
        now_ms: Callable[[], int],
        on_failure: OnFailure,
    ) -> None:
        self._disk = disk
        self._workers = workers
        self._settings = settings
        self._now_ms = now_ms
        self._on_failure = on_failure
        self._failure: StoreFailedError | None = None
        self._images = MemoryPool(settings.wal_segments * settings.wal_segment_bytes)
        self._read_memory = MemoryPool(settings.wal_segment_bytes)
        self._cached: deque[WalSegment] = deque()
        """Settled segments whose memory still answers reads, oldest first."""
        self._unsettled = 0
        self._logs: dict[LogId, FilesLog] = {}
        self._doomed: list[str] = []
        """Directories of deleted logs that are still to be removed."""
        self._checkpoints = CheckpointFile(disk)
        self._wal = Wal(disk, workers, settings, self._images, now_ms, self._on_sealed, self._fail)
        self._background = Background(disk, workers, self._checkpoints, self._wal, now_ms)
        self._upkeep = Upkeep(disk, workers, self._background)

    def open(self, epoch: int | None = None) -> int:
        try:
            self._disk.lock(_LOCK_PATH)
        except BlockingIOError as error:
            raise StoreError(f"The data directory is in use: {error.strerror}") from error
        try:
            self._disk.make_directory(WAL_DIRECTORY)
            claimed = self._claim(epoch)
            recovered = Recovery(self._disk, self._checkpoints, self._now_ms()).run()
            self._wal.start(recovered.settled_sequence + 1, recovered.chain)
        except OSError as error:
            self._disk.unlock()
            raise StoreError(f"The data directory cannot be opened: {error}") from error
        except StoreError:
            self._disk.unlock()
            raise
        for number, log_id, start_offset, settled in recovered.logs:
            tail = Tail(number, log_id, max(settled.next_offset, start_offset), is_recorded=True)
            self._logs[log_id] = self._make_log(tail, settled, start_offset)
        self._background.start(recovered, {log.number: log for log in self._logs.values()})
        return claimed

    def _claim(self, epoch: int | None) -> int:
        """Makes the epoch durable, so that nobody opens with it again, and with it the names beside it."""
        last = self._last_epoch()
        claimed = last + 1 if epoch is None else epoch
        if claimed <= last:
            raise StoreError(f"Epoch {claimed} is refused: the store was opened with epoch {last} before.")
        new_path = f"{_META_PATH}.new"
        file = self._disk.open(new_path, create=True)
        try:
            file.truncate(0)
            file.write((json.dumps({"format": _FORMAT, "epoch": claimed}).encode(),))
            file.sync()
        finally:
            file.close()
        self._disk.rename(new_path, _META_PATH)
        self._disk.sync_directory("")
        return claimed

    def _last_epoch(self) -> int:
        try:
            file = self._disk.open(_META_PATH, read_only=True)
        except FileNotFoundError:
            return 0
        try:
            meta = json.loads(file.pread(file.size, 0))
        except ValueError as error:
            raise StoreError(f"{_META_PATH} is damaged: {error}") from error
        finally:
            file.close()
        if meta["format"] != _FORMAT:
            raise StoreError(f"The data directory has format {meta['format']}; this version reads {_FORMAT}.")
        return int(meta["epoch"])

    def _make_log(self, tail: Tail, settled: Settled, start_offset: int) -> FilesLog:
        return FilesLog(tail, settled, start_offset, self._wal, self._disk, self._workers, self._read_memory)

    def logs(self) -> Iterable[LogId]:
        return tuple(self._logs)

    def log(self, log_id: LogId, config: LogConfig) -> FilesLog:
        log = self._logs.get(log_id)
        if log is None:
            number = self._background.next_log_number
            self._background.next_log_number += 1
            log = self._make_log(Tail(number, log_id, 0, is_recorded=False), Settled(), 0)
            self._logs[log_id] = self._background.logs[number] = log
        log.configure(config)
        return log

    def delete(self, log_id: LogId, done: AppendDone) -> None:
        log = self._logs.pop(log_id, None)
        if log is None:
            self._workers.soon(partial(done, self._failure))
            return
        del self._background.logs[log.number]
        log.failure = StoreError(f"{log_id.topic}-{log_id.partition} was deleted.")
        self._wal.abandon(log.tail, log.failure)

        def on_noted(error: StoreError | None) -> None:
            if error is None:
                self._bury(log.directory)
            done(error)

        self._wal.note(log.tail, EntryKind.DELETED, b"", on_noted)

    def _bury(self, directory: str) -> None:
        """Has the directory removed, once the checkpoint does not know its log any more."""
        self._doomed.append(directory)
        self._background.add(self._remove_doomed)

    def _remove_doomed(self) -> None:
        """All of them at once: the chores of the others find nothing left to do."""
        directories = tuple(self._doomed)
        if not directories:
            self._background.finish()
            return

        def remove() -> None:
            for directory in directories:
                remove_log_directory(self._disk, directory)

        def done(error: BaseException | None) -> None:
            if error is not None:
                self._background.give_up(error, "remove deleted partitions")
                return
            del self._doomed[: len(directories)]
            self._background.finish()

        self._background.commit({}, done, after=remove)

    def maintain(self, now_ms: int) -> None:
        if self._failure is not None:
            return
        self._background.retry()
        self._upkeep.look(now_ms)
        begun_ms = self._wal.begun_ms
        if begun_ms is not None and now_ms - begun_ms >= self._settings.settle_after_ms:
            self._wal.seal()
        if now_ms - self._wal.last_append_ms >= self._settings.release_after_ms:
            self._shrink_cache(0)
            self._images.release()
            self._read_memory.release()

    def close(self) -> None:
        self._upkeep.stop()
        self._wal.seal()
        self._workers.close()
        if self._failure is None and self._background.is_idle:
            self._checkpoints.write(self._background.checkpoint({}, is_clean=True))
        self._wal.close()
        for log in self._logs.values():
            log.failure = log.failure or StoreError("The store was closed.")
        self._disk.unlock()

    def _on_sealed(self, segment: WalSegment) -> None:
        self._unsettled += 1
        self._shrink_cache(self._settings.wal_segments - self._unsettled)
        self._background.settle(segment, self._on_settled)

    def _on_settled(self, segment: WalSegment) -> None:
        self._unsettled -= 1
        self._cached.append(segment)
        self._shrink_cache(self._settings.cached_segments)
        self._wal.on_settled(segment)

    def _shrink_cache(self, keep: int) -> None:
        """Gives the memory of the oldest settled segments back, until so many are left."""
        while len(self._cached) > max(keep, 0):
            segment = self._cached.popleft()
            for part in segment.parts:
                log = self._background.logs.get(part.log_number)
                if log is not None:
                    log.tail.forget(part)
            self._images.give_back(segment.memory)

    def _fail(self, error: StoreFailedError) -> None:
        self._failure = error
        for log in self._logs.values():
            log.failure = log.failure or error
        self._on_failure(error)
