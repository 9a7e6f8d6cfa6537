"""Where the store does what blocks. The real one has threads, the simulated one a schedule made from a seed."""

from collections.abc import Callable
from typing import Protocol, TypeVar

T = TypeVar("T")


class Workers(Protocol):
    """Runs blocking work away from the caller and brings the outcome back to the caller's thread."""

    def write(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """For the WAL writer only: runs one after the other, in order."""

    def settle(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """For settling, and all else that changes what is settled: runs one after the other, beside the writer."""

    def read(self, work: Callable[[], T], done: Callable[[T | BaseException], None]) -> None:
        """For reads of segments, and for compaction: several at once, in any order, though some take long."""

    def soon(self, work: Callable[[], None]) -> None:
        """Runs on the caller's thread when it has taken what is waiting: the moment a group commit gathers for."""

    def close(self) -> None:
        """Runs everything it was given to its end, and what follows from that, and brings all outcomes back.

        Blocking, on the caller's thread. Then nothing more is run or brought back.
        """
