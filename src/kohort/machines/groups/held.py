"""Heartbeats that are not answered yet because there is nothing to say: who they belong to, and until when they wait.

A held heartbeat is answered when its member has news, when another request arrives behind it on its connection (it is
hurried, and that answer changes nothing), or when its time is up. This file only keeps them; it decides nothing.

Next hop: classic/heartbeat.py and consumer/held.py, which answer them; push/ says how long one may be held.
"""

from collections import Counter
from dataclasses import dataclass
from enum import Enum
from typing import Final

from kohort.machines.contract import Token
from kohort.machines.groups.draft import Draft
from kohort.model.commands.groups import Origin


class Completion(Enum):
    """What ended the wait of a held heartbeat."""

    NEWS = "news"
    HURRIED = "hurried"
    TIME_UP = "time up"
    FORGOTTEN = "forgotten"


@dataclass(frozen=True, slots=True)
class HeldUntil:
    """The timer of a held heartbeat."""

    token: Token


@dataclass(frozen=True, slots=True)
class HeldHeartbeat:
    token: Token
    group_id: str
    member_id: str
    origin: Origin
    since_ms: int
    until_ms: int
    is_full: bool = False
    """A consumer that said all there is about it is told all."""
    is_join: bool = False
    """A consumer that has not been told its epoch."""


class HeldHeartbeats:
    """All of a shard, by token and by member: a member has one at most."""

    def __init__(self) -> None:
        self._by_token: Final[dict[Token, HeldHeartbeat]] = {}
        self._by_member: Final[dict[tuple[str, str], HeldHeartbeat]] = {}
        self.completions: Final[Counter[Completion]] = Counter()
        """How many there were since the machine was loaded, by what ended them."""

    def hold(self, held: HeldHeartbeat, draft: Draft) -> None:
        """The member must have none."""
        self._by_token[held.token] = held
        self._by_member[held.group_id, held.member_id] = held
        draft.set_timer(HeldUntil(held.token), held.until_ms)

    def of_token(self, token: Token) -> HeldHeartbeat | None:
        return self._by_token.get(token)

    def of_member(self, group_id: str, member_id: str) -> HeldHeartbeat | None:
        return self._by_member.get((group_id, member_id))

    def take(self, held: HeldHeartbeat, draft: Draft, why: Completion = Completion.NEWS) -> None:
        """It is answered now, or nobody waits for it any more."""
        self.completions[why] += 1
        del self._by_token[held.token]
        del self._by_member[held.group_id, held.member_id]
        draft.cancel_timer(HeldUntil(held.token))

    def __len__(self) -> int:
        return len(self._by_token)
