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


class _Lane:
    """Threads that do one kind of work, started when there is some."""

    def __init__(self, name: str, threads: int, report: Callable[[Callable[[], None]], None]) -> None:
        self._name = name
        self._count = threads
        self._report = report
        self._threads: list[Thread] = []
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()

    def give(self, job: _Job) -> None:
        if len(self._threads) < self._count:
            thread = Thread(target=self._run, name=self._name, daemon=True)
            thread.start()
            self._threads.append(thread)
        self._jobs.put(job)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            self._report(job())

    def close(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()


class ThreadWorkers:
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_INTERVAL_SECONDS))
        self._loop = loop
        self._outcomes: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._is_waking = False
        self._unfinished = 0
        self._soon: deque[Callable[[], None]] = deque()
        self._is_soon = False
        self._writer = _Lane("kohort-wal", 1, self._report)
        self._settler = _Lane("kohort-settle", 1, self._report)
        self._reader = _Lane("kohort-read", _READERS, self._report)

    def _report(self, outcome: Callable[[], None]) -> None:
        """Called by a thread: has the outcome brought to the loop, with one call for all that are ready."""
        self._outcomes.put(outcome)
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

    def _give(self, lane: _Lane, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        def job() -> Callable[[], None]:
            try:
                outcome: T | BaseException = work()
            except BaseException as error:
                outcome = error
            return lambda: done(outcome)

        self._unfinished += 1
        lane.give(job)

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
        for lane in (self._writer, self._settler, self._reader):
            lane.close()
