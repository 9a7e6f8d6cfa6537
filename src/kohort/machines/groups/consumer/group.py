"""A group of the consumer protocol: its members, its epochs, and who has which partition.

All of it is durable and changed by replay only. Records of a group may come in any order, as a log that was compacted
has them, so whichever names a member first makes it.

Next hop: heartbeat.py, target.py and describe.py read it; member.py and subscriptions.py are its parts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from kohort.machines.groups.assignors.assignor import NO_PARTITIONS, Partitions
from kohort.machines.groups.consumer.member import (
    Member,
    current_assignment_record,
    position_of,
    topic_partitions,
)
from kohort.machines.groups.consumer.ownership import Owners, Ownership
from kohort.machines.groups.consumer.reconciliation import NOT_YET_JOINED, AssignedPartitions, Goal, Position
from kohort.machines.groups.consumer.subscriptions import Subscriptions
from kohort.machines.groups.recorder import Recorder
from kohort.machines.groups.topics import Topics
from kohort.model.commands.groups import ListedGroup, OffsetCommit, OffsetFetch
from kohort.model.consumer_protocol import CONSUMER_PROTOCOL_TYPE
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import TopicId
from kohort.model.records.groups import (
    NO_METADATA_HASH,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMetadataRecord,
    ConsumerGroupRecord,
    CurrentMemberAssignmentRecord,
    GroupsRecord,
    MemberState,
    OffsetCommitRecord,
    RegularExpressionRecord,
    RemoveConsumerGroupMemberMetadataRecord,
    RemoveConsumerGroupMetadataRecord,
    RemoveConsumerGroupPartitionMetadataRecord,
    RemoveCurrentMemberAssignmentRecord,
    RemoveRegularExpressionRecord,
    RemoveTargetAssignmentMemberRecord,
    RemoveTargetAssignmentMetadataRecord,
    TargetAssignmentMemberRecord,
    TargetAssignmentMetadataRecord,
)

FIRST_EPOCH: Final = 1
"""The epoch of a group, and of its target, before anybody subscribed to anything."""
GROUP_TYPE: Final = "consumer"


class ConsumerGroup:
    def __init__(self, group_id: str, topics: Topics) -> None:
        self._group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = NO_METADATA_HASH
        self.target_epoch = FIRST_EPOCH
        self.target_timestamp_ms = 0
        self.members: Final[dict[str, Member]] = {}
        self.static_members: Final[dict[str, str]] = {}
        """Member ids by instance id."""
        self.classic_members: Final[dict[str, None]] = {}
        """Members that speak the classic protocol: there are some while a group changes its protocol."""
        self.subscriptions: Final = Subscriptions()
        self.subscriptions.set_topics(topics)
        self.ownership: Final = Ownership()
        self.assignor_votes: Final[Counter[str]] = Counter()
        """How many members ask for an assignor, by its name."""
        # What follows is volatile.
        self.recorder: Final = Recorder()
        self.owners_before: Owners = {}
        """What the recorder was given as the owners of partitions before its rebalance."""
        self.unsettled: Final[dict[str, None]] = {}
        """Members that do not have yet what the last target gave them."""
        self.expectant: Final[dict[str, None]] = {}
        """Members that may have to be told something: they have another target, or a partition became free for them."""
        self.held_joins: Final[dict[str, None]] = {}
        """Members whose joins are held, at least until there is another target."""
        self.assigned_at_ms = 0
        """When the last target was made."""
        self.assigned_changes = 0
        """How many members it gave something else than before."""
        self.assign_at_ms: int | None = None
        """When the next one will be, if a timer runs."""
        self.changed_at_ms = 0
        """When the first change came that it is for."""

    @property
    def group_id(self) -> str:
        return self._group_id

    @property
    def state(self) -> str:
        if not self.members:
            return "Empty"
        if self.epoch > self.target_epoch:
            return "Assigning"
        for member in self.members.values():
            if member.position.state != MemberState.STABLE or member.position.epoch != self.target_epoch:
                return "Reconciling"
        return "Stable"

    def goal_of(self, member: Member) -> Goal:
        """Where a member is to get."""
        subscribed = self.subscriptions.subscribed(member.subscription).topic_ids
        return Goal(member.target, self.target_epoch, subscribed, self.ownership.is_taken)

    def static_member(self, instance_id: str) -> Member | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def is_settled(self) -> bool:
        """Whether every member has what the last word of the group gave it."""
        return not self.unsettled and self.epoch == self.target_epoch

    # Replay

    def replay(self, record: ConsumerGroupRecord) -> None:
        match record:
            case CurrentMemberAssignmentRecord():
                self._set_position(self._member(record.member_id), position_of(record))
            case RemoveCurrentMemberAssignmentRecord():
                self._set_position(self._member(record.member_id), NOT_YET_JOINED)
            case TargetAssignmentMemberRecord():
                self._set_target(self._member(record.member_id), dict(record.topic_partitions))
            case RemoveTargetAssignmentMemberRecord():
                self._set_target(self._member(record.member_id), NO_PARTITIONS)
            case TargetAssignmentMetadataRecord():
                self.target_epoch = record.assignment_epoch
                self.target_timestamp_ms = record.assignment_timestamp_ms
            case ConsumerGroupMetadataRecord():
                self.epoch = record.epoch
                self.metadata_hash = record.metadata_hash
            case ConsumerGroupMemberMetadataRecord():
                self._set_metadata(record)
            case RemoveConsumerGroupMemberMetadataRecord():
                self._remove_member(record.member_id)
            case RegularExpressionRecord():
                self.subscriptions.set_expression(record)
            case RemoveRegularExpressionRecord():
                self.subscriptions.remove_expression(record.regular_expression)
            case RemoveTargetAssignmentMetadataRecord() | RemoveConsumerGroupMetadataRecord():
                pass  # They come with the end of the group, which its owner sees to.
            case RemoveConsumerGroupPartitionMetadataRecord():
                pass  # What it takes back was never read.

    def _member(self, member_id: str) -> Member:
        member = self.members.get(member_id)
        if member is None:
            member = Member(_unknown_metadata(self._group_id, member_id))
            self.members[member_id] = member
            self.subscriptions.add(member.subscription)
        return member

    def _set_metadata(self, metadata: ConsumerGroupMemberMetadataRecord) -> None:
        member = self._member(metadata.member_id)
        before = member.subscription
        self._count_vote(member, -1)
        member.metadata = metadata
        self._count_vote(member, 1)
        if member.subscription != before:
            self.subscriptions.remove(before)
            self.subscriptions.add(member.subscription)
        if metadata.instance_id is not None:
            self.static_members[metadata.instance_id] = metadata.member_id
        if metadata.classic_member_metadata is not None:
            self.classic_members[metadata.member_id] = None
        else:
            self.classic_members.pop(metadata.member_id, None)

    def _remove_member(self, member_id: str) -> None:
        member = self.members.get(member_id)
        if member is None:
            return
        self._set_position(member, NOT_YET_JOINED)
        self._set_target(member, NO_PARTITIONS)
        self.subscriptions.remove(member.subscription)
        self._count_vote(member, -1)
        del self.members[member_id]
        self.classic_members.pop(member_id, None)
        self.unsettled.pop(member_id, None)
        self.expectant.pop(member_id, None)
        self.held_joins.pop(member_id, None)
        instance_id = member.metadata.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member_id:
            del self.static_members[instance_id]

    def _count_vote(self, member: Member, by: int) -> None:
        if member.metadata.server_assignor is not None:
            self.assignor_votes[member.metadata.server_assignor] += by

    def _set_target(self, member: Member, target: Partitions) -> None:
        self.ownership.change_heir(member.member_id, member.target, target)
        member.target = target

    def _set_position(self, member: Member, position: Position) -> None:
        before = member.position
        member.position = position
        if position.state is MemberState.STABLE and position.epoch == self.target_epoch:
            self.unsettled.pop(member.member_id, None)
        if position.assigned != before.assigned or position.pending != before.pending:
            for heir in self.ownership.change_owner(member.member_id, before, position):
                self.expectant[heir] = None

    # Records

    def snapshot(self) -> Iterator[GroupsRecord]:
        yield ConsumerGroupMetadataRecord(self._group_id, self.epoch, self.metadata_hash)
        for member_id, member in self.members.items():
            yield member.metadata
            if member.target:
                yield TargetAssignmentMemberRecord(self._group_id, member_id, topic_partitions(member.target))
            if member.position is not NOT_YET_JOINED:
                yield current_assignment_record(self._group_id, member_id, member.position)
        yield from self.subscriptions.expressions.values()
        yield TargetAssignmentMetadataRecord(self._group_id, self.target_epoch, self.target_timestamp_ms)

    def removal(self) -> Iterator[GroupsRecord]:
        for member_id in self.members:
            yield from self.member_removal(member_id)
        yield RemoveTargetAssignmentMetadataRecord(self._group_id)
        for expression in self.subscriptions.expressions:
            yield RemoveRegularExpressionRecord(self._group_id, expression)
        yield RemoveConsumerGroupMetadataRecord(self._group_id)

    def member_removal(self, member_id: str) -> Iterable[GroupsRecord]:
        return (
            RemoveCurrentMemberAssignmentRecord(self._group_id, member_id),
            RemoveTargetAssignmentMemberRecord(self._group_id, member_id),
            RemoveConsumerGroupMemberMetadataRecord(self._group_id, member_id),
        )

    # What offsets, lists and deletions ask

    def listed(self) -> ListedGroup:
        return ListedGroup(self._group_id, CONSUMER_PROTOCOL_TYPE, self.state, GROUP_TYPE)

    def check_offset_commit(self, command: OffsetCommit) -> None:
        epoch = command.generation_id_or_member_epoch
        if epoch < 0 and not self.members:
            return
        member = self.known_member(command.member_id)
        stale = ErrorCode.ILLEGAL_GENERATION if member.uses_classic_protocol else ErrorCode.STALE_MEMBER_EPOCH
        if not member.uses_classic_protocol and not command.knows_member_epochs:
            raise ProtocolError(ErrorCode.UNSUPPORTED_VERSION, "This version of OffsetCommit knows no member epochs.")
        if epoch == member.position.epoch:
            return
        if epoch > member.position.epoch or not self._had_all(member.position, command):
            raise ProtocolError(stale, _epoch_differs(epoch, member.position.epoch))

    def _had_all(self, position: Position, command: OffsetCommit) -> bool:
        """Whether the member had each partition of the commit already at the epoch that it commits with."""
        for topic in command.topics:
            topic_id = topic.topic_id
            if topic.name:
                known = self.subscriptions.topics.by_name.get(topic.name)
                if known is None:
                    return False
                topic_id = known.topic_id
            for partition in topic.partition_indexes:
                assigned_at = _assignment_epoch(position.assigned, topic_id, partition)
                if assigned_at is None:
                    assigned_at = _assignment_epoch(position.pending, topic_id, partition)
                if assigned_at is None or command.generation_id_or_member_epoch < assigned_at:
                    return False
        return True

    def after_offset_commit(self, command: OffsetCommit, now_ms: int) -> None:
        """Only heartbeats are signs of life here."""

    def check_offset_fetch(self, command: OffsetFetch) -> None:
        if command.member_id is None and command.member_epoch < 0:
            return
        member = self.known_member(command.member_id or "")
        if command.member_epoch != member.position.epoch:
            stale = ErrorCode.ILLEGAL_GENERATION if member.uses_classic_protocol else ErrorCode.STALE_MEMBER_EPOCH
            raise ProtocolError(stale, _epoch_differs(command.member_epoch, member.position.epoch))

    def known_member(self, member_id: str) -> Member:
        member = self.members.get(member_id)
        if member is None:
            raise ProtocolError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self._group_id}."
            )
        return member

    def check_deletion(self) -> None:
        if self.members:
            raise ProtocolError(ErrorCode.NON_EMPTY_GROUP, f"Group {self._group_id} has members.")

    def check_offset_deletion(self) -> None:
        """Which offsets may go is asked topic by topic."""

    def is_subscribed_to(self, topic: str) -> bool:
        return self.subscriptions.is_subscribed_to(topic)

    def has_expired(self, offset: OffsetCommitRecord, now_ms: int, retention_ms: int) -> bool:
        return offset.commit_timestamp_ms + retention_ms <= now_ms and not self.is_subscribed_to(offset.topic)

    def may_be_forgotten(self) -> bool:
        return not self.members


def _assignment_epoch(partitions: AssignedPartitions, topic_id: TopicId, partition: int) -> int | None:
    epochs = partitions.get(topic_id)
    return None if epochs is None else epochs.get(partition)


def _epoch_differs(sent: int, current: int) -> str:
    return f"The member's epoch is {current}, but the request has {sent}."


def _unknown_metadata(group_id: str, member_id: str) -> ConsumerGroupMemberMetadataRecord:
    """Of a member that was named before it was described."""
    return ConsumerGroupMemberMetadataRecord(group_id, member_id, None, None, "", "", (), None, -1, None)
