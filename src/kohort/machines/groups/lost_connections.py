"""A connection broke on which members were last heard of: a dynamic one that stays silent for a grace is expired.

Its session would say so much later. But a broken connection alone says nothing: a client that leaves may close its
connection first and say so on another, and one that goes on comes back on another. So nothing happens before the grace
is over, and nothing at all to whoever was heard of in it. Static members are expected back, and keep their session.

Next hop: classic/sessions.py and consumer/leaving.py, which expire members.
"""

from dataclasses import dataclass
from typing import Final, NamedTuple

from kohort.machines.contract import Token
from kohort.machines.groups.classic import sessions as classic
from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.classic.member import USUAL_CADENCE_MS
from kohort.machines.groups.consumer import leaving as consumer
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import ConnectionLost

SHORTEST_GRACE_MS: Final = 3000
"""For a client to find its coordinator and connect again, if the setting leaves it to us."""


@dataclass(frozen=True, slots=True)
class GraceTimer:
    """The member was last heard of on this connection, which is no more."""

    group_id: str
    member_id: str
    connection_id: int


class _Presence(NamedTuple):
    """What counts of a member, whichever protocol it speaks."""

    connection_id: int
    heard_at_ms: int
    cadence_ms: int
    """About how long it takes between two signs of life."""


def handle_connection_lost(state: GroupsState, command: ConnectionLost, token: Token, draft: Draft) -> None:
    for group_id, member_id in state.connections.take(command.connection_id):
        presence = _presence(state, group_id, member_id)
        grace_ms = 0 if presence is None else _grace_ms(state, presence)
        if grace_ms:
            draft.set_timer(GraceTimer(group_id, member_id, command.connection_id), draft.now_ms + grace_ms)
    draft.answer(token, None)


def on_grace_over(state: GroupsState, timer: GraceTimer, draft: Draft) -> None:
    presence = _presence(state, timer.group_id, timer.member_id)
    if presence is None or presence.connection_id != timer.connection_id:
        return
    silent_until_ms = presence.heard_at_ms + _grace_ms(state, presence)
    if silent_until_ms > draft.now_ms:
        draft.set_timer(timer, silent_until_ms)
    else:
        _expire(state, timer, draft)


def _presence(state: GroupsState, group_id: str, member_id: str) -> _Presence | None:
    """None for who is no member any more, or may be away for as long as its session lasts."""
    group = state.groups.get(group_id)
    if isinstance(group, ConsumerGroup):
        consumer_member = group.members.get(member_id)
        if consumer_member is None or consumer_member.metadata.instance_id is not None:
            return None
        seen = consumer_member.presence
        cadence_ms = USUAL_CADENCE_MS if consumer_member.uses_classic_protocol else seen.told_interval_ms
        return _Presence(seen.origin.connection_id, seen.heard_at_ms, cadence_ms)
    if isinstance(group, ClassicGroup):
        member = group.members.get(member_id)
        if member is not None:
            silent_since_ms = member.heard_at_ms()
            return (
                _Presence(member.origin.connection_id, silent_since_ms, member.cadence_ms)
                if member.is_dynamic
                else None
            )
        if member_id in group.pending_joins:
            return _Presence(group.pending_joins[member_id], 0, USUAL_CADENCE_MS)
    return None


def _grace_ms(state: GroupsState, presence: _Presence) -> int:
    """0: only its session counts."""
    setting_ms = state.settings.group_lost_connection_grace_ms
    return setting_ms if setting_ms >= 0 else max(SHORTEST_GRACE_MS, presence.cadence_ms * 5 // 2)


def _expire(state: GroupsState, timer: GraceTimer, draft: Draft) -> None:
    group = state.groups[timer.group_id]
    why = f"member {timer.member_id} lost its connection"
    if isinstance(group, ConsumerGroup):
        consumer.expire_member(state, group, group.members[timer.member_id], why, draft)
    elif timer.member_id in group.pending_joins:
        classic.forget_pending_join(state, group, timer.member_id, draft)
    else:
        classic.expire(state, group, group.members[timer.member_id], why, draft)
