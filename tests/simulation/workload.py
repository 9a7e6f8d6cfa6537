"""What a broker might ask of a store, drawn from a seed: appends of all sizes, reads, trims, deletes, maintenance.

The workload acts on a store and tells the oracle what it asked and what it was told. It knows no faults and no
schedule: those are store.py's.
"""

from collections.abc import Callable
from functools import partial
from random import Random
from uuid import UUID

from kohort.store.log import (
    Chunk,
    Durability,
    Log,
    LogConfig,
    LogId,
    OffsetOutOfRangeError,
    Store,
    StoreError,
    StoreFailedError,
    TimestampOffset,
)
from kohort.wire.record_batch import HEADER_SIZE, NO_TIMESTAMP, Batch, Compression, at_offset, lay_down
from kohort.wire.records import NewRecord, decode_batches, encode_batch
from tests.simulation.disk import Trace
from tests.simulation.oracle import Appended, History, Loss, require

EVERYTHING = 1 << 62
KEYS = 6

Wait = Callable[[Callable[[], bool]], None]
"""Lets the store work until something holds."""


class Workload:
    """The logs of one simulation, over all lives of its store."""

    def __init__(self, random: Random, trace: Trace) -> None:
        self._random = random
        self._trace = trace
        self._histories: dict[LogId, History] = {}
        self._logs: dict[LogId, Log] = {}
        self._topics = 0
        self._batches = 0
        self._store: Store
        self.now_ms = 1_700_000_000_000
        self._largest_value = random.choice((20, 200, 200, 200, 3_000, 20_000))
        self._durability = random.choice((None, Durability.FSYNC, Durability.OS))

    # Lives

    def end_life(self, loss: Loss) -> None:
        """The process that had the store is gone."""
        self._logs = {}
        for history in self._histories.values():
            history.loss = history.loss.and_then(loss)

    def adopt(self, store: Store) -> None:
        """The store was opened again: the oracle looks at every log."""
        self._store = store
        there = list(store.logs())
        for log_id in there:
            require(log_id in self._histories, log_id, "is there, and nobody made it, or it was deleted")
        for log_id, history in list(self._histories.items()):
            if history.delete_asked and log_id not in there:
                del self._histories[log_id]
                continue
            require(not history.delete_done, log_id, "came back after it was deleted")
            log = store.log(log_id, history.config)
            history.delete_asked = False
            history.recovered(log)
            history.check_start(log, self.now_ms)
            self._logs[log_id] = log

    def check_all_done(self) -> None:
        """Nothing is under way any more: every append has been answered."""
        for log_id in self._logs:
            waiting = [append.end_offset for append in self._histories[log_id].appends if not append.is_done]
            require(not waiting, log_id, "never answered:", waiting)

    def check_contents(self, wait: Wait) -> None:
        """Reads every log from start to end."""
        for log_id in self._logs:
            self._check_content(self._histories[log_id], wait)

    def _check_content(self, history: History, wait: Wait) -> None:
        log = self._logs[history.log_id]
        found: list[Batch] = []
        offset = log.start_offset
        while offset < log.readable_offset:
            outcomes: list[Chunk | StoreError] = []
            log.read(offset, self._random.choice((1, 500, 5_000, EVERYTHING)), EVERYTHING, outcomes.append)
            wait(partial(bool, outcomes))
            chunk = outcomes[0]
            if isinstance(chunk, StoreError):
                raise chunk
            batches = _whole_batches(chunk)
            if not batches:
                break
            found += batches
            offset = batches[-1].header.next_offset
        history.check_complete(found, log)
        history.check_start(log, self.now_ms)

    # Acts

    def act(self) -> None:
        """One thing a broker might do now."""
        acts: list[tuple[int, Callable[[], None]]] = [(2, self._create)]
        if self._logs:
            acts += [
                (40, self._append),
                (8, self._read),
                (2, self._find_time),
                (1, self._find_max_timestamp),
                (2, self._trim),
                (1, self._delete),
                (3, self._maintain),
                (1, self._configure),
            ]
        weights = [weight for weight, _ in acts]
        self._random.choices([act for _, act in acts], weights)[0]()

    def _create(self) -> None:
        if len(self._logs) >= 5:
            return
        name = self._random.choice(("orders", "refunds", "clicks"))
        org_id = self._random.choice((0, 0, 7))
        taken = {log_id[:2] + log_id[3:] for log_id, history in self._histories.items() if not history.delete_done}
        partition = self._random.randrange(3)
        if (org_id, name, partition) in taken:
            return
        self._topics += 1
        log_id = LogId(org_id, name, UUID(int=self._topics), partition)
        history = History(log_id, self._config())
        history.allow(history.config)
        self._trace("create", log_id, history.config)
        self._histories[log_id] = history
        self._logs[log_id] = self._store.log(log_id, history.config)

    def _config(self) -> LogConfig:
        random = self._random
        compact = random.random() < 0.3
        return LogConfig(
            segment_bytes=random.choice((2_000, 10_000, 1 << 30)),
            segment_ms=random.choice((10_000, 10_000_000)),
            index_interval_bytes=random.choice((0, 500, 4096)),
            retention_ms=random.choice((-1, -1, 60_000)),
            retention_bytes=random.choice((-1, -1, 10_000)),
            delete=not compact or random.random() < 0.3,
            compact=compact,
            delete_retention_ms=20_000,
            min_cleanable_dirty_ratio=random.choice((0.0, 0.5)),
        )

    def _pick(self) -> tuple[History, Log]:
        log_id = self._random.choice(list(self._logs))
        return self._histories[log_id], self._logs[log_id]

    def _append(self) -> None:
        history, log = self._pick()
        durability = self._durability or self._random.choice((Durability.FSYNC, Durability.OS))
        offset = log.end_offset + self._random.choice((0,) * 20 + (1, 1_000))
        batches: list[Batch] = []
        for _ in range(self._random.choice((1, 1, 1, 2, 4))):
            batches.append(self._batch(offset))
            offset = batches[-1].header.next_offset
        append = Appended(tuple(map(_laid_down, batches)), durability)
        require(
            log.end_offset == history.end_offset, history.log_id, "ends at", log.end_offset, "not", history.end_offset
        )
        history.appends.append(append)
        self._trace(
            "append", history.log_id, "from", batches[0].header.base_offset, "to", offset, len(batches), durability
        )
        log.append(batches, durability, partial(self._appended, history, append, log))

    def _batch(self, offset: int) -> Batch:
        random = self._random
        count = random.choice((1, 1, 2, 5))
        self._batches += 1
        self.now_ms += random.randrange(50)
        records = [
            NewRecord(
                b"key-%d" % random.randrange(KEYS),
                None if random.random() < 0.1 else random.randbytes(random.randrange(self._largest_value)),
                self.now_ms - random.choice((0, 0, 0, 5_000)),
            )
            for _ in range(count)
        ]
        has_producer = random.random() < 0.5
        made = encode_batch(
            records,
            compression=random.choice((Compression.NONE, Compression.LZ4)),
            producer_id=random.randrange(4) if has_producer else -1,
            producer_epoch=self._topics // 4 if has_producer else -1,
            base_sequence=self._batches if has_producer else -1,
        )
        return at_offset(made.header, made.data, offset, self._topics)

    def _appended(self, history: History, append: Appended, log: Log, error: StoreError | None) -> None:
        self._trace("appended", history.log_id, "to", append.end_offset, error)
        history.done(append, error, log)

    def _read(self) -> None:
        history, log = self._pick()
        offset = self._random.randint(log.start_offset, log.readable_offset)
        until = self._random.choice((EVERYTHING, log.readable_offset, offset + 3))
        log.read(
            offset, self._random.choice((1, 2_000, 50_000)), until, partial(self._was_read, history, log, offset, until)
        )

    def _was_read(self, history: History, log: Log, offset: int, until: int, outcome: Chunk | StoreError) -> None:
        if isinstance(outcome, StoreError):
            is_gone = isinstance(outcome, OffsetOutOfRangeError) and offset < log.start_offset
            if not is_gone and not history.delete_asked and not isinstance(outcome, StoreFailedError):
                raise outcome
            return
        if history.delete_asked:
            return
        batches = _whole_batches(outcome)
        for batch in batches:
            require(batch.header.base_offset < until, history.log_id, "read up to", until, "gave", batch.header)
        history.check_read(batches, offset, log)

    def _find_time(self) -> None:
        history, log = self._pick()
        batches = [batch.header for batch in history.batches()]
        if batches:
            timestamp = self._random.choice(batches).max_timestamp
            log.find_time(timestamp, partial(self._found, history, timestamp))

    def _found(self, history: History, timestamp: int, outcome: TimestampOffset | StoreError | None) -> None:
        if isinstance(outcome, StoreError) or outcome is None or history.may_compact or history.delete_asked:
            return
        offsets = {batch.header.base_offset: batch.header.max_timestamp for batch in history.batches()}
        require(offsets.get(outcome.base_offset) == outcome.max_timestamp, history.log_id, "found", outcome)
        require(outcome.max_timestamp >= timestamp, history.log_id, "found for", timestamp, outcome)

    def _find_max_timestamp(self) -> None:
        history, log = self._pick()
        log.find_max_timestamp(partial(self._found, history, NO_TIMESTAMP))

    def _trim(self) -> None:
        history, log = self._pick()
        offset = self._random.randint(log.start_offset, log.readable_offset)
        history.trim_asked = max(history.trim_asked, offset)
        self._trace("trim", history.log_id, "to", offset)
        log.trim(offset, partial(self._trimmed, history, offset))

    def _trimmed(self, history: History, offset: int, error: StoreError | None) -> None:
        self._trace("trimmed", history.log_id, "to", offset, error)
        if error is None:
            history.trim_done = max(history.trim_done, offset)

    def _delete(self) -> None:
        if self._random.random() < 0.5:
            return
        history, _ = self._pick()
        history.delete_asked = True
        del self._logs[history.log_id]
        self._trace("delete", history.log_id)
        self._store.delete(history.log_id, partial(self._deleted, history))

    def _deleted(self, history: History, error: StoreError | None) -> None:
        self._trace("deleted", history.log_id, error)
        history.delete_done = history.delete_done or error is None

    def _maintain(self) -> None:
        self.now_ms += self._random.choice((0, 1_000, 70_000))
        self._trace("maintain", self.now_ms)
        self._store.maintain(self.now_ms)

    def _configure(self) -> None:
        history, log = self._pick()
        history.allow(self._config())
        self._trace("configure", history.log_id, history.config)
        log.configure(history.config)


def _laid_down(batch: Batch) -> Batch:
    memory = bytearray(len(batch.data))
    lay_down(batch, memory, 0)
    return Batch(batch.header, bytes(memory))


def _whole_batches(chunk: Chunk) -> list[Batch]:
    """Those of a chunk that are not cut short."""
    data = b"".join(chunk.buffers)
    require(len(data) == chunk.size, "a chunk's size is not that of its buffers:", chunk.size, len(data))
    position = 0
    while len(data) - position >= HEADER_SIZE:
        size = int.from_bytes(data[position + 8 : position + 12], "big") + 12
        if position + size > len(data):
            break
        position += size
    return [Batch(header, bytes(batch)) for header, batch in decode_batches(data[:position])]
