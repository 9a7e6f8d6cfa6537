"""What administrators ask of groups: which there are, how a classic one stands, and that one be deleted.

Next hop: classic/group.py and consumer/group.py describe themselves; removal.py has the records of a deletion.
"""

from kohort.machines.contract import Token
from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.removal import removal_of_group
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import (
    DeleteGroup,
    DescribeGroup,
    GroupConfigsChanged,
    GroupDeleted,
    GroupDescribed,
    ListedGroup,
    ListGroups,
    ListGroupsAnswer,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.group_settings import group_settings


def handle_list_groups(state: GroupsState, command: ListGroups, token: Token, draft: Draft) -> None:
    states = {each.lower() for each in command.states_filter}
    types = {each.lower() for each in command.types_filter}

    def is_asked_for(group: ListedGroup) -> bool:
        return not (states and group.group_state.lower() not in states) and not (
            types and group.group_type.lower() not in types
        )

    listed = (
        group.listed()._replace(identity=state.identities.get(group_id, "")) for group_id, group in state.groups.items()
    )
    draft.answer(token, ListGroupsAnswer(ErrorCode.NONE, tuple(filter(is_asked_for, listed))))


def handle_group_configs_changed(state: GroupsState, command: GroupConfigsChanged, token: Token, draft: Draft) -> None:
    """Members hear of it in the answers to their next heartbeats."""
    before = state.own_settings
    state.own_settings = {
        group_id: group_settings(configs, state.settings) for group_id, configs in command.configs.items()
    }
    for group_id in {**before, **state.own_settings}:
        group = state.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            for member in group.members.values():
                member.presence.last_answer = None
    draft.answer(token, None)


def handle_describe_group(state: GroupsState, command: DescribeGroup, token: Token, draft: Draft) -> None:
    group = state.groups.get(command.group_id)
    if isinstance(group, ClassicGroup):
        draft.answer(token, group.described())
        return
    problem = "not found" if group is None else "is not a classic group"
    missing = GroupDescribed(
        ErrorCode.GROUP_ID_NOT_FOUND,
        command.group_id,
        "Dead",
        error_message=f"Group {command.group_id} {problem}.",
    )
    draft.answer(token, missing)


def handle_delete_group(state: GroupsState, command: DeleteGroup, token: Token, draft: Draft) -> None:
    group = state.groups.get(command.group_id)
    if group is None:
        raise ProtocolError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no group {command.group_id}.")
    group.check_deletion()
    draft.write(*removal_of_group(state, group))
    # One that nothing was ever written of, with a member that has yet to come back with its id.
    state.groups.pop(command.group_id, None)
    draft.answer(token, GroupDeleted(command.group_id, ErrorCode.NONE))
