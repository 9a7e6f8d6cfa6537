"""SyncGroup: the leader hands in what it assigned to each member, and each member is given its part.

Versions: 3 group_instance_id; 4 flexible; 5 protocol_type and protocol_name on both sides, never null in requests.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import SyncAssignment, SyncGroup, SyncGroupAnswer
from kohort.model.errors import ErrorCode, ProtocolError, Refused

_INSTANCE_ID_SINCE = 3
_PROTOCOL_SINCE = 5


def handle_sync_group(request: Request, call: Call) -> None:
    version = call.version
    names_protocol = version >= _PROTOCOL_SINCE
    if names_protocol and (request.protocol_type is None or request.protocol_name is None):
        raise ProtocolError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "The request does not name its protocol.")
    command = SyncGroup(
        request.group_id,
        request.member_id,
        request.generation_id,
        tuple(SyncAssignment(each.member_id, each.assignment) for each in request.assignments),
        request.group_instance_id if version >= _INSTANCE_ID_SINCE else None,
        request.protocol_type if names_protocol else None,
        request.protocol_name if names_protocol else None,
        call.client.as_origin(),
    )
    call.send(command, call.answer)


def refuse_sync_group(request: Request, refused: Refused, call: Call) -> Message:
    return SyncGroupAnswer(refused.error_code)


SYNC_GROUP = Api(14, "SyncGroup", 0, 5, handle_sync_group, refuse_sync_group)
