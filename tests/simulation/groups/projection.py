"""What a shard's records say, record by record, and nothing else: the oracle's own idea of every group.

It is folded from the records as they are decided, apart from the machine, and knows no rules: a later record replaces
an earlier one of the same key, and a Remove record takes it away.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple
from uuid import UUID

from kohort.model.records.groups import (
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMetadataRecord,
    CurrentMemberAssignmentRecord,
    GroupIdentityRecord,
    GroupMetadataRecord,
    GroupsRecord,
    OffsetCommitRecord,
    RegularExpressionRecord,
    RemoveConsumerGroupMemberMetadataRecord,
    RemoveConsumerGroupMetadataRecord,
    RemoveCurrentMemberAssignmentRecord,
    RemoveGroupIdentityRecord,
    RemoveGroupMetadataRecord,
    RemoveOffsetRecord,
    RemoveRegularExpressionRecord,
    RemoveTargetAssignmentMemberRecord,
    TargetAssignmentMemberRecord,
    TargetAssignmentMetadataRecord,
)

Partition = tuple[UUID, int]
NO_PARTITIONS: frozenset[Partition] = frozenset()


class Offset(NamedTuple):
    """A commit to one partition."""

    group_id: str
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None
    topic_id: UUID


Plain = GroupsRecord | Offset


def plain(records: Iterable[GroupsRecord]) -> Iterator[Plain]:
    """The records with each commit to several partitions taken apart: a log and a snapshot put them together as they
    like."""
    for record in records:
        if isinstance(record, OffsetCommitRecord):
            yield from _offsets(record)
        else:
            yield record


def _offsets(record: OffsetCommitRecord) -> Iterator[Offset]:
    for place, partition in enumerate(record.partitions):
        yield Offset(
            record.group_id,
            record.topic,
            partition,
            record.offsets[place],
            record.leader_epochs[place],
            record.metadata[place] if record.metadata else "",
            record.commit_timestamp_ms,
            record.expire_timestamp_ms,
            record.topic_id,
        )


@dataclass(frozen=True, slots=True)
class MemberView:
    """A member of a consumer group."""

    metadata: ConsumerGroupMemberMetadataRecord | None = None
    position: CurrentMemberAssignmentRecord | None = None
    target: TargetAssignmentMemberRecord | None = None
    assigned: frozenset[Partition] = NO_PARTITIONS
    pending: frozenset[Partition] = NO_PARTITIONS

    @property
    def epoch(self) -> int:
        return 0 if self.position is None else self.position.member_epoch

    @property
    def uses_classic_protocol(self) -> bool:
        return self.metadata is not None and self.metadata.classic_member_metadata is not None


@dataclass(slots=True)
class GroupView:
    identity: str | None = None
    classic: GroupMetadataRecord | None = None
    consumer: ConsumerGroupMetadataRecord | None = None
    target_epoch: int = 0
    highest_epoch: int = 0
    """Of its whole life, whichever protocol it followed."""
    members: dict[str, MemberView] = field(default_factory=dict)
    expressions: dict[str, RegularExpressionRecord] = field(default_factory=dict)
    offsets: dict[tuple[str, int], Offset] = field(default_factory=dict)

    @property
    def epoch(self) -> int:
        """The group epoch or the generation: 0 before the first."""
        if self.consumer is not None:
            return self.consumer.epoch
        return 0 if self.classic is None else self.classic.generation

    def member_of_instance(self, instance_id: str) -> str | None:
        for member_id, member in self.members.items():
            if member.metadata is not None and member.metadata.instance_id == instance_id:
                return member_id
        return None

    def copy(self) -> "GroupView":
        return replace(self, members=dict(self.members), expressions=dict(self.expressions), offsets=dict(self.offsets))


class Projection:
    def __init__(self) -> None:
        self.groups: dict[str, GroupView] = {}

    def copy(self) -> "Projection":
        projection = Projection()
        projection.groups = {group_id: group.copy() for group_id, group in self.groups.items()}
        return projection

    def group(self, group_id: str) -> GroupView:
        return self.groups.get(group_id, NOTHING)

    def offsets(self) -> Iterator[Offset]:
        for group in self.groups.values():
            yield from group.offsets.values()

    def positions(self) -> Iterator[CurrentMemberAssignmentRecord]:
        for group in self.groups.values():
            for member in group.members.values():
                if member.position is not None:
                    yield member.position

    def apply(self, record: Plain) -> None:
        group = self.groups.setdefault(record.group_id, GroupView())  # type: ignore[union-attr]
        match record:
            case Offset():
                group.offsets[record.topic, record.partition] = record
            case RemoveOffsetRecord():
                group.offsets.pop((record.topic, record.partition), None)
            case GroupIdentityRecord():
                group.identity = record.identity
            case RemoveGroupIdentityRecord():
                group.identity = None
                group.highest_epoch = 0
            case GroupMetadataRecord():
                group.classic = record
                group.highest_epoch = record.generation
            case RemoveGroupMetadataRecord():
                group.classic = None
            case ConsumerGroupMetadataRecord():
                group.consumer = record
                group.highest_epoch = record.epoch
            case RemoveConsumerGroupMetadataRecord():
                group.consumer = None
                group.target_epoch = 0
            case TargetAssignmentMetadataRecord():
                group.target_epoch = record.assignment_epoch
            case RegularExpressionRecord():
                group.expressions[record.regular_expression] = record
            case RemoveRegularExpressionRecord():
                group.expressions.pop(record.regular_expression, None)
            case _:
                self._apply_to_member(group, record)

    def _apply_to_member(self, group: GroupView, record: Plain) -> None:
        member_id = getattr(record, "member_id", None)
        if member_id is None or (member_id not in group.members and type(record).__name__.startswith("Remove")):
            return
        member = group.members.get(member_id, MemberView())
        match record:
            case ConsumerGroupMemberMetadataRecord():
                group.members[member_id] = replace(member, metadata=record)
            case TargetAssignmentMemberRecord():
                group.members[member_id] = replace(member, target=record)
            case RemoveTargetAssignmentMemberRecord():
                group.members[member_id] = replace(member, target=None)
            case CurrentMemberAssignmentRecord():
                assigned = _partitions(record.assigned_partitions)
                pending = _partitions(record.partitions_pending_revocation)
                group.members[member_id] = replace(member, position=record, assigned=assigned, pending=pending)
            case RemoveCurrentMemberAssignmentRecord():
                group.members[member_id] = replace(member, position=None, assigned=NO_PARTITIONS, pending=NO_PARTITIONS)
            case RemoveConsumerGroupMemberMetadataRecord():
                group.members.pop(member_id, None)


def _partitions(topics: object) -> frozenset[Partition]:
    return frozenset(
        (topic.topic_id, partition)
        for topic in topics  # type: ignore[attr-defined]
        for partition in topic.partitions
    )


NOTHING = GroupView()
"""A group that no record names."""
