"""Groups of the consumer protocol when the org's topics are others than before: what their regular expressions stand
for, and whether they have other partitions to share.

Topics that nobody in a group has heard of cost the group one look at their names.

Next hop: target.py.
"""

from collections.abc import Collection

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.regular_expressions import resolve_again
from kohort.machines.groups.consumer.target import assign_soon, bump_epoch
from kohort.machines.groups.consumer.telling import tell_expectant
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.machines.groups.topics import NO_TOPICS, Topics

TOPICS_CHANGED = "subscribed topics changed"


def on_topics_changed(state: GroupsState, before: Topics, draft: Draft) -> None:
    """state.topics are the new ones already."""
    changed = _changed_names(before, state.topics)
    for group in tuple(state.groups.values()):
        if isinstance(group, ConsumerGroup):
            # Nobody can say after a restart what went meanwhile, so a group looks at all that it ever wanted.
            unknown = group.subscriptions.all_names() if before is NO_TOPICS else ()
            _look_again(state, group, (*changed, *unknown), draft)


def _changed_names(before: Topics, after: Topics) -> tuple[str, ...]:
    """Of topics that were made, removed or changed in any way."""
    was, now = before.by_name, after.by_name
    return tuple(sorted(name for name in was.keys() | now.keys() if was.get(name) is not now.get(name)))


def _look_again(state: GroupsState, group: ConsumerGroup, changed: Collection[str], draft: Draft) -> None:
    subscriptions = group.subscriptions
    is_concerned = subscriptions.follow_topics(state.topics, changed)
    for known in tuple(subscriptions.expressions.values()):
        resolved = resolve_again(known, changed, state.topics, draft.now_ms)
        if resolved is not None:
            draft.write(resolved)
            is_concerned = True
    if is_concerned and subscriptions.metadata_hash() != group.metadata_hash:
        bump_epoch(state, group, TOPICS_CHANGED, draft)
    elif group.epoch > group.target_epoch:
        assign_soon(state, group, draft)
    tell_expectant(state, group, draft)
