"""A consumer in a group, whatever its client: what it owns, what it read, how often that changed.

Decides nothing about what is right: the tests look at several of them at once. Next hop: a client's own file here.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Self, TypeVar

Partition = tuple[str, int]

Answer = TypeVar("Answer")

ANSWER_S = 60.0


class Wish(NamedTuple):
    """How a member is to be. What is not said is as the client has it by default."""

    bootstrap: str
    group: str
    strategy: str
    """A strategy of the classic protocol, or "consumer": the protocol of KIP-848."""
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    """Instead of topics: a regular expression for whole names, without "^" and "$"."""
    instance_id: str | None = None
    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    """How soon a member of the classic protocol hears of a rebalance, where a broker tells only who asks."""
    metadata_age_ms: int | None = None
    """How soon the client looks for new topics and partitions."""

    @property
    def is_classic(self) -> bool:
        return self.strategy != "consumer"


class Member(ABC):
    """Consumes from the beginning until it is closed; what it read is committed before a partition goes to another."""

    def __init__(self, wish: Wish) -> None:
        self.wish = wish
        self.values: list[bytes] = []
        self.errors: list[object] = []
        self.owned: set[Partition] = set()
        self.changes = 0
        """How often it was given something or had something taken away."""
        self.closing_took_s: float | None = None

    def __str__(self) -> str:
        owned = ", ".join(f"{topic}-{number}" for topic, number in sorted(self.owned))
        read = f"{len(self.values)} records"
        return f"{type(self).__name__} ({self.wish.strategy}) of {self.wish.group}: [{owned}], {read}, {self.errors}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def close(self) -> None:
        """Leaves the group, as the client does it; nothing happens the second time."""

    @abstractmethod
    def commit(self, partition: Partition, offset: int, metadata: str) -> None: ...

    @abstractmethod
    def committed(self, partition: Partition) -> int | None: ...

    @abstractmethod
    def seek(self, partition: Partition, offset: int) -> None: ...

    def on_assigned(self, partitions: Iterable[Partition]) -> None:
        given = set(partitions)
        self.owned |= given
        self.changes += bool(given)

    def on_taken(self, partitions: Iterable[Partition]) -> None:
        taken = set(partitions)
        self.owned -= taken
        self.changes += bool(taken)


class PolledMember(Member):
    """A member whose client wants to be called by one thread alone: this one's."""

    def __init__(self, wish: Wish) -> None:
        super().__init__(wish)
        self._is_closing = False
        self._asked: SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @abstractmethod
    def open_client(self) -> None: ...

    @abstractmethod
    def poll(self) -> Iterable[bytes]:
        """The values of the records that came within some 50 ms."""

    @abstractmethod
    def close_client(self) -> None: ...

    def close(self) -> None:
        self._is_closing = True
        self._thread.join(ANSWER_S)
        assert not self._thread.is_alive(), "the consumer did not close"

    def ask(self, question: Callable[[], Answer]) -> Answer:
        """Calls it between two polls."""
        answer: Future[Answer] = Future()
        self._asked.put((question, answer))
        return answer.result(ANSWER_S)

    def _run(self) -> None:
        try:
            self.open_client()
            while not self._is_closing:
                self.values.extend(self.poll())
                self._answer()
        except Exception as failure:
            self.errors.append(failure)
        finally:
            begun = time.monotonic()
            self.close_client()
            self.closing_took_s = time.monotonic() - begun

    def _answer(self) -> None:
        while True:
            try:
                question, answer = self._asked.get_nowait()
            except Empty:
                return
            try:
                answer.set_result(question())
            except Exception as failure:
                answer.set_exception(failure)
