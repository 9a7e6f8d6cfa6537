"""A shard's log on a disk that takes its time, fails, and loses in a crash what it had not finished.

It keeps what store/log.py promises of order: appends are done one after the other, and when one fails those behind it
fail too and the end goes back to what is durable, before any of them hears of it. What a crash finds under way may be
durable or lost, from some append on.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple, Protocol
from uuid import UUID

from kohort.store.log import AppendDone, Chunk, Durability, LogId, ReadDone, StoreError, StoreFullError
from kohort.wire.record_batch import Batch
from tests.simulation.disk import Trace
from tests.simulation.groups.clock import Clock

USUAL_SLOWNESS_MS = 2
LATE_MS = 50
"""How much later than the first of several failed appends the last may hear of it."""
BATCHES_OF_A_READ = 20


class Listener(Protocol):
    """Hears what the log is given, and what of it cannot be lost any more."""

    def appended(self, batches: Sequence[Batch]) -> Any: ...

    def became_durable(self, records: Any) -> None: ...


class _Waiting(NamedTuple):
    batches: Sequence[Batch]
    records: Any
    done: AppendDone


class SimulatedLog:
    id = LogId(0, "__consumer_offsets", UUID(int=1), 0)

    def __init__(self, clock: Clock, random: Random, listener: Listener, trace: Trace) -> None:
        self._clock = clock
        self._random = random
        self._listener = listener
        self._trace = trace
        self._durable: list[Batch] = []
        self._waiting: deque[_Waiting] = deque()
        self._power_cuts = 0
        self.start_offset = 0
        self.slowness_ms = USUAL_SLOWNESS_MS
        """Appends take up to this long."""
        self.failing_appends = 0
        self.failing_reads = 0

    @property
    def readable_offset(self) -> int:
        return self._durable[-1].header.next_offset if self._durable else 0

    @property
    def end_offset(self) -> int:
        return self._waiting[-1].batches[-1].header.next_offset if self._waiting else self.readable_offset

    def append(self, batches: Sequence[Batch], durability: Durability, done: AppendDone) -> None:
        assert durability is Durability.FSYNC
        assert batches[0].header.base_offset >= self.end_offset
        self._waiting.append(_Waiting(batches, self._listener.appended(batches), done))
        power_cuts = self._power_cuts
        self._clock.after(
            self._random.randint(0, self.slowness_ms), lambda: power_cuts == self._power_cuts and self._finish_one()
        )

    def _finish_one(self) -> None:
        if not self._waiting:
            return
        if self.failing_appends:
            self.failing_appends -= 1
            self._fail()
            return
        waiting = self._waiting.popleft()
        self._make_durable(waiting)
        waiting.done(None)

    def _make_durable(self, waiting: _Waiting) -> None:
        self._durable += waiting.batches
        self._listener.became_durable(waiting.records)

    def _fail(self) -> None:
        failed = list(self._waiting)
        self._waiting.clear()
        self._trace("log: appends fail", len(failed))
        failed.pop(0).done(StoreFullError("No space left."))
        for waiting in failed:
            self._clock.after(self._random.randint(0, LATE_MS), partial(waiting.done, StoreFullError("No space left.")))

    def clear_up(self) -> None:
        """The disk is sound and quick again, and what it had not finished it finishes."""
        self.slowness_ms = USUAL_SLOWNESS_MS
        self.failing_appends = self.failing_reads = 0
        for _ in self._waiting:
            self._clock.after(0, self._finish_one)

    def crash(self) -> None:
        """The process is gone: nobody hears of what was under way."""
        self._power_cuts += 1
        for waiting in list(self._waiting)[: self._random.randint(0, len(self._waiting))]:
            self._make_durable(waiting)
        self._waiting.clear()
        self.failing_appends = self.failing_reads = 0

    def read(self, offset: int, max_bytes: int, until_offset: int, done: ReadDone, at_least_one: bool = True) -> None:
        """Mostly several batches, and half of one more, so that the reader meets batches that are cut off."""
        if self.failing_reads:
            self.failing_reads -= 1
            done(StoreError("The disk did not answer."))
            return
        first = bisect_right(self._durable, offset, key=lambda batch: batch.header.last_offset + 1)
        found = self._durable[first : first + BATCHES_OF_A_READ]
        data = [bytes(batch.data) for batch in found if batch.header.base_offset < until_offset]
        if len(data) > 1:
            data[-1] = data[-1][: len(data[-1]) // 2]
        done(Chunk(tuple(data), sum(map(len, data))))

    def trim(self, offset: int, done: Callable[[StoreError | None], None]) -> None:
        self._trace("log: trimmed to", offset)
        self.start_offset = max(self.start_offset, offset)
        self._durable = [batch for batch in self._durable if batch.header.last_offset >= self.start_offset]
        done(None)
