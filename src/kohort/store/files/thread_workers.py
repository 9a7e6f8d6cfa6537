"""Workers that are threads beside an event loop. They decide who runs what; outcomes come back on the loop's thread."""

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final, TypeVar

T = TypeVar("T")
_READERS: Final = 3
"""One of them may be compacting for long."""
_SWITCH_INTERVAL_SECONDS: Final = 0.0005
"""How long a thread that computes keeps the loop's thread from the interpreter: a tenth of Python's default."""

_Job = Callable[[], Callable[[], None]]
"""Does the work; what is called on the loop's thread is what it returns."""


class ThreadWorkers:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL_SECONDS))
        self._loop = loop
        self._outcomes: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._is_waking = False
        self._unfinished = 0
        self._soon: deque[Callable[[], None]] = deque()
        self._is_soon = False
        self._threads: list[tuple[Thread, SimpleQueue[_Job | None]]] = []
        self._writer = self._start("kohort-wal", 1)
        self._settler = self._start("kohort-settle", 1)
        self._reader = self._start("kohort-read", _READERS)

    def _start(self, name: str, count: int) -> "SimpleQueue[_Job | None]":
        jobs: SimpleQueue[_Job | None] = SimpleQueue()
        for _ in range(count):
            thread = Thread(target=self._run, args=(jobs,), name=name, daemon=True)
            thread.start()
            self._threads.append((thread, jobs))
        return jobs

    def _run(self, jobs: "SimpleQueue[_Job | None]") -> None:
        while (job := jobs.get()) is not None:
            self._outcomes.put(job())
            if not self._is_waking:
                self._is_waking = True
                with suppress(RuntimeError):  # the loop is closed: close() collects what is left
                    self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._is_waking = False
        with suppress(Empty):
            while True:
                self._finish(self._outcomes.get_nowait())

    def _finish(self, outcome: Callable[[], None]) -> None:
        self._unfinished -= 1
        outcome()

    def _give(
        self, jobs: "SimpleQueue[_Job | None]", work: Callable[[], T], done: Callable[[T | BaseException], None]
    ) -> None:
        def job() -> Callable[[], None]:
            try:
                outcome: T | BaseException = work()
            except BaseException as error:
                outcome = error
            return lambda: done(outcome)

        self._unfinished += 1
        jobs.put(job)

    def write(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._give(self._writer, work, done)

    def settle(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._give(self._settler, work, done)

    def read(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        self._give(self._reader, work, done)

    def soon(self, work: Callable[[], None]) -> None:
        self._soon.append(work)
        if not self._is_soon:
            self._is_soon = True
            self._loop.call_soon(self._run_soon)

    def _run_soon(self) -> None:
        self._is_soon = False
        for _ in range(len(self._soon)):
            self._soon.popleft()()

    def close(self) -> None:
        while self._soon or self._unfinished:
            self._run_soon()
            if self._unfinished and not self._soon:
                self._finish(self._outcomes.get())
        for _, jobs in self._threads:
            jobs.put(None)
        for thread, _ in self._threads:
            thread.join()
