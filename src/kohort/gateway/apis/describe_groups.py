"""DescribeGroups: groups of the classic protocol with their members.

Versions: 3 authorized operations; 4 group_instance_id; 5 flexible; 6 an error for a group that is not there, which
older versions call Dead and nothing else.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.apis.authorized_operations import GROUP_OPERATIONS
from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import DescribeGroup, GroupDescribed
from kohort.model.errors import ErrorCode, Refused

_AUTHORIZED_OPERATIONS_SINCE = 3
_NOT_FOUND_SINCE = 6


class DescribedGroupsMessage(NamedTuple):
    groups: tuple[GroupDescribed, ...]
    throttle_time_ms: int = 0


def handle_describe_groups(request: Request, call: Call) -> None:
    call.send_each([DescribeGroup(group_id) for group_id in request.groups], partial(_answer, request, call))


def _answer(request: Request, call: Call, answers: tuple[GroupDescribed | Refused, ...]) -> None:
    tells_operations = call.version >= _AUTHORIZED_OPERATIONS_SINCE and request.include_authorized_operations
    groups = []
    for group_id, answer in zip(request.groups, answers, strict=True):
        group = _refused_group(group_id, answer) if isinstance(answer, Refused) else answer
        if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND and call.version < _NOT_FOUND_SINCE:
            group = group._replace(error_code=ErrorCode.NONE)
        if tells_operations and group.error_code == ErrorCode.NONE:
            group = group._replace(authorized_operations=GROUP_OPERATIONS)
        groups.append(group)
    call.answer(DescribedGroupsMessage(tuple(groups)))


def refuse_describe_groups(request: Request, refused: Refused, call: Call) -> Message:
    return DescribedGroupsMessage(tuple(_refused_group(group_id, refused) for group_id in request.groups))


def _refused_group(group_id: str, refused: Refused) -> GroupDescribed:
    return GroupDescribed(refused.error_code, group_id, "", error_message=refused.error_message)


DESCRIBE_GROUPS = Api(15, "DescribeGroups", 0, 6, handle_describe_groups, refuse_describe_groups)
