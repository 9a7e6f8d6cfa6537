"""LeaveGroup: members leave, or an administrator removes them; each has an outcome of its own.

Next hop: rebalance.py, where those who are left agree anew.
"""

from kohort.machines.contract import Token
from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.classic.presence import remove_member
from kohort.machines.groups.classic.rebalance import rebalance
from kohort.machines.groups.classic.sessions import forget_pending_join
from kohort.machines.groups.classic.timers import SessionTimer
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import LeaveGroup, LeaveGroupAnswer, LeavingMember, LeftMember
from kohort.model.errors import ErrorCode, ProtocolError


def handle_leave_group(state: GroupsState, command: LeaveGroup, token: Token, draft: Draft) -> None:
    if not command.group_id:
        raise ProtocolError(ErrorCode.INVALID_GROUP_ID)
    group = state.groups.get(command.group_id)
    outcomes = []
    reasons = []
    for leaving in command.members:
        code = ErrorCode.NONE
        try:
            why = _remove(state, group, leaving, draft)
            if why is not None:
                reasons.append(why)
        except ProtocolError as refusal:
            code = refusal.code
        outcomes.append(LeftMember(leaving.member_id, leaving.group_instance_id, code))
    draft.answer(token, LeaveGroupAnswer(ErrorCode.NONE, tuple(outcomes)))
    if isinstance(group, ClassicGroup) and reasons:
        rebalance(state, group, reasons[0], draft)


def _remove(state: GroupsState, group: object, leaving: LeavingMember, draft: Draft) -> str | None:
    """Why the others must agree anew, if they must; ProtocolError if nobody can leave so."""
    if not isinstance(group, ClassicGroup):
        raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID)
    if leaving.member_id in group.pending_joins:
        draft.cancel_timer(SessionTimer(group.group_id, leaving.member_id))
        forget_pending_join(state, group, leaving.member_id, draft)
        return None
    if not leaving.member_id and leaving.group_instance_id is not None:
        member = group.static_member(leaving.group_instance_id)
        if member is None:
            raise ProtocolError(ErrorCode.UNKNOWN_MEMBER_ID)
        why = f"member {member.member_id} was removed"
    else:
        member = group.checked_member(leaving.member_id, leaving.group_instance_id)
        why = f"member {member.member_id} left"
    remove_member(state, group, member, why, draft)
    return why
