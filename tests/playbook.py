"""A conversation with a machine, as tests write it: say a command, read the answer, let time pass, restart.

Plays the shard's part with a log that never fails and makes everything durable at once; what happens when that is not
so is for tests/broker/test_shard.py. Every conversation has the same clock and the same randomness.
"""

from collections.abc import Callable, Hashable
from typing import Any

from kohort.machines.contract import Decision, Machine, Moment, SetTimer, Token
from kohort.model.ids import DEFAULT_ORG, OrgId

START_MS = 1_700_000_000_000
UNANSWERED = object()


class Playbook:
    """One machine and everything it was told."""

    def __init__(self, make_machine: Callable[[], Machine[Any, Any]]) -> None:
        self._make_machine = make_machine
        self.machine = make_machine()
        self.now_ms = START_MS
        self.records: list[object] = []
        """What the machine wrote, oldest first."""
        self.events: list[Any] = []
        self.answers: dict[Token, object] = {}
        self.timers: dict[Hashable, int] = {}
        self._moments = 0
        self._last_token: Token = 0
        self._do(self.machine.on_loaded(self._moment()))

    def say(self, command: object, org_id: OrgId = DEFAULT_ORG) -> Any:
        """The answer to the command, if it has one yet; a refusal is raised."""
        self._last_token = token = self._last_token + 1
        self._do(self.machine.handle(org_id, command, token, self._moment()))
        return self.answers.get(token, UNANSWERED)

    @property
    def last_token(self) -> Token:
        """Of what was said last."""
        return self._last_token

    def hurry(self, token: Token) -> None:
        """Another request came behind this one on its connection."""
        self._do(self.machine.on_hurry(token, self._moment()))

    def forget(self, token: Token) -> None:
        """Nobody waits for this answer any more."""
        self._do(self.machine.on_forget(token, self._moment()))

    def wait(self, milliseconds: int) -> None:
        """Lets time pass, and what is due happen in its order."""
        until = self.now_ms + milliseconds
        while due := [(at_ms, repr(key), key) for key, at_ms in self.timers.items() if at_ms <= until]:
            at_ms, _, key = min(due)
            self.now_ms = max(self.now_ms, at_ms)
            del self.timers[key]
            self._do(self.machine.on_timer(key, self._moment()))
        self.now_ms = until

    def restart(self) -> None:
        """Another machine that knows only what the first one wrote."""
        self._load(self.records)

    def restart_from_snapshot(self) -> None:
        self._load(list(self.machine.snapshot()))

    def _load(self, records: list[object]) -> None:
        self.machine = self._make_machine()
        self.timers.clear()
        for record in records:
            self.machine.replay(record)
        self._do(self.machine.on_loaded(self._moment()))

    def _moment(self) -> Moment:
        self._moments += 1
        return Moment(self.now_ms, self._moments.to_bytes(16, "big"))

    def _do(self, decision: Decision[Any]) -> None:
        self.records += decision.records
        self.events += decision.events
        for reply in decision.replies:
            assert reply.token not in self.answers, f"token {reply.token} was answered twice"
            self.answers[reply.token] = reply.answer
        for timer in decision.timers:
            if isinstance(timer, SetTimer):
                self.timers[timer.key] = timer.at_ms
            else:
                self.timers.pop(timer.key, None)
