"""Which partitions each member is to have: when that is worked out anew, and how.

Theory. Whatever changes who could have what (members, subscriptions, topics) gives the group another epoch, and the
epoch asks for another target. A change that comes alone is followed by its target at once. Those that come in a burst
share one: after a target the next one waits for a while that grows with the group, so that however many members join,
the coordinator spends a small part of its time on assigning, and members are not sent back and forth by every join.
Members that come first would be given everything, only to be told a moment later, when they cannot hear it, to give it
up. So in a group that has just begun, or grown, a member whose answer can wait does so until no more come.

An assignor divides the partitions; only what differs from the last target is written. Members with another target, and
those for whom a partition became free, are kept as expectant: telling.py tells them.

Next hop: assignors/, then telling.py.
"""

from typing import Final

from kohort.machines.groups.assignors.assignor import Subscriber
from kohort.machines.groups.assignors.table import ASSIGNORS
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import topic_partitions
from kohort.machines.groups.consumer.recording import record_trigger
from kohort.machines.groups.consumer.timers import TargetTimer
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.state import GroupsState
from kohort.model.records.groups import (
    ConsumerGroupMetadataRecord,
    TargetAssignmentMemberRecord,
    TargetAssignmentMetadataRecord,
)

COMPANY_MS: Final = 50
"""How long a member that may wait does so for others to join, in a group that grows. Every other prolongs it."""
MOST_COMPANY_MS: Final = 500
MEMBERS_FOR_A_MS_OF_COMPANY: Final = 4
"""So many members who have joined make the most that they wait one millisecond longer: larger groups take longer to
come together, and longer to take back what they gave too early."""
GROWING_MS: Final = 1000
"""So long after a target a group still grows: a heartbeat interval, in which not everybody can be told of another."""
MIN_QUIET_MS: Final = 10
MEMBERS_FOR_A_MS: Final = 10
"""So many members make the quiet time after a target one millisecond longer, and as many whom it changed another one:
that is what it costs to make one, and to tell of one."""
MAX_QUIET_MS: Final = 250
MAX_QUIET_AFTER_CHANGES_MS: Final = 1000


def bump_epoch(state: GroupsState, group: ConsumerGroup, why: str, draft: Draft, *, may_wait: bool = False) -> None:
    """Something changed that the next target has to heed; may_wait: whom it concerns waits for it to be worth while."""
    record_trigger(group, why, draft)
    draft.write(ConsumerGroupMetadataRecord(group.group_id, group.epoch + 1, group.subscriptions.metadata_hash()))
    assign_soon(state, group, draft, may_wait=may_wait)


def assign_soon(state: GroupsState, group: ConsumerGroup, draft: Draft, *, may_wait: bool = False) -> None:
    """At once if the last target is old enough, else when it is."""
    now_ms = draft.now_ms
    if group.assign_at_ms is None:
        group.changed_at_ms = now_ms
    at_ms = _earliest_ms(state, group, now_ms)
    if may_wait and _is_growing(group, now_ms):
        most_ms = MOST_COMPANY_MS + len(group.members) // MEMBERS_FOR_A_MS_OF_COMPANY
        at_ms = max(at_ms, min(now_ms + COMPANY_MS, group.changed_at_ms + most_ms))
    elif group.assign_at_ms is not None:
        at_ms = min(at_ms, group.assign_at_ms)
    if at_ms <= now_ms:
        assign(state, group, draft)
    elif at_ms != group.assign_at_ms:
        group.assign_at_ms = at_ms
        draft.set_timer(TargetTimer(group.group_id), at_ms)


def assign(state: GroupsState, group: ConsumerGroup, draft: Draft) -> None:
    """Makes the group's target that of its epoch."""
    if group.assign_at_ms is not None:
        group.assign_at_ms = None
        draft.cancel_timer(TargetTimer(group.group_id))
    subscribed = group.subscriptions.subscribed
    subscribers = {
        member_id: Subscriber(subscribed(member.subscription).topics, member.target, member.metadata.instance_id)
        for member_id, member in group.members.items()
    }
    partition_counts = {topic.topic_id: topic.partitions for topic in group.subscriptions.all_topics()}
    targets = ASSIGNORS[assignor_name(state, group)](subscribers, partition_counts)
    changed = [member_id for member_id, target in targets.items() if target is not subscribers[member_id].previous]
    draft.write(
        *(
            TargetAssignmentMemberRecord(group.group_id, member_id, topic_partitions(targets[member_id]))
            for member_id in changed
        ),
        TargetAssignmentMetadataRecord(group.group_id, group.epoch, draft.now_ms),
    )
    group.assigned_at_ms = draft.now_ms
    group.assigned_changes = len(changed)
    for member_id in changed:
        group.unsettled[member_id] = group.expectant[member_id] = None
    group.expectant.update(group.held_joins)
    group.held_joins.clear()


def assignor_name(state: GroupsState, group: ConsumerGroup) -> str:
    """The one that most members ask for, among equals the first by name; where nobody asks, the broker's first."""
    supported = state.settings.group_consumer_assignors
    votes = group.assignor_votes
    wanted = [name for name in sorted(votes) if name in supported and votes[name] > 0]
    return max(wanted, key=votes.__getitem__, default=supported[0])


def _is_growing(group: ConsumerGroup, now_ms: int) -> bool:
    """Whether it is likely that more members join: nobody was to have anything yet, or not for long."""
    return not group.ownership.has_heirs() or now_ms - group.assigned_at_ms < GROWING_MS


def _earliest_ms(state: GroupsState, group: ConsumerGroup, now_ms: int) -> int:
    quiet_ms = min(MIN_QUIET_MS + len(group.members) // MEMBERS_FOR_A_MS, MAX_QUIET_MS)
    quiet_ms += min(group.assigned_changes // MEMBERS_FOR_A_MS, MAX_QUIET_AFTER_CHANGES_MS)
    interval_ms = max(quiet_ms, state.settings_of(group.group_id).assignment_interval_ms)
    # A clock that was set back must not put the next target off.
    return min(group.assigned_at_ms, now_ms) + interval_ms
