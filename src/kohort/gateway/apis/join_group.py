"""JoinGroup: a member of the classic protocol comes to the group, or comes again because the group rebalances.

Versions: 1 rebalance_timeout, which was the session timeout before; 4 a new dynamic member comes again with the id that
it was given; 5 group_instance_id; 6 flexible; 7 protocol_type in answers, which say null for no protocol instead of "";
8 reason; 9 skip_assignment.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from functools import partial

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import JoinGroup, JoinGroupAnswer, Protocol
from kohort.model.errors import Refused
from kohort.wire.messages import milliseconds

_REBALANCE_TIMEOUT_SINCE = 1
_KNOWN_MEMBER_ID_SINCE = 4
_INSTANCE_ID_SINCE = 5
_NULL_PROTOCOL_SINCE = 7
_REASON_SINCE = 8
_SKIP_ASSIGNMENT_SINCE = 9


def handle_join_group(request: Request, call: Call) -> None:
    version = call.version
    session_timeout_ms = milliseconds(request.session_timeout)
    command = JoinGroup(
        request.group_id,
        request.member_id,
        request.protocol_type,
        session_timeout_ms,
        tuple(Protocol(protocol.name, protocol.metadata) for protocol in request.protocols),
        milliseconds(request.rebalance_timeout) if version >= _REBALANCE_TIMEOUT_SINCE else session_timeout_ms,
        request.group_instance_id if version >= _INSTANCE_ID_SINCE else None,
        request.reason if version >= _REASON_SINCE else None,
        requires_known_member_id=version >= _KNOWN_MEMBER_ID_SINCE,
        supports_skip_assignment=version >= _SKIP_ASSIGNMENT_SINCE,
        origin=call.client.as_origin(),
    )
    call.send(command, partial(_answer, call))


def _answer(call: Call, answer: JoinGroupAnswer) -> None:
    no_protocol = None if call.version >= _NULL_PROTOCOL_SINCE else ""
    call.answer(answer._replace(protocol_name=answer.protocol_name or no_protocol))


def refuse_join_group(request: Request, refused: Refused, call: Call) -> Message:
    no_protocol = None if call.version >= _NULL_PROTOCOL_SINCE else ""
    return JoinGroupAnswer(refused.error_code, protocol_name=no_protocol, member_id=request.member_id)


JOIN_GROUP = Api(11, "JoinGroup", 0, 9, handle_join_group, refuse_join_group)
