"""Requests of the classic protocol go by the kind of the group that they name, since a group that follows the consumer
protocol may have classic members too.

An empty group is whatever the next member makes of it, so what there is to say of one is left to the classic side.

Next hop: classic/, or joining.py and classic_members.py.
"""

from collections.abc import Callable
from typing import Any, Final

from kohort.machines.contract import Token
from kohort.machines.groups.classic import heartbeat, join, leave, sync
from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.migration import classic_members, joining
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import Heartbeat, HeartbeatAnswer

Handle = Callable[[GroupsState, Any, Token, Draft], None]
HandleInConsumerGroup = Callable[[GroupsState, ConsumerGroup, Any, Token, Draft], None]


def _by_kind_of_group(in_classic_group: Handle, in_consumer_group: HandleInConsumerGroup) -> Handle:
    def handle(state: GroupsState, command: Any, token: Token, draft: Draft) -> None:
        group = state.groups.get(command.group_id)
        if type(group) is ConsumerGroup and group.members:
            in_consumer_group(state, group, command, token, draft)
        else:
            in_classic_group(state, command, token, draft)

    return handle


def answer_heartbeat(state: GroupsState, command: Heartbeat, now_ms: int) -> HeartbeatAnswer | None:
    """At once, if that is possible; where classic members follow the consumer protocol it never is."""
    group = state.groups.get(command.group_id)
    return heartbeat.answer_heartbeat(group, command, now_ms) if type(group) is ClassicGroup else None


handle_join_group: Final = _by_kind_of_group(join.handle_join_group, joining.join)
handle_sync_group: Final = _by_kind_of_group(sync.handle_sync_group, classic_members.sync)
handle_heartbeat: Final = _by_kind_of_group(heartbeat.handle_heartbeat, classic_members.heartbeat)
handle_leave_group: Final = _by_kind_of_group(leave.handle_leave_group, classic_members.leave)
