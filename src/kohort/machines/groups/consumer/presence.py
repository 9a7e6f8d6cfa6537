"""Signs of life of members of the consumer protocol, and on which connections they come.

Next hop: timers.py for when a member was silent for too long, push/ for what its client bears.
"""

from kohort.machines.groups.connections import NO_CONNECTION
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import Member
from kohort.machines.groups.consumer.timers import session_timeout_ms, stop_watching, watch
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import Origin


def hear_of(state: GroupsState, group: ConsumerGroup, member: Member, origin: Origin, draft: Draft) -> None:
    presence = member.presence
    before = presence.origin
    if before != origin:
        state.connections.move(group.group_id, member.member_id, before.connection_id, origin.connection_id)
        state.push.on_member_heard(group.group_id, member.member_id, origin, draft.now_ms)
        presence.hold_ms = state.push.consumer_hold_ms(origin, presence.told_interval_ms)
    presence.origin = origin
    presence.heard_at_ms = draft.now_ms
    watch(group, member, draft.now_ms + session_timeout_ms(state, member), draft)


def forget(state: GroupsState, group: ConsumerGroup, member: Member, draft: Draft) -> None:
    """The member is gone."""
    stop_watching(group, member, draft)
    connection_id = member.presence.origin.connection_id
    state.connections.move(group.group_id, member.member_id, connection_id, NO_CONNECTION)
