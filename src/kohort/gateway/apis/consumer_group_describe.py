"""ConsumerGroupDescribe: groups of the consumer protocol with their members, epochs and assignments.

Versions: 1 member_type.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.apis.authorized_operations import GROUP_OPERATIONS
from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import ConsumerGroupDescribe, ConsumerGroupDescribed
from kohort.model.errors import ErrorCode, Refused


class ConsumerGroupsMessage(NamedTuple):
    groups: tuple[ConsumerGroupDescribed, ...]
    throttle_time_ms: int = 0


def handle_consumer_group_describe(request: Request, call: Call) -> None:
    commands = [ConsumerGroupDescribe(group_id) for group_id in request.group_ids]
    call.send_each(commands, partial(_answer, request, call))


def _answer(request: Request, call: Call, answers: tuple[ConsumerGroupDescribed | Refused, ...]) -> None:
    groups = tuple(
        _refused_group(group_id, answer) if isinstance(answer, Refused) else answer
        for group_id, answer in zip(request.group_ids, answers, strict=True)
    )
    if request.include_authorized_operations:
        groups = tuple(
            group._replace(authorized_operations=GROUP_OPERATIONS) if group.error_code == ErrorCode.NONE else group
            for group in groups
        )
    call.answer(ConsumerGroupsMessage(groups))


def refuse_consumer_group_describe(request: Request, refused: Refused, call: Call) -> Message:
    return ConsumerGroupsMessage(tuple(_refused_group(group_id, refused) for group_id in request.group_ids))


def _refused_group(group_id: str, refused: Refused) -> ConsumerGroupDescribed:
    return ConsumerGroupDescribed(refused.error_code, group_id, error_message=refused.error_message)


CONSUMER_GROUP_DESCRIBE = Api(
    69, "ConsumerGroupDescribe", 0, 1, handle_consumer_group_describe, refuse_consumer_group_describe
)
