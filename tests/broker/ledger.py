"""A machine small enough to read at a glance: it adds numbers up, and each answer is the sum so far.

It makes use of everything a machine may do: records, replies that come later, timers, refusals.
"""

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from kohort.machines.contract import CancelTimer, Decision, Moment, Reply, SetTimer, Token
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import OrgId
from kohort.wire.batch_writer import BatchWriter
from kohort.wire.record_batch import Batch
from kohort.wire.records import decode_records

BROKEN = -13
"""Adding this fails half-way."""


class Add(NamedTuple):
    number: int


class Ask(NamedTuple):
    pass


class AddLater(NamedTuple):
    """Adds at that time, and answers then."""

    number: int
    at_ms: int


class Forget(NamedTuple):
    """Takes back every AddLater that is not due yet; nobody answers those."""


@dataclass(frozen=True, slots=True)
class TotalRecord:
    total: int


class Ledger:
    def __init__(self) -> None:
        self.total = 0
        self.later: dict[int, tuple[int, Token]] = {}

    def handle(self, org_id: OrgId, command: object, token: Token, moment: Moment) -> Decision[TotalRecord]:
        match command:
            case Add(0):
                raise ProtocolError(ErrorCode.INVALID_REQUEST, f"nothing to add to {self.total}")
            case Add(number):
                return self._add(number, token)
            case Ask():
                return Decision(replies=(Reply(token, self.total),))
            case AddLater(number, at_ms):
                self.later[token] = (number, token)
                return Decision(timers=(SetTimer(token, at_ms),))
            case Forget():
                cancelled = tuple(CancelTimer(key) for key in self.later)
                self.later.clear()
                return Decision(replies=(Reply(token, self.total),), timers=cancelled)
        raise AssertionError(command)

    def answer_at_once(self, command: object, now_ms: int) -> int | None:
        return self.total if isinstance(command, Ask) else None

    def on_timer(self, key: Hashable, moment: Moment) -> Decision[TotalRecord]:
        assert isinstance(key, int)
        number, token = self.later.pop(key)
        return self._add(number, token)

    def _add(self, number: int, token: Token) -> Decision[TotalRecord]:
        record = TotalRecord(self.total + number)
        self.replay(record)
        if number == BROKEN:
            raise RuntimeError("a mistake in the machine, after it changed its state")
        return Decision((record,), (Reply(token, record.total),), events=(record,))

    def on_forget(self, token: Token, moment: Moment) -> Decision[TotalRecord]:
        return Decision()

    def on_hurry(self, token: Token, moment: Moment) -> Decision[TotalRecord]:
        """What was to be added later is not added at all."""
        if self.later.pop(token, None) is None:
            return Decision()
        return Decision(replies=(Reply(token, self.total),), timers=(CancelTimer(token),))

    def on_loaded(self, moment: Moment) -> Decision[TotalRecord]:
        return Decision()

    def replay(self, record: TotalRecord) -> None:
        self.total = record.total

    def snapshot(self) -> Iterable[TotalRecord]:
        if self.total:
            yield TotalRecord(self.total)


def write(writer: BatchWriter, records: Iterable[TotalRecord]) -> None:
    for record in records:
        writer.write(b"total", str(record.total).encode())


def decode_batch(batch: Batch) -> Iterator[TotalRecord]:
    for record in decode_records(batch.data):
        yield TotalRecord(int(record.value or b""))
