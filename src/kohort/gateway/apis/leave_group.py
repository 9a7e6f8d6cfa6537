"""LeaveGroup: members of the classic protocol leave, or an administrator removes them.

Versions: 3 many members, by id or by instance, each with its own error; 4 flexible; 5 reason.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from functools import partial

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import LeaveGroup, LeaveGroupAnswer, LeavingMember
from kohort.model.errors import Refused

_MANY_MEMBERS_SINCE = 3
_REASON_SINCE = 5


def handle_leave_group(request: Request, call: Call) -> None:
    if call.version < _MANY_MEMBERS_SINCE:
        call.send(LeaveGroup(request.group_id, (LeavingMember(request.member_id),)), partial(_answer_one, call))
        return
    gives_reason = call.version >= _REASON_SINCE
    members = tuple(
        LeavingMember(member.member_id, member.group_instance_id, member.reason if gives_reason else None)
        for member in request.members
    )
    call.send(LeaveGroup(request.group_id, members), call.answer)


def _answer_one(call: Call, answer: LeaveGroupAnswer) -> None:
    """The one member's error stands where newer versions have that of the request."""
    error_code = answer.error_code or next((member.error_code for member in answer.members), 0)
    call.answer(LeaveGroupAnswer(error_code))


def refuse_leave_group(request: Request, refused: Refused, call: Call) -> Message:
    return LeaveGroupAnswer(refused.error_code)


LEAVE_GROUP = Api(13, "LeaveGroup", 0, 5, handle_leave_group, refuse_leave_group)
