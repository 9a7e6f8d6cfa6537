"""The timers of classic groups by their keys, and when a silent member's is due.

A heartbeat only moves the time at which its member expires. The timer that runs already finds that out when it is due,
and is set again; so a heartbeat costs no timer.

Next hop: sessions.py and rebalance.py decide what follows from each.
"""

from dataclasses import dataclass
from typing import Final

from kohort.machines.groups.classic.member import Member
from kohort.machines.groups.draft import Draft

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000
"""A client that lost the answer to its first JoinGroup does not know its id, and cannot come back to it."""


@dataclass(frozen=True, slots=True)
class SessionTimer:
    """A member was silent for as long as it may be, or a new one did not come back with the id that it was given."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class JoinPhaseTimer:
    """Whoever has not joined by now is left behind."""

    group_id: str


@dataclass(frozen=True, slots=True)
class InitialDelayTimer:
    """The first rebalance of an empty group may begin, unless more members came."""

    group_id: str
    remaining_ms: int


@dataclass(frozen=True, slots=True)
class SyncPhaseTimer:
    """Whoever has not asked for its assignment by now is dropped."""

    group_id: str


ClassicTimer = SessionTimer | JoinPhaseTimer | InitialDelayTimer | SyncPhaseTimer


def watch(group_id: str, member: Member, timeout_ms: int, draft: Draft) -> None:
    """The member expires when this has passed, whatever was agreed before."""
    member.expires_at_ms = expires_at_ms = draft.now_ms + timeout_ms
    if expires_at_ms < member.timer_at_ms:
        member.timer_at_ms = expires_at_ms
        draft.set_timer(SessionTimer(group_id, member.member_id), expires_at_ms)
