"""The store's Protocol over plain lists. It keeps every promise but to outlive the process.

Decides nothing that store/log.py does not say. Appends are done in order, on the caller's thread, when `soon` runs.
Closing and opening it again keeps the logs, as a restart of a store on a disk would. Next hop: memory/log.py.
"""

from collections.abc import Callable, Iterable
from functools import partial

from kohort.store.log import AppendDone, LogConfig, LogId, StoreError
from kohort.store.memory.log import MemoryLog

Soon = Callable[[Callable[[], None]], None]
"""Runs something on the caller's thread a little later, in order: an event loop's call_soon."""


class MemoryStore:
    """All logs of a broker, in memory."""

    def __init__(self, soon: Soon) -> None:
        self._soon = soon
        self._logs: dict[LogId, MemoryLog] = {}
        self._epoch = 0
        self._is_open = False

    def open(self, epoch: int | None = None) -> int:
        if self._is_open:
            raise StoreError("This store is open already: close it before it is opened again.")
        claimed = self._epoch + 1 if epoch is None else epoch
        if claimed <= self._epoch:
            raise StoreError(f"Epoch {claimed} is refused: the store was opened with epoch {self._epoch} before.")
        self._epoch = claimed
        self._is_open = True
        self._logs = {log_id: log.reopened() for log_id, log in self._logs.items()}
        return claimed

    def logs(self) -> Iterable[LogId]:
        return tuple(self._logs)

    def log(self, log_id: LogId, config: LogConfig) -> MemoryLog:
        log = self._logs.get(log_id)
        if log is None:
            log = self._logs[log_id] = MemoryLog(log_id, config, self._soon)
        else:
            log.configure(config)
        return log

    def delete(self, log_id: LogId, done: AppendDone) -> None:
        log = self._logs.pop(log_id, None)
        if log is not None:
            log.close(StoreError(f"{log_id.topic}-{log_id.partition} was deleted."))
        self._soon(partial(done, None))

    def maintain(self, now_ms: int) -> None:
        for log in self._logs.values():
            self._soon(partial(log.maintain, now_ms))

    def close(self) -> None:
        for log in self._logs.values():
            log.flush()
            log.close(StoreError("The store was closed."))
        self._is_open = False
