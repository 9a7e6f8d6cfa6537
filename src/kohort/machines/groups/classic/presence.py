"""Signs of life of classic members, and how a member goes: whatever waits for it is answered.

Whether a member may go, and what follows for its group, is decided elsewhere. Next hop: back to rebalance.py.
"""

from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.classic.holding import tell_held
from kohort.machines.groups.classic.member import NEVER_MS, Member
from kohort.machines.groups.classic.timers import SessionTimer
from kohort.machines.groups.connections import NO_CONNECTION
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import JoinGroupAnswer, Origin, SyncGroupAnswer
from kohort.model.errors import ErrorCode


def hear_of(state: GroupsState, group: ClassicGroup, member: Member, origin: Origin, now_ms: int) -> None:
    """The member speaks on another connection than before, or that connection says more of itself."""
    state.connections.move(group.group_id, member.member_id, member.origin.connection_id, origin.connection_id)
    state.push.on_member_heard(group.group_id, member.member_id, origin, now_ms)
    member.origin = origin
    member.hold_ms = state.push.classic_hold_ms(origin, member.session_timeout_ms, not member.is_dynamic)


def part_with(state: GroupsState, group: ClassicGroup, member: Member, code: ErrorCode, draft: Draft) -> None:
    """The member goes, or another takes its place: whatever it waits for is answered with this code."""
    join_token = group.take_join_token(member)
    if join_token is not None:
        member_id = member.member_id if code is ErrorCode.FENCED_INSTANCE_ID else ""
        draft.answer(join_token, JoinGroupAnswer(code, member_id=member_id))
    if member.sync_token is not None:
        draft.answer(member.sync_token, SyncGroupAnswer(code))
        member.sync_token = None
    tell_held(state, group, member, code, draft)
    if member.timer_at_ms != NEVER_MS:
        draft.cancel_timer(SessionTimer(group.group_id, member.member_id))
    state.connections.move(group.group_id, member.member_id, member.origin.connection_id, NO_CONNECTION)
    group.recorder.end_waiting(member.member_id, "join", draft.now_ms)
    group.recorder.end_waiting(member.member_id, "sync", draft.now_ms)


def remove_member(state: GroupsState, group: ClassicGroup, member: Member, why: str, draft: Draft) -> None:
    """What follows for the group is up to the caller."""
    record_trigger(group, why, draft)
    group.recorder.left(member.member_id)
    part_with(state, group, member, ErrorCode.UNKNOWN_MEMBER_ID, draft)
    group.remove(member)


def record_trigger(group: ClassicGroup, why: str, draft: Draft) -> None:
    """For the history: what began a rebalance, or came while it was under way."""
    ownership = {} if group.recorder.is_recording else group.ownership()
    group.recorder.trigger(why, group.generation_id, ownership, draft.now_ms)
