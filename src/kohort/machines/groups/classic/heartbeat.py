"""Heartbeat: a member is there, and hears whether its group rebalances; if it does not, as late as possible.

Whatever else it is, a heartbeat is the commonest request: it sets no timer and writes nothing.

Next hop: holding.py, if the answer is to wait.
"""

from typing import Final

from kohort.machines.contract import Token
from kohort.machines.groups.classic.group import ClassicGroup, State
from kohort.machines.groups.classic.holding import ALL_IS_WELL, hold
from kohort.machines.groups.classic.member import Member
from kohort.machines.groups.classic.presence import hear_of
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import Heartbeat, HeartbeatAnswer
from kohort.model.errors import ErrorCode, ProtocolError

_REBALANCE_IN_PROGRESS: Final = HeartbeatAnswer(ErrorCode.REBALANCE_IN_PROGRESS)


def answer_heartbeat(group: ClassicGroup, command: Heartbeat, now_ms: int) -> HeartbeatAnswer | None:
    """At once, unless the answer may wait or it is news where the member is."""
    member = _member_of(group, command)
    if member.hold_ms or member.origin is not command.origin:
        return None
    _begin_session(member, now_ms)
    return _REBALANCE_IN_PROGRESS if group.state is State.PREPARING_REBALANCE else ALL_IS_WELL


def handle_heartbeat(state: GroupsState, command: Heartbeat, token: Token, draft: Draft) -> None:
    group = state.groups.get(command.group_id)
    if not isinstance(group, ClassicGroup) or not command.group_id:
        code = ErrorCode.UNKNOWN_MEMBER_ID if command.group_id else ErrorCode.INVALID_GROUP_ID
        raise ProtocolError(code, f"Group {command.group_id} has no member {command.member_id}.")
    member = _member_of(group, command)
    if member.origin is not command.origin and member.origin != command.origin:
        hear_of(state, group, member, command.origin, draft.now_ms)
    _begin_session(member, draft.now_ms)
    if group.state is State.PREPARING_REBALANCE:
        draft.answer(token, _REBALANCE_IN_PROGRESS)
    elif member.hold_ms:
        hold(state, group, member, token, draft)
    else:
        draft.answer(token, ALL_IS_WELL)


def _member_of(group: ClassicGroup, command: Heartbeat) -> Member:
    """ProtocolError if it is none, or not of this generation."""
    member = group.checked_member(command.member_id, command.group_instance_id)
    group.check_generation(member, command.generation_id)
    return member


def _begin_session(member: Member, now_ms: int) -> None:
    """What is learned of its cadence comes down slowly, as every client sends one heartbeat or another in between."""
    spacing_ms = now_ms - member.heartbeat_at_ms
    if spacing_ms > member.cadence_ms:
        member.cadence_ms = spacing_ms
    elif spacing_ms > 0:
        member.cadence_ms += (spacing_ms - member.cadence_ms) >> 2
    member.heartbeat_at_ms = now_ms
    member.expires_at_ms = now_ms + member.session_timeout_ms
