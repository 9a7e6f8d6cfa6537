"""A limit on bytes that all connections share, and the line of those that wait for it to be free again.

Whoever finds the budget spent joins the line and stops reading. As bytes come back the first in the line is called; it
takes what it needs for one request, goes to the end of the line if it wants more, and calls the next. A taker is never
refused: the check comes before, so that one request may overshoot, and one larger than the whole budget gets its turn.
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

    @property
    def is_open(self) -> bool:
        """Whether one who is not in the line may take."""
        return self.used < self.limit and not self._line

    def take(self, size: int) -> None:
        self.used += size

    def give_back(self, size: int) -> None:
        self.used -= size
        if self._line:
            self.call_next()

    def call_next(self) -> None:
        """Calls the first in the line, if there is room."""
        if self._line and self.used < self.limit:
            self._line.popleft()()

    def wait(self, proceed: Callable[[], None]) -> None:
        """Joins the line, once. What is called must do no more than schedule a turn, and call the next after it."""
        if proceed not in self._line:
            self._line.append(proceed)

    def leave(self, proceed: Callable[[], None]) -> None:
        """Leaves the line; if it was called already, the next one is in its place."""
        if proceed in self._line:
            self._line.remove(proceed)
        self.call_next()
