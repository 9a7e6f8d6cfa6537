"""A classic group becomes one of the consumer protocol, because a member comes that speaks it.

The epoch of the group, and that of its target, is the generation; every member is at it, with what it was assigned last
as its target and as what it has. So nobody loses anything by the change itself, and only the epoch that the newcomer
brings moves partitions. What a cooperative member owned and its leader gave nobody it may be giving up just now: the
group waits for its word, as the leader would have. Kafka gives such partitions to others at once.

Whoever waits for an answer to JoinGroup or SyncGroup is told to join again, and does so into a group that is another by
then. An empty group always changes; one with members does if the policy lets it, and if there is nothing about them
that only a classic group could keep.

Next hop: classic_members.py, where the members that are left behind in their protocol are heard from then on.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from kohort.machines.groups.assignors.assignor import NO_PARTITIONS, Partitions
from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.classic.member import Member
from kohort.machines.groups.classic.timers import JoinPhaseTimer, SessionTimer, SyncPhaseTimer
from kohort.machines.groups.consumer.group import FIRST_EPOCH, ConsumerGroup
from kohort.machines.groups.consumer.member import current_assignment_record, topic_partitions
from kohort.machines.groups.consumer.moves import watch_step
from kohort.machines.groups.consumer.presence import hear_of
from kohort.machines.groups.consumer.reconciliation import AssignedPartitions, Position
from kohort.machines.groups.consumer.recording import record_trigger
from kohort.machines.groups.consumer.target import bump_epoch
from kohort.machines.groups.draft import Draft
from kohort.machines.groups.migration.embedded import metadata_of_classic_member, partitions_by_id
from kohort.machines.groups.state import GroupsState
from kohort.model.commands.groups import JoinGroupAnswer, Origin, SyncGroupAnswer
from kohort.model.consumer_protocol import Subscription
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import TopicId
from kohort.model.records.groups import (
    ConsumerGroupMetadataRecord,
    ConsumerGroupRecord,
    MemberState,
    TargetAssignmentMemberRecord,
    TargetAssignmentMetadataRecord,
)

UPGRADED: Final = "upgraded"
_POLICIES_THAT_UPGRADE: Final = ("bidirectional", "upgrade")
_COMMON_ASSIGNORS: Final = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""None of them reads what it tells its members besides their partitions, though librdkafka's sticky one does tell them
something, for which Kafka refuses its groups."""


# What the group would be


def upgraded(state: GroupsState, group: ClassicGroup) -> ConsumerGroup:
    """The group as one of the consumer protocol; nothing is changed yet. ProtocolError if it cannot be one."""
    if group.members:
        _check_upgrade(state, group)
    after = ConsumerGroup(group.group_id, state.topics)
    epoch = max(group.generation_id, FIRST_EPOCH)
    subscriptions = {member.member_id: _subscription(state, group, member) for member in group.members.values()}
    assigned = _last_assignments(state, group)
    pending = _not_given_up(state, subscriptions, assigned)
    for member_id, member in group.members.items():
        position = _position(epoch, assigned[member_id], pending.get(member_id, NO_PARTITIONS))
        for record in _records_of_member(group, member, subscriptions[member_id], assigned[member_id], position):
            after.replay(record)
    after.replay(ConsumerGroupMetadataRecord(group.group_id, epoch, after.subscriptions.metadata_hash()))
    after.replay(TargetAssignmentMetadataRecord(group.group_id, epoch))
    return after


def _check_upgrade(state: GroupsState, group: ClassicGroup) -> None:
    if state.settings.group_consumer_migration_policy not in _POLICIES_THAT_UPGRADE:
        raise _refusal(group, "online upgrade is disabled.")
    if not group.is_consumers:
        raise _refusal(group, "the group does not use the consumer embedded protocol.")
    if len(group.members) > state.settings.group_consumer_max_size:
        raise _refusal(group, "the group size exceeds the consumer group maximum size.")


def _last_assignments(state: GroupsState, group: ClassicGroup) -> dict[str, Partitions]:
    """By member id."""
    assigned = {member_id: _last_assignment(state, group, member) for member_id, member in group.members.items()}
    if len(set(_each(assigned))) < sum(1 for _ in _each(assigned)):
        raise _refusal(group, "its leader assigned a partition to several members.")
    return assigned


def _each(assigned: Mapping[str, Partitions]) -> Iterator[tuple[TopicId, int]]:
    for partitions in assigned.values():
        for topic_id, indexes in partitions.items():
            for index in indexes:
                yield topic_id, index


def _not_given_up(
    state: GroupsState, subscriptions: Mapping[str, Subscription], assigned: Mapping[str, Partitions]
) -> dict[str, Partitions]:
    """What a member owned when it last joined and the leader gave nobody, so that it is free for the next generation.
    Of two who say that they own it, the one that heard so later is believed."""
    given = set(_each(assigned))
    pending: dict[str, Partitions] = {}
    for member_id in sorted(subscriptions, key=lambda member_id: -subscriptions[member_id].generation_id):
        owned = partitions_by_id(subscriptions[member_id].owned_partitions or {}, state.topics)
        left = {
            topic_id: kept
            for topic_id, indexes in owned.items()
            if (kept := tuple(index for index in indexes if (topic_id, index) not in given))
        }
        if left:
            pending[member_id] = left
            given.update(_each({member_id: left}))
    return pending


def _position(epoch: int, assigned: Partitions, pending: Partitions) -> Position:
    state = MemberState.UNREVOKED_PARTITIONS if pending else MemberState.STABLE
    return Position(epoch, epoch, state, _at_epoch(epoch, assigned), _at_epoch(epoch, pending))


def _at_epoch(epoch: int, partitions: Partitions) -> AssignedPartitions:
    return {topic_id: dict.fromkeys(indexes, epoch) for topic_id, indexes in partitions.items()}


def _last_assignment(state: GroupsState, group: ClassicGroup, member: Member) -> Partitions:
    """None as long as the member has never synced."""
    if not member.assignment:
        return NO_PARTITIONS
    assignment = state.consumer_protocol.decode_assignment(member.assignment)
    if assignment is None:
        raise _malformed(group)
    if assignment.user_data and group.protocol_name not in _COMMON_ASSIGNORS:
        raise _refusal(
            group,
            "an unsupported custom assignor is in use. "
            "Please refer to the documentation or switch to a default assignor before re-attempting the upgrade.",
        )
    return partitions_by_id(assignment.partitions, state.topics)


def _records_of_member(
    group: ClassicGroup, member: Member, subscription: Subscription, target: Partitions, position: Position
) -> tuple[ConsumerGroupRecord, ...]:
    group_id, member_id = group.group_id, member.member_id
    metadata = metadata_of_classic_member(
        group_id,
        member_id,
        member.group_instance_id,
        subscription,
        (member.session_timeout_ms, member.rebalance_timeout_ms),
        member.protocols,
        Origin(member.client_id, member.client_host),
    )
    return (
        metadata,
        TargetAssignmentMemberRecord(group_id, member_id, topic_partitions(target)),
        current_assignment_record(group_id, member_id, position),
    )


def _subscription(state: GroupsState, group: ClassicGroup, member: Member) -> Subscription:
    """As the member said it to the group's protocol; a consumer says the same to each that it can follow, so any does
    where none was chosen yet."""
    data = member.metadata_for(group.protocol_name) or member.protocols[0].metadata
    subscription = state.consumer_protocol.decode_subscription(data)
    if subscription is None:
        raise _malformed(group)
    return subscription


def _malformed(group: ClassicGroup) -> ProtocolError:
    return _refusal(group, "the embedded consumer protocol is malformed.")


def _refusal(group: ClassicGroup, why: str) -> ProtocolError:
    return ProtocolError(
        ErrorCode.GROUP_ID_NOT_FOUND,
        f"Cannot upgrade classic group {group.group_id} to consumer group because {why}",
    )


# The change itself


def upgrade(state: GroupsState, before: ClassicGroup, after: ConsumerGroup, draft: Draft) -> ConsumerGroup:
    """Makes the group what it would be; gives the group that is there from now on."""
    _dismiss(before, draft)
    draft.write(*before.removal(), *after.snapshot())
    group = state.made_consumer_group(before.group_id)
    for member in before.members.values():
        hear_of(state, group, group.members[member.member_id], member.origin, draft)
        watch_step(group, group.members[member.member_id], draft)
    if before.members:
        record_trigger(group, UPGRADED, draft)
        group.recorder.take_over(before.recorder, draft.now_ms)
    if not _is_whole(group):
        bump_epoch(state, group, UPGRADED, draft)
    return group


def _is_whole(group: ConsumerGroup) -> bool:
    """Whether everything that members want is somebody's. A classic group that was just changing leaves some to be
    assigned, and whoever comes now may bring no epoch: a static member in another's place does not."""
    given = set(_each({member_id: member.target for member_id, member in group.members.items()}))
    wanted = (
        (topic.topic_id, index) for topic in group.subscriptions.all_topics() for index in range(topic.partitions)
    )
    return given.issuperset(wanted)


def _dismiss(group: ClassicGroup, draft: Draft) -> None:
    """Heartbeats that are held go on being held: their members hear it there that they have to join again."""
    group_id = group.group_id
    for member in group.members.values():
        join_token = group.take_join_token(member)
        if join_token is not None:
            draft.answer(join_token, JoinGroupAnswer(ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.member_id))
        if member.sync_token is not None:
            draft.answer(member.sync_token, SyncGroupAnswer(ErrorCode.REBALANCE_IN_PROGRESS))
            member.sync_token = None
    for member_id in (*group.members, *group.pending_joins):
        draft.cancel_timer(SessionTimer(group_id, member_id))
    draft.cancel_timer(JoinPhaseTimer(group_id))
    draft.cancel_timer(SyncPhaseTimer(group_id))
