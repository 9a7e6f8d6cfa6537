"""ListGroups: which groups there are.

Versions: 3 flexible; 4 by state; 5 by type.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import ListGroups, ListGroupsAnswer
from kohort.model.errors import Refused

_STATES_SINCE = 4
_TYPES_SINCE = 5


def handle_list_groups(request: Request, call: Call) -> None:
    command = ListGroups(
        request.states_filter if call.version >= _STATES_SINCE else (),
        request.types_filter if call.version >= _TYPES_SINCE else (),
    )
    call.send(command, call.answer)


def refuse_list_groups(request: Request, refused: Refused, call: Call) -> Message:
    return ListGroupsAnswer(refused.error_code)


LIST_GROUPS = Api(16, "ListGroups", 0, 5, handle_list_groups, refuse_list_groups)
