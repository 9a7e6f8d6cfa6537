"""Heartbeats of classic members that are held because there is nothing to say, and how each of them ends.

A held heartbeat has done all that one does before it is held: only its answer waits. So none of this moves any state.

Next hop: held.py, which keeps them; push/ says how long one may be held.
"""

from kohort.machines.contract import Token
from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.classic.member import Member
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.held import Completion, HeldHeartbeat
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import HeartbeatAnswer
from kohort.model.errors import ErrorCode

ALL_IS_WELL = HeartbeatAnswer(ErrorCode.NONE)


def hold(state: GroupsState, group: ClassicGroup, member: Member, token: Token, draft: Draft) -> None:
    """An older one of the member can only have come over a connection that nobody reads any more."""
    tell_held(state, group, member, ErrorCode.NONE, draft)
    until_ms = draft.now_ms + member.hold_ms
    held = HeldHeartbeat(token, group.group_id, member.member_id, member.origin, draft.now_ms, until_ms)
    state.held.hold(held, draft)


def tell_held(state: GroupsState, group: ClassicGroup, member: Member, code: ErrorCode, draft: Draft) -> None:
    """There is news for the member: it hears it now if it has a heartbeat here."""
    held = state.held.of_member(group.group_id, member.member_id)
    if held is not None:
        state.held.take(held, draft)
        draft.answer(held.token, HeartbeatAnswer(code))


def end_hold(state: GroupsState, held: HeldHeartbeat, why: Completion, draft: Draft) -> None:
    """There is still nothing to say, but somebody cannot wait any longer."""
    state.held.take(held, draft, why)
    draft.answer(held.token, ALL_IS_WELL)
