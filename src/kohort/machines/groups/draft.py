"""A decision while it is being made: records, replies, timers and events in the order in which they were thought of.

A record is replayed when it is written, so whatever is decided next builds on it. Decides nothing.

Next hop: machine.py, which hands the finished decision to the shard.
"""

from collections.abc import Callable, Hashable
from typing import Final

from kohort.machines.contract import CancelTimer, Decision, Moment, Reply, SetTimer, Token
from kohort.model.records.groups import GroupsRecord


class Draft:
    __slots__ = ("_replay", "events", "moment", "now_ms", "records", "replies", "timers")

    def __init__(self, moment: Moment, replay: Callable[[GroupsRecord], None]) -> None:
        self.moment: Final = moment
        self.now_ms: Final = moment.now_ms
        self.records: Final[list[GroupsRecord]] = []
        self.replies: Final[list[Reply]] = []
        self.timers: Final[list[SetTimer | CancelTimer]] = []
        self.events: Final[list[object]] = []
        self._replay: Final = replay

    def write(self, *records: GroupsRecord) -> None:
        """From here on nothing may be refused any more."""
        for record in records:
            self._replay(record)
        self.records.extend(records)

    def answer(self, token: Token, answer: object) -> None:
        self.replies.append(Reply(token, answer))

    def set_timer(self, key: Hashable, at_ms: int) -> None:
        self.timers.append(SetTimer(key, at_ms))

    def cancel_timer(self, key: Hashable) -> None:
        self.timers.append(CancelTimer(key))

    def tell(self, event: object) -> None:
        """For who keeps a history."""
        self.events.append(event)

    def decision(self) -> Decision[GroupsRecord]:
        return Decision(tuple(self.records), tuple(self.replies), tuple(self.timers), tuple(self.events))
