"""Where a store under contract lives: what it takes to open each kind, to let it work, and to open it again."""

from collections import deque
from collections.abc import Callable
from typing import Protocol

from kohort.store.log import Store
from kohort.store.memory.store import MemoryStore

PATIENCE = 100_000


class House(Protocol):
    """One store and the thread it runs on."""

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
