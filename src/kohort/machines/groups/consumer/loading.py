"""Groups of the consumer protocol after a restart: everybody is given the time that they had, and nobody has to move.

Next hop: timers.py; on_topics_changed, which comes next, makes the target that a group may still lack.
"""

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.moves import watch_step
from kohort.machines.groups.consumer.recording import record_trigger
from kohort.machines.groups.consumer.timers import session_timeout_ms, watch
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.records.groups import MemberState

RESTARTED = "the coordinator was started again"


def on_consumer_groups_loaded(state: GroupsState, draft: Draft) -> None:
    for group in state.groups.values():
        if isinstance(group, ConsumerGroup):
            group.expectant.clear()
            _go_on(state, group, draft)


def _go_on(state: GroupsState, group: ConsumerGroup, draft: Draft) -> None:
    """A rebalance that the restart interrupted is recorded from here on."""
    for member_id, member in group.members.items():
        position = member.position
        if position.state is not MemberState.STABLE or (
            position.epoch != group.target_epoch
            and {topic_id: tuple(epochs) for topic_id, epochs in position.assigned.items()} != member.target
        ):
            group.unsettled[member_id] = None
    if not group.is_settled():
        record_trigger(group, RESTARTED, draft)
    for member in group.members.values():
        watch(group, member, draft.now_ms + session_timeout_ms(state, member), draft)
        watch_step(group, member, draft)
