"""What was made of an answer, kept for when the broker gives the very same answer again.

An answer is a value that is never changed, so it is known by its identity: it is kept as well, so that no other ever
has that. Decides nothing.
"""

from collections.abc import Callable
from typing import Final, Generic, TypeVar

Answer = TypeVar("Answer")
Made = TypeVar("Made")

_MOST_ANSWERS: Final = 2048


class Recurring(Generic[Answer, Made]):
    __slots__ = ("_is_small", "_known", "_make")

    def __init__(self, make: Callable[[Answer], Made], is_small: Callable[[Made], bool]) -> None:
        """What is not small is made each time: clients decide how large an answer is."""
        self._make: Final = make
        self._is_small: Final = is_small
        self._known: Final[dict[int, tuple[Answer, Made]]] = {}

    def made_of(self, answer: Answer) -> Made:
        known = self._known.get(id(answer))
        if known is not None:
            return known[1]
        made = self._make(answer)
        if self._is_small(made):
            if len(self._known) >= _MOST_ANSWERS:
                self._known.clear()
            self._known[id(answer)] = (answer, made)
        return made
