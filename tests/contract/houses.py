"""Where a store under contract lives: what it takes to open each kind, to let it work, and to open it again."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Protocol

from kohort.store.files.os_disk import OsDisk
from kohort.store.files.settings import FilesSettings
from kohort.store.files.store import FilesStore
from kohort.store.files.thread_workers import ThreadWorkers
from kohort.store.log import Store, StoreFailedError
from kohort.store.memory.store import MemoryStore
from tests.simulation.disk import Machine, SimulatedDisk
from tests.simulation.workers import SimulatedWorkers

PATIENCE = 100_000
PATIENCE_SECONDS = 30
NOW_MS = 1_000
SMALL = FilesSettings(wal_segment_bytes=64 << 10, wal_segments=3, cached_segments=1)
"""So little memory that every test of some length leaves it."""


class House(Protocol):
    """One store, opened, and the thread it runs on."""

    store: Store

    def work(self, until: Callable[[], bool]) -> None:
        """Lets the store work until this holds; fails the test when it never does."""

    def rest(self) -> None:
        """Lets the store work until nothing is left to do."""

    def reopen(self) -> None:
        """Closes the store and opens it again, as a restart does."""

    def close(self) -> None: ...


class MemoryHouse:
    def __init__(self) -> None:
        self._waiting: deque[Callable[[], None]] = deque()
        self.store: Store = MemoryStore(self._waiting.append)
        self.store.open()

    def work(self, until: Callable[[], bool]) -> None:
        for _ in range(PATIENCE):
            if until():
                return
            assert self._waiting, "the store has nothing more to do, and what the test waits for has not happened"
            self._waiting.popleft()()
        raise AssertionError("what the test waits for does not happen")

    def rest(self) -> None:
        self.work(lambda: not self._waiting)

    def reopen(self) -> None:
        self.store.close()
        self.store.open()

    def close(self) -> None:
        self.store.close()


class SimulatedHouse:
    """The embedded store on a simulated machine that does not fail."""

    def __init__(self) -> None:
        self._machine = Machine(Random(0))
        self._workers = SimulatedWorkers(Random(0), self._machine)
        self.store: Store = self._opened()

    def _opened(self) -> Store:
        self._workers = SimulatedWorkers(Random(0), self._machine)
        store = FilesStore(SimulatedDisk(self._machine), self._workers, SMALL, lambda: NOW_MS, fail)
        store.open()
        return store

    def work(self, until: Callable[[], bool]) -> None:
        for _ in range(PATIENCE):
            if until():
                return
            assert not self._workers.is_idle(), "the store rests, and what the test waits for has not happened"
            self._workers.step()
        raise AssertionError("what the test waits for does not happen")

    def rest(self) -> None:
        self.work(self._workers.is_idle)

    def reopen(self) -> None:
        self.store.close()
        self.store = self._opened()

    def close(self) -> None:
        self.store.close()


class FilesHouse:
    """The embedded store on real files, with real threads."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._loop = asyncio.new_event_loop()
        self.store: Store = self._opened()

    def _opened(self) -> Store:
        store = FilesStore(OsDisk(self._directory), ThreadWorkers(self._loop), SMALL, lambda: NOW_MS, fail)
        store.open()
        return store

    def work(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not until():
            assert time.monotonic() < deadline, "what the test waits for does not happen"
            self._loop.run_until_complete(asyncio.sleep(0.0005))

    def rest(self) -> None:
        """Threads do not say when they have nothing to do; what they do here takes less."""
        self._loop.run_until_complete(asyncio.sleep(0.1))

    def reopen(self) -> None:
        self.store.close()
        self.store = self._opened()

    def close(self) -> None:
        self.store.close()
        self._loop.close()


def fail(error: StoreFailedError) -> None:
    raise AssertionError(f"the store failed: {error}")
