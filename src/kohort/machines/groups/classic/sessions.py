"""How long a classic member may be silent, and what follows when it was for too long.

Next hop: rebalance.py, where those who are left agree anew.
"""

from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.classic.member import NEVER_MS, Member
from kohort.machines.groups.classic.presence import remove_member
from kohort.machines.groups.classic.rebalance import complete_join_phase_if_all_joined, rebalance
from kohort.machines.groups.classic.timers import SessionTimer, watch
from kohort.machines.groups.connections import NO_CONNECTION
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState


def watch_loaded_groups(state: GroupsState, draft: Draft) -> None:
    """Members go on with the generation that they had, and have a whole session to show themselves."""
    for group in tuple(state.groups.values()):
        if isinstance(group, ClassicGroup):
            for member in group.members.values():
                watch(group.group_id, member, member.session_timeout_ms, draft)
            if group.members and group.leader_id is None:
                # It has left the consumer protocol, and before its members agreed on that the coordinator went down.
                rebalance(state, group, "nobody led the group", draft)
            elif len(group.members) > state.settings.group_max_size:
                rebalance(state, group, "the group has more members than it may have by now", draft)


def on_session_over(state: GroupsState, timer: SessionTimer, draft: Draft) -> None:
    group = state.groups.get(timer.group_id)
    if not isinstance(group, ClassicGroup):
        return
    member = group.members.get(timer.member_id)
    if member is None:
        forget_pending_join(state, group, timer.member_id, draft)
        return
    member.timer_at_ms = NEVER_MS
    if member.is_waiting and not member.is_new:
        return  # Its session begins again with the answer that it waits for.
    if draft.now_ms < member.expires_at_ms:
        member.timer_at_ms = member.expires_at_ms
        draft.set_timer(timer, member.expires_at_ms)
    else:
        expire(state, group, member, f"the session of member {member.member_id} ended", draft)


def expire(state: GroupsState, group: ClassicGroup, member: Member, why: str, draft: Draft) -> None:
    remove_member(state, group, member, why, draft)
    rebalance(state, group, why, draft)


def forget_pending_join(state: GroupsState, group: ClassicGroup, member_id: str, draft: Draft) -> None:
    """Nobody came back with an id that was given out: the others need not wait for it."""
    connection_id = group.pending_joins.pop(member_id, None)
    if connection_id is not None:
        state.connections.move(group.group_id, member_id, connection_id, NO_CONNECTION)
        complete_join_phase_if_all_joined(state, group, draft)
        state.forget_if_nothing(group.group_id)
