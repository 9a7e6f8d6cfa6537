"""The timers of groups of the consumer protocol by their keys, and when a silent member's is due.

A heartbeat only moves the time at which its member expires. The timer that runs already finds that out when it is due,
and is set again; so a heartbeat costs no timer.

Next hop: leaving.py, target.py and migration/ decide what follows from each.
"""

from dataclasses import dataclass

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import NEVER_MS, Member
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState


@dataclass(frozen=True, slots=True)
class ConsumerSessionTimer:
    """A member may have been silent for as long as it may be."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class RevocationTimer:
    """A member has not said that it gave up what it was told to."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class JoinTimer:
    """A member that speaks the classic protocol has waited long enough in its JoinGroup for what others have."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class RejoinTimer:
    """A member that speaks the classic protocol was told to join again, and has not."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class SyncTimer:
    """A member that speaks the classic protocol has joined, and has not asked for what it was assigned."""

    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class TargetTimer:
    """Enough changes of a group were gathered: it is to have another target."""

    group_id: str


def session_timeout_ms(state: GroupsState, member: Member) -> int:
    """A member that speaks the classic protocol brought a timeout of its own."""
    classic = member.metadata.classic_member_metadata
    if classic is not None:
        return classic.session_timeout_ms
    return state.settings_of(member.metadata.group_id).session_timeout_ms


def watch(group: ConsumerGroup, member: Member, expires_at_ms: int, draft: Draft) -> None:
    """The member expires then, whatever was agreed before."""
    presence = member.presence
    presence.expires_at_ms = expires_at_ms
    if expires_at_ms < presence.timer_at_ms:
        presence.timer_at_ms = expires_at_ms
        draft.set_timer(ConsumerSessionTimer(group.group_id, member.member_id), expires_at_ms)


def watch_revocation(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    """It has its rebalance timeout from now on."""
    member.presence.is_revoking = True
    draft.set_timer(RevocationTimer(group.group_id, member.member_id), _rebalance_timeout_at_ms(member, draft))


def stop_watching_revocation(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    if member.presence.is_revoking:
        member.presence.is_revoking = False
        draft.cancel_timer(RevocationTimer(group.group_id, member.member_id))


def watch_rejoin(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    """It has its rebalance timeout from when it was first told so."""
    if not member.presence.is_to_join:
        member.presence.is_to_join = True
        draft.set_timer(RejoinTimer(group.group_id, member.member_id), _rebalance_timeout_at_ms(member, draft))


def stop_watching_rejoin(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    if member.presence.is_to_join:
        member.presence.is_to_join = False
        draft.cancel_timer(RejoinTimer(group.group_id, member.member_id))


def watch_sync(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    """It has its rebalance timeout from each time that it joins."""
    member.presence.is_to_sync = True
    draft.set_timer(SyncTimer(group.group_id, member.member_id), _rebalance_timeout_at_ms(member, draft))


def stop_watching_sync(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    if member.presence.is_to_sync:
        member.presence.is_to_sync = False
        draft.cancel_timer(SyncTimer(group.group_id, member.member_id))


def _rebalance_timeout_at_ms(member: Member, draft: Draft) -> int:
    return draft.now_ms + max(member.metadata.rebalance_timeout_ms, 0)


def stop_watching(group: ConsumerGroup, member: Member, draft: Draft) -> None:
    """The member is gone."""
    stop_watching_revocation(group, member, draft)
    stop_watching_rejoin(group, member, draft)
    stop_watching_sync(group, member, draft)
    if member.presence.timer_at_ms != NEVER_MS:
        member.presence.timer_at_ms = NEVER_MS
        draft.cancel_timer(ConsumerSessionTimer(group.group_id, member.member_id))
