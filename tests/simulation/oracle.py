"""What a store may show: kept apart from the workload, from nothing but what was asked of it and what it said.

For every log the appends in order, and of each how it went. After a crash the oracle says what has to be there:

    nothing acknowledged is lost    FSYNC appends survive a power cut, OS appends the death of the process
    nothing unwritten appears       what is there are the appends of old, byte for byte, up to one of them, each whole
    nothing is taken back           what a reader could see as durable is there after the next crash too
    offsets never repeat            the log ends where an append ended that had to survive, or later
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache

from kohort.store.log import Durability, Log, LogConfig, LogId, ProducerEntry, StoreError, StoreFailedError
from kohort.store.producers import remember
from kohort.wire.record_batch import Batch
from kohort.wire.records import Record, decode_records

FOREVER = 1 << 62


class Violation(AssertionError):
    """The store broke a promise."""


class Loss(Enum):
    """How a process ended, and with it what it had not made durable; each loses what those before it lose."""

    NOTHING = "closing"
    PROCESS = "a kill"
    POWER = "a power cut"

    def and_then(self, later: "Loss") -> "Loss":
        """What is lost when a process ended like this, and the next one, before it looked, like that."""
        order = list(Loss)
        return max(self, later, key=order.index)


@dataclass(slots=True, eq=False)
class Appended:
    """One append: its batches as they must be read, and how it stands."""

    batches: tuple[Batch, ...]
    durability: Durability
    is_done: bool = False
    survives_power: bool = False

    @property
    def end_offset(self) -> int:
        return self.batches[-1].header.next_offset

    @property
    def size_bytes(self) -> int:
        return sum(len(batch.data) for batch in self.batches)


def require(holds: bool, *what: object) -> None:
    if not holds:
        raise Violation(" ".join(map(str, what)))


@dataclass(slots=True, eq=False)
class History:
    """One log: everything that was appended and not refused, from its first offset on."""

    log_id: LogId
    config: LogConfig
    appends: list[Appended] = field(default_factory=list)
    refused: list[Appended] = field(default_factory=list)
    trim_asked: int = 0
    trim_done: int = 0
    lost_bytes: int = 0
    """What crashes took from its end: retention may have counted on it."""
    least_retention_ms: int = FOREVER
    least_retention_bytes: int = FOREVER
    may_compact: bool = False
    """What its configurations allowed so far."""
    delete_asked: bool = False
    delete_done: bool = False
    loss: Loss = Loss.NOTHING
    """The worst way in which a process ended since the log was looked at last."""

    # While the store runs

    def done(self, append: Appended, error: StoreError | None, log: Log) -> None:
        """An append's done was called. After the disk failed, and in a log on its way out, only a restart will tell."""
        if isinstance(error, StoreFailedError) or (error is not None and self.delete_asked):
            require(not append.is_done, self.log_id, "an append was done, and then failed:", append.end_offset)
            return
        if error is not None:
            self._refuse(append, log)
            return
        require(append in self.appends, self.log_id, "an append was refused, and then done:", append.end_offset)
        waiting = [one for one in self.appends if not one.is_done]
        require(
            waiting[0] is append, self.log_id, "done out of order:", append.end_offset, "before", waiting[0].end_offset
        )
        require(log.readable_offset >= append.end_offset, self.log_id, "done but not readable:", append.end_offset)
        append.is_done = True
        if append.durability is Durability.FSYNC:
            self._survives_power_up_to(append)

    def _survives_power_up_to(self, append: Appended) -> None:
        for one in self.appends:
            one.survives_power = True
            if one is append:
                return

    def _refuse(self, append: Appended, log: Log) -> None:
        if append in self.refused:
            return
        position = self.appends.index(append)
        require(not append.is_done, self.log_id, "an append was done, and then refused:", append.end_offset)
        self.refused += self.appends[position:]
        del self.appends[position:]
        require(
            log.end_offset == self.end_offset,
            self.log_id,
            "after a refusal ends at",
            log.end_offset,
            self.end_offset,
        )

    @property
    def end_offset(self) -> int:
        return self.appends[-1].end_offset if self.appends else 0

    def batches(self) -> Iterable[Batch]:
        for append in self.appends:
            yield from append.batches

    def allow(self, config: LogConfig) -> None:
        """The log is configured like this from now on."""
        self.config = config
        self.may_compact = self.may_compact or config.compact
        if config.delete and config.retention_ms >= 0:
            self.least_retention_ms = min(self.least_retention_ms, config.retention_ms)
        if config.delete and config.retention_bytes >= 0:
            self.least_retention_bytes = min(self.least_retention_bytes, config.retention_bytes)

    # After a restart

    def recovered(self, log: Log) -> None:
        """The log was opened again: settles which appends survived, and checks that they may have, by their end."""
        loss, self.loss = self.loss, Loss.NOTHING
        required = 0
        for append in self.appends:
            if append.survives_power or (append.is_done and loss is not Loss.POWER):
                required = append.end_offset
        ends = [0, *(append.end_offset for append in self.appends)]
        end = log.end_offset
        require(
            end in ends, self.log_id, "after", loss.value, "ends at", end, "in the midst of an append; ends are", ends
        )
        require(
            end >= required,
            self.log_id,
            "lost what was acknowledged: after",
            loss.value,
            "ends at",
            end,
            "and not",
            required,
        )
        require(log.readable_offset == end, self.log_id, "recovered but not readable:", log.readable_offset, end)
        self.lost_bytes += sum(append.size_bytes for append in self.appends if append.end_offset > end)
        self.appends = [append for append in self.appends if append.end_offset <= end]
        for append in self.appends:
            append.is_done = True
            append.survives_power = (
                append.survives_power or append.durability is Durability.FSYNC or loss is Loss.NOTHING
            )
        if self.appends and any(append.survives_power for append in self.appends):
            self._survives_power_up_to([append for append in self.appends if append.survives_power][-1])

    def check_start(self, log: Log, now_ms: int) -> None:
        """What is gone was trimmed, or was too old or too much for a retention that the log had.

        Of a batch that compaction emptied nothing was left that retention had to wait for.
        """
        start = log.start_offset
        require(start >= self.trim_done, self.log_id, "a trim was undone: starts at", start, "not", self.trim_done)
        bytes_behind = self.lost_bytes + sum(append.size_bytes for append in self.appends)
        for header, data in self.batches():
            bytes_behind -= len(data)
            if header.next_offset > start:
                break
            is_trimmed = header.next_offset <= self.trim_asked
            is_old = now_ms - header.max_timestamp > self.least_retention_ms
            is_surplus = bytes_behind >= self.least_retention_bytes
            require(
                is_trimmed or is_old or is_surplus or self._may_be_emptied(header.base_offset),
                self.log_id,
                "starts at",
                start,
                "and nothing allowed that",
                header,
            )

    def _may_be_emptied(self, base_offset: int) -> bool:
        """Whether compaction may have taken every record of the batch: each has a later one of its key, or no value."""
        if not self.may_compact:
            return False
        records = [record for batch in self.batches() for record in _records(batch)]
        last_offsets: dict[bytes | None, int] = {}
        for record in records:
            last_offsets[record.key] = max(record.offset, last_offsets.get(record.key, record.offset))
        (batch,) = [batch for batch in self.batches() if batch.header.base_offset == base_offset]
        return all(record.value is None or record.offset < last_offsets[record.key] for record in _records(batch))

    def check_producers(self, log: Log) -> None:
        """They are as all batches ever appended made them, however many of those are still there."""
        expected: dict[int, ProducerEntry] = {}
        for batch in self.batches():
            remember(expected, batch.header)
        found = {entry.producer_id: entry for entry in log.producers()}
        require(found == expected, self.log_id, "remembers producers", found, "and not", expected)

    # What a reader sees

    def check_read(self, found: Sequence[Batch], offset: int, log: Log) -> None:
        """Whole batches that a read from this offset gave, while the log is readable up to log.readable_offset."""
        for batch in found:
            header = batch.header
            require(header.next_offset <= log.readable_offset, self.log_id, "read what is not readable:", header)
        if self.may_compact:
            self._check_compacted(found)
            return
        wanted = [batch for batch in self.batches() if batch.header.next_offset > offset][: len(found)]
        for have, want in zip(found, wanted):
            require(
                have.data == want.data, self.log_id, "read from", offset, "gave", have.header, "and not", want.header
            )
        require(len(found) == len(wanted), self.log_id, "read from", offset, "gave batches nobody appended")

    def _check_compacted(self, found: Sequence[Batch]) -> None:
        """Each is one that was appended, or what compaction may have left of it."""
        originals = {batch.header.base_offset: batch for batch in self.batches()}
        for batch in found:
            original = originals.get(batch.header.base_offset)
            if original is None or original.header.last_offset != batch.header.last_offset:
                raise Violation(f"{self.log_id}: a batch nobody appended: {batch.header}")
            require(_records(batch) <= _records(original), self.log_id, "records nobody appended in", batch.header)

    def check_complete(self, found: Sequence[Batch], log: Log) -> None:
        """Everything from the start to the readable end was read."""
        self.check_producers(log)
        self.check_read(found, log.start_offset, log)
        expected = [batch for batch in self.batches() if batch.header.next_offset > log.start_offset]
        readable = [batch for batch in expected if batch.header.next_offset <= log.readable_offset]
        if not self.may_compact:
            require(len(found) == len(readable), self.log_id, "a scan gave", len(found), "batches of", len(readable))
            return
        there = {record.offset for batch in found for record in _records(batch)}
        latest: dict[bytes | None, Record] = {}
        for batch in readable:
            latest.update((record.key, record) for record in sorted(_records(batch)))
        for record in latest.values():
            if record.value is not None and record.offset >= log.start_offset:
                require(record.offset in there, self.log_id, "compaction lost the last value of", record)


def _records(batch: Batch) -> frozenset[Record]:
    return _decoded(bytes(batch.data))


@lru_cache(maxsize=4096)
def _decoded(data: bytes) -> frozenset[Record]:
    return frozenset(decode_records(data))
