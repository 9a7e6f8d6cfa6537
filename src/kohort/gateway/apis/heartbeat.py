"""Heartbeat: a member of the classic protocol is there, and hears whether the group rebalances.

Versions: 3 group_instance_id; 4 flexible.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import Heartbeat, HeartbeatAnswer, Origin
from kohort.model.errors import ErrorCode, Refused

_INSTANCE_ID_SINCE = 3


def heartbeat(request: Request, version: int, origin: Origin) -> Heartbeat:
    return Heartbeat(
        request.group_id,
        request.member_id,
        request.generation_id,
        request.group_instance_id if version >= _INSTANCE_ID_SINCE else None,
        origin,
    )


def handle_heartbeat(command: Heartbeat, call: Call) -> None:
    call.send(command, call.answer)


def refuse_heartbeat(command: Heartbeat, refused: Refused, call: Call) -> Message:
    """While the group is being loaded all is well, as in Kafka: the member's session begins again at the end of it."""
    if refused.error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return HeartbeatAnswer(ErrorCode.NONE)
    return HeartbeatAnswer(refused.error_code)


HEARTBEAT = Api(12, "Heartbeat", 0, 4, handle_heartbeat, refuse_heartbeat, command=heartbeat)
