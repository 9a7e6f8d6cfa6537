"""A log whose appends are done when a test says so, or fail then: the shard's side of store/log.py, and no more.

It keeps what store/log.py promises of order: appends are done one after the other, and when one fails those behind it
fail too and the end goes back to what is durable, before any of them hears of it.
"""

from collections.abc import Callable, Sequence

from kohort.store.log import AppendDone, Chunk, Durability, ReadDone, StoreError, StoreFullError
from kohort.wire.record_batch import Batch


class HandCrankedLog:
    id = "a log of a test"

    def __init__(self) -> None:
        self.durable: list[Batch] = []
        self.start_offset = 0
        self.waiting: list[tuple[Sequence[Batch], AppendDone]] = []
        self.failed: list[AppendDone] = []
        self.reads_fail = 0

    @property
    def readable_offset(self) -> int:
        return self.durable[-1].header.next_offset if self.durable else 0

    @property
    def end_offset(self) -> int:
        return self.waiting[-1][0][-1].header.next_offset if self.waiting else self.readable_offset

    def append(self, batches: Sequence[Batch], durability: Durability, done: AppendDone) -> None:
        assert batches[0].header.base_offset >= self.end_offset
        self.waiting.append((batches, done))

    def finish(self, count: int | None = None) -> None:
        """The oldest appends, or all there are now, become durable."""
        for _ in range(len(self.waiting) if count is None else count):
            batches, done = self.waiting.pop(0)
            self.durable += batches
            done(None)

    def fail(self, tell: int | None = None) -> None:
        """Everything that waits fails, and so many hear of it; the others are left in `failed`."""
        self.failed += (done for _, done in self.waiting)
        self.waiting = []
        for _ in range(len(self.failed) if tell is None else tell):
            self.failed.pop(0)(StoreFullError("No space left."))

    def read(self, offset: int, max_bytes: int, until_offset: int, done: ReadDone, at_least_one: bool = True) -> None:
        """One byte short of a second batch, so that a reader meets batches that are cut off."""
        if self.reads_fail:
            self.reads_fail -= 1
            return done(StoreError("The disk did not answer."))
        following = [batch for batch in self.durable if offset <= batch.header.last_offset < until_offset]
        data = bytes(following[0].data) + b"".join(bytes(batch.data) for batch in following[1:2])[:-1]
        return done(Chunk((data[:30], data[30:]), len(data)))

    def trim(self, offset: int, done: Callable[[StoreError | None], None]) -> None:
        self.start_offset = offset
        self.durable = [batch for batch in self.durable if batch.header.last_offset >= offset]
        done(None)
