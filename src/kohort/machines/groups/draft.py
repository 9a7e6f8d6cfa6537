"""A decision while it is being made: records, replies and timers in the order in which they were thought of.

Decides nothing. Next hop: machine.py, which hands the finished decision to the shard.
"""

from collections.abc import Hashable
from typing import Final

from kohort.machines.contract import CancelTimer, Decision, Moment, Reply, SetTimer, Token
from kohort.model.records.groups import GroupsRecord


class Draft:
    __slots__ = ("moment", "now_ms", "records", "replies", "timers")

    def __init__(self, moment: Moment) -> None:
        self.moment: Final = moment
        self.now_ms: Final = moment.now_ms
        self.records: Final[list[GroupsRecord]] = []
        self.replies: Final[list[Reply]] = []
        self.timers: Final[list[SetTimer | CancelTimer]] = []

    def write(self, *records: GroupsRecord) -> None:
        self.records.extend(records)

    def answer(self, token: Token, answer: object) -> None:
        self.replies.append(Reply(token, answer))

    def set_timer(self, key: Hashable, at_ms: int) -> None:
        self.timers.append(SetTimer(key, at_ms))

    def cancel_timer(self, key: Hashable) -> None:
        self.timers.append(CancelTimer(key))

    def decision(self) -> Decision[GroupsRecord]:
        return Decision(tuple(self.records), tuple(self.replies), tuple(self.timers))
