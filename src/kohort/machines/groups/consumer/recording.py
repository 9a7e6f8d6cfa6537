"""What the flight recorder is told of a group of the consumer protocol: when a rebalance begins, and when it is over.

It begins with an epoch of the group, and is over when every member has what the last target gave it. Members that
have nothing to gain or to lose by it only take up the new epoch with their next heartbeat; nobody waits for them.

Next hop: recorder.py makes an event of it.
"""

from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState

REVOCATION = "revocation"


def record_trigger(group: ConsumerGroup, why: str, draft: Draft) -> None:
    """Only partitions that change hands are remembered, from here on: what a large group has in all is not copied."""
    if not group.recorder.is_recording:
        group.owners_before = {}
        group.ownership.remember()
    group.recorder.trigger(why, group.epoch, group.owners_before, draft.now_ms)


def finish_recording(state: GroupsState, group: ConsumerGroup, draft: Draft) -> None:
    """If a rebalance is over with this decision, it is told."""
    if not group.recorder.is_recording or not group.is_settled():
        return
    before, after = group.ownership.changes(state.topics.name_of)
    group.owners_before.update(before)
    identity = state.identities.get(group.group_id, "")
    draft.tell(
        group.recorder.finish(
            group.group_id, identity, "consumer", group.epoch, len(group.members), after, draft.now_ms
        )
    )
