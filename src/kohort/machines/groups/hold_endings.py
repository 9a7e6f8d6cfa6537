"""What ends the wait of a held heartbeat apart from news: its time is up, or another request is behind it.

Next hop: consumer/telling.py and classic/holding.py, by the protocol of the member.
"""

from kohort.machines.groups.classic import holding as classic
from kohort.machines.groups.consumer import telling as consumer
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.held import Completion, HeldHeartbeat, HeldUntil
from kohort.machines.groups.state import GroupsState


def on_held_until(state: GroupsState, key: HeldUntil, draft: Draft) -> None:
    held = state.held.of_token(key.token)
    if held is None:
        return
    group = _group_of_consumer(state, held)
    if group is not None:
        consumer.end_hold(state, group, held, draft)
    else:
        classic.end_hold(state, held, Completion.TIME_UP, draft)


def hurry(state: GroupsState, held: HeldHeartbeat, draft: Draft) -> None:
    """Answers it without changing anything."""
    group = _group_of_consumer(state, held)
    if group is not None:
        consumer.answer_hurried(state, group, held, draft)
    else:
        classic.end_hold(state, held, Completion.HURRIED, draft)


def _group_of_consumer(state: GroupsState, held: HeldHeartbeat) -> ConsumerGroup | None:
    """None for a member that speaks the classic protocol, whichever the group follows."""
    group = state.groups[held.group_id]
    if not isinstance(group, ConsumerGroup) or group.members[held.member_id].uses_classic_protocol:
        return None
    return group
