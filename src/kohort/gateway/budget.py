"""A limit on bytes that all connections share, and the line of those that wait for it to be free again.

Whoever finds the budget spent joins the line and stops reading. When half of it is free again all in the line are
called, in their order, and those who find it spent once more join again. A taker is never refused: the check comes
before, so that one request may overshoot, and a request larger than the whole budget still gets its turn.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

_UNLIMITED: Final = 1 << 63


class Budget:
    __slots__ = ("_line", "limit", "used")

    def __init__(self, limit: int) -> None:
        """A negative limit is none."""
        self.limit = limit if limit >= 0 else _UNLIMITED
        self.used = 0
        self._line: deque[Callable[[], None]] = deque()

    @property
    def is_spent(self) -> bool:
        return self.used >= self.limit

    def take(self, size: int) -> None:
        self.used += size

    def give_back(self, size: int) -> None:
        self.used -= size
        if self._line and self.used <= self.limit // 2:
            line, self._line = self._line, deque()
            for proceed in line:
                proceed()

    def wait(self, proceed: Callable[[], None]) -> None:
        """Calls it, once, when there is room; it must do no more than to schedule what follows."""
        if proceed not in self._line:
            self._line.append(proceed)

    def leave(self, proceed: Callable[[], None]) -> None:
        """Takes it out of the line, if it is in it."""
        if proceed in self._line:
            self._line.remove(proceed)
