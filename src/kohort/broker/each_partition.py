"""Requests that speak of several partitions, each of which answers in its own time.

Decides only when all of them have: then the one answer is given, in the order of the request.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

from kohort.carrier.contract import Pending


class _Topic(Protocol):
    @property
    def partitions(self) -> Sequence[Any]: ...


Topic = TypeVar("Topic", bound=_Topic)
Outcome = TypeVar("Outcome")


class _InProgress:
    """An answer that nobody can take back or speed up: it comes when the store is done."""

    __slots__ = ()

    def forget(self) -> None:
        """What is under way is done whether or not anybody is left to hear of it."""

    def hurry(self) -> None:
        """It is on its way."""


IN_PROGRESS: Final[Pending] = _InProgress()


def ask_each_partition(
    topics: Sequence[Topic],
    ask: Callable[[Topic, Any, Callable[[Outcome], None]], object],
    answer: Callable[[list[tuple[Topic, tuple[Outcome, ...]]]], None],
) -> Pending | None:
    """Asks for each partition of each topic, and answers with all outcomes when the last is there.

    `ask` calls what it is given once, perhaps before it returns. None when the answer has been given.
    """
    places = [(topic, partition) for topic in topics for partition in topic.partitions]
    outcomes: list[Any] = [None] * len(places)
    missing = len(places)

    def put(place: int) -> Callable[[Outcome], None]:
        def take(outcome: Outcome) -> None:
            nonlocal missing
            outcomes[place] = outcome
            missing -= 1
            if not missing:
                finish()

        return take

    def finish() -> None:
        remaining = iter(outcomes)
        answer([(topic, tuple(next(remaining) for _ in topic.partitions)) for topic in topics])

    if not places:
        finish()
    for place, (topic, partition) in enumerate(places):
        ask(topic, partition, put(place))
    return IN_PROGRESS if missing else None
