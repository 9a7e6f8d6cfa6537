"""What a state machine is here, and what the broker may ask of it.

A machine gets a command and the moment, and decides: records to write, replies to give, timers to set. It never does.
`replay` is the only thing that changes durable state, so a live decision and a restart go through the same lines: the
machine replays each record as it decides it, so that a decision of many steps builds on its own first ones.
A reply that has to wait is a token kept in the machine's volatile state; each token is answered exactly once.

The shard (broker/shard.py) is the other side of this contract: it appends a decision's records, and lets replies go
only when every record they could have seen is durable. If they cannot be appended, or the machine fails half-way, it
is dropped and loaded again from its log.
"""

from collections.abc import Hashable, Iterable
from hashlib import blake2b
from typing import Generic, NamedTuple, Protocol, TypeVar

from kohort.model.ids import OrgId

Command = TypeVar("Command", contravariant=True)
Record = TypeVar("Record")

Token = int
"""Stands for one reply that is owed. The shard mints them; 0 is nobody (the broker itself asked)."""


class Moment(NamedTuple):
    """When a command is handled, and the only randomness it may use."""

    now_ms: int
    entropy: bytes

    def fresh_id(self, number: int) -> bytes:
        """16 bytes nobody has used, the same ones for the same number of the same moment."""
        return blake2b(number.to_bytes(8, "big"), key=self.entropy, digest_size=16).digest()


class Reply(NamedTuple):
    """The answer to the command that this token stands for."""

    token: Token
    answer: object


class SetTimer(NamedTuple):
    """Calls the machine's on_timer with this key at that time; a timer of the same key is replaced."""

    key: Hashable
    at_ms: int


class CancelTimer(NamedTuple):
    key: Hashable


class Decision(NamedTuple, Generic[Record]):
    """What a machine wants done: records, already replayed, are written together or not at all."""

    records: tuple[Record, ...] = ()
    replies: tuple[Reply, ...] = ()
    timers: tuple[SetTimer | CancelTimer, ...] = ()
    events: tuple[object, ...] = ()
    """What happened, for who keeps a history: told when the records are durable."""


class Machine(Protocol[Command, Record]):
    """One state machine on one log. A ProtocolError raised by handle refuses the command: it may be raised only before
    the first record is replayed."""

    def answer_at_once(self, command: Command, now_ms: int) -> object | None:
        """The answer to a command if there is nothing to decide, as with most heartbeats and fetches; None if handle
        has to. It is the same that handle would give, for a fraction of what a decision costs."""

    def handle(self, org_id: OrgId, command: Command, token: Token, moment: Moment) -> Decision[Record]:
        """Decides a command. Durable state changes by replay of the decided records only; tokens may be remembered."""

    def on_timer(self, key: Hashable, moment: Moment) -> Decision[Record]:
        """Decides what follows from a timer that came due."""

    def on_forget(self, token: Token, moment: Moment) -> Decision[Record]:
        """Decides what follows when nobody waits for this reply any more. The token needs no answer, but may get it."""

    def on_hurry(self, token: Token, moment: Moment) -> Decision[Record]:
        """Answers a token that waits if that changes nothing: another request is behind it on its connection."""

    def on_loaded(self, moment: Moment) -> Decision[Record]:
        """Decides once, after the log was replayed and before the first command: mostly which timers run."""

    def replay(self, record: Record) -> None:
        """Applies a record: of its log, called by the shard, or one that it is deciding. It is never refused."""

    def snapshot(self) -> Iterable[Record]:
        """Records that, replayed into an empty machine, give this state. Replaying one twice changes nothing."""
