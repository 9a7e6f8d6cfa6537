"""DeleteGroups: groups without members go, with all that they committed.

Versions: 2 flexible.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import DeleteGroup, GroupDeleted
from kohort.model.errors import Refused


class DeletedGroupsMessage(NamedTuple):
    results: tuple[GroupDeleted, ...]
    throttle_time_ms: int = 0


def handle_delete_groups(request: Request, call: Call) -> None:
    call.send_each([DeleteGroup(group_id) for group_id in request.groups_names], partial(_answer, request, call))


def _answer(request: Request, call: Call, answers: tuple[GroupDeleted | Refused, ...]) -> None:
    call.answer(
        DeletedGroupsMessage(
            tuple(
                GroupDeleted(group_id, answer.error_code) if isinstance(answer, Refused) else answer
                for group_id, answer in zip(request.groups_names, answers, strict=True)
            )
        )
    )


def refuse_delete_groups(request: Request, refused: Refused, call: Call) -> Message:
    return DeletedGroupsMessage(tuple(GroupDeleted(group_id, refused.error_code) for group_id in request.groups_names))


DELETE_GROUPS = Api(42, "DeleteGroups", 0, 2, handle_delete_groups, refuse_delete_groups)
