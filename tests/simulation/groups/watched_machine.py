"""A machine with somebody looking on: between the shard and the real machine, it tells the oracle all that is decided.

It changes nothing. What fails in the machine fails the simulation, even where the shard would load it again and go on.

Next hop: oracle.py.
"""

from collections.abc import Callable, Hashable, Iterable
from typing import Any, NamedTuple, Protocol

from kohort.machines.contract import Decision, Machine, Moment, Token
from kohort.model.errors import ProtocolError
from kohort.model.ids import OrgId
from kohort.model.records.groups import GroupsRecord


class Asked(NamedTuple):
    """A command was the cause of a decision."""

    command: Any
    token: Token


class Due(NamedTuple):
    """A timer was."""

    key: Hashable


class Forgotten(NamedTuple):
    token: Token


class Hurried(NamedTuple):
    token: Token


class Loaded(NamedTuple):
    """The log was replayed."""


NOBODY: Token = -1
"""Who asks without waiting for an answer to come later."""

MakeMachine = Callable[[], Machine[Any, GroupsRecord]]
Cause = Asked | Due | Forgotten | Hurried | Loaded


class Watcher(Protocol):
    def began_life(self, machine: "WatchedMachine") -> None:
        """The machine has replayed its log."""

    def decided(self, cause: Cause, decision: Decision[GroupsRecord], moment: Moment) -> None: ...

    def refused(self, asked: Asked, refusal: ProtocolError) -> None: ...

    def answered(self, command: object, answer: object) -> None:
        """There was nothing to decide."""

    def failed(self, cause: object, failure: Exception) -> None: ...


class WatchedMachine:
    """Satisfies machines.contract.Machine."""

    def __init__(self, make_machine: MakeMachine, watcher: Watcher) -> None:
        self.another = make_machine
        self.machine = make_machine()
        self._watcher = watcher

    def answer_at_once(self, command: object, now_ms: int) -> object | None:
        asked = Asked(command, NOBODY)
        try:
            answer = self.machine.answer_at_once(command, now_ms)
        except ProtocolError as refusal:
            self._watcher.refused(asked, refusal)
            raise
        except Exception as failure:
            self._watcher.failed(asked, failure)
            raise
        if answer is not None:
            self._watcher.answered(command, answer)
        return answer

    def handle(self, org_id: OrgId, command: object, token: Token, moment: Moment) -> Decision[GroupsRecord]:
        asked = Asked(command, token)
        try:
            decision = self.machine.handle(org_id, command, token, moment)
        except ProtocolError as refusal:
            self._watcher.refused(asked, refusal)
            raise
        except Exception as failure:
            self._watcher.failed(asked, failure)
            raise
        self._watcher.decided(asked, decision, moment)
        return decision

    def on_timer(self, key: Hashable, moment: Moment) -> Decision[GroupsRecord]:
        return self._decide(Due(key), self.machine.on_timer, key, moment)

    def on_forget(self, token: Token, moment: Moment) -> Decision[GroupsRecord]:
        return self._decide(Forgotten(token), self.machine.on_forget, token, moment)

    def on_hurry(self, token: Token, moment: Moment) -> Decision[GroupsRecord]:
        return self._decide(Hurried(token), self.machine.on_hurry, token, moment)

    def on_loaded(self, moment: Moment) -> Decision[GroupsRecord]:
        self._watcher.began_life(self)
        return self._decide(Loaded(), self.machine.on_loaded, moment)

    def _decide(self, cause: Cause, decide: Any, *arguments: Any) -> Decision[GroupsRecord]:
        decision: Decision[GroupsRecord]
        try:
            decision = decide(*arguments)
        except Exception as failure:
            self._watcher.failed(cause, failure)
            raise
        self._watcher.decided(cause, decision, arguments[-1])
        return decision

    def replay(self, record: GroupsRecord) -> None:
        try:
            self.machine.replay(record)
        except Exception as failure:
            self._watcher.failed(record, failure)
            raise

    def snapshot(self) -> Iterable[GroupsRecord]:
        return self.machine.snapshot()
