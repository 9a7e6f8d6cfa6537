"""Groups of the consumer protocol when the org's topics are others than before: what their regular expressions stand
for, and whether they have other partitions to share.

Topics that nobody in a group has heard of cost the group one look at their names.

Next hop: target.py.
"""

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.regular_expressions import resolve_expression
from kohort.machines.groups.consumer.target import assign_soon, bump_epoch
from kohort.machines.groups.consumer.telling import tell_expectant
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState

TOPICS_CHANGED = "subscribed topics changed"


def on_topics_changed(state: GroupsState, draft: Draft) -> None:
    """state.topics are the new ones already."""
    for group in tuple(state.groups.values()):
        if isinstance(group, ConsumerGroup):
            _look_again(state, group, draft)


def _look_again(state: GroupsState, group: ConsumerGroup, draft: Draft) -> None:
    subscriptions = group.subscriptions
    before = subscriptions.topics.by_name
    subscriptions.set_topics(state.topics)
    if subscriptions.expressions and before.keys() != state.topics.by_name.keys():
        for expression, known in tuple(subscriptions.expressions.items()):
            resolved = resolve_expression(group.group_id, expression, state.topics, draft.now_ms)
            if resolved.topics != known.topics:
                draft.write(resolved)
    if subscriptions.metadata_hash() != group.metadata_hash:
        bump_epoch(state, group, TOPICS_CHANGED, draft)
    elif group.epoch > group.target_epoch:
        assign_soon(state, group, draft)
    tell_expectant(state, group, draft)
