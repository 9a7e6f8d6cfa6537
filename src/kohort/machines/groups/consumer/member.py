"""A member of a group of the consumer protocol: what is durable of it, and what is known only while it is alive.

Decides nothing. Next hop: group.py, which has the members.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from kohort.machines.contract import Token
from kohort.machines.groups.assignors.assignor import NO_PARTITIONS, Partitions
from kohort.machines.groups.consumer.reconciliation import NOT_YET_JOINED, AssignedPartitions, Position
from kohort.machines.groups.consumer.subscriptions import Subscription, subscription_of
from kohort.model.commands.groups import AssignedTopic, Assignment
from kohort.model.records.groups import (
    ConsumerGroupMemberMetadataRecord,
    CurrentMemberAssignmentRecord,
    RecordPartitionEpochs,
    RecordTopicPartitions,
)

LEFT_FOR_A_WHILE_EPOCH = -2
"""The epoch of a static member that closed and is expected back."""


@dataclass(eq=False, slots=True)
class Held:
    """A heartbeat that is not answered yet."""

    token: Token
    group_id: str
    member_id: str
    is_join: bool
    """The member has not been told its epoch."""
    is_full: bool
    """The member said all there is about it, so it is told all: a held heartbeat has said that it owns what it has."""
    until_ms: int


@dataclass(eq=False, slots=True)
class Presence:
    """What a member last let us see of it. Not durable: after a restart it is given all the time that it had."""

    expires_at_ms: int = 0
    timer_at_ms: int = 0
    """When its session is next looked at: never later than it expires."""
    connection_id: int = 0
    software_name: str = ""
    held: Held | None = None
    told_interval_ms: int = 0
    """The heartbeat interval that it was last told; 0 before its first answer."""
    revoking_since_epoch: int = -1
    """Its epoch when it was told to give up partitions."""


@dataclass(eq=False, slots=True)
class Member:
    """Everything but `presence` is changed by replay only."""

    metadata: ConsumerGroupMemberMetadataRecord
    position: Position = NOT_YET_JOINED
    target: Partitions = field(default_factory=lambda: NO_PARTITIONS)
    presence: Presence = field(default_factory=Presence)

    @property
    def member_id(self) -> str:
        return self.metadata.member_id

    @property
    def subscription(self) -> Subscription:
        return subscription_of(self.metadata)

    @property
    def uses_classic_protocol(self) -> bool:
        return self.metadata.classic_member_metadata is not None


def assignment_of(assigned: AssignedPartitions) -> Assignment:
    return Assignment(tuple(AssignedTopic(topic_id, tuple(epochs)) for topic_id, epochs in assigned.items()))


def current_assignment_record(group_id: str, member_id: str, position: Position) -> CurrentMemberAssignmentRecord:
    return CurrentMemberAssignmentRecord(
        group_id,
        member_id,
        position.epoch,
        position.previous_epoch,
        position.state,
        _with_epochs(position.assigned),
        _with_epochs(position.pending),
    )


def position_of(record: CurrentMemberAssignmentRecord) -> Position:
    return Position(
        record.member_epoch,
        record.previous_member_epoch,
        record.state,
        _without_epochs(record.assigned_partitions),
        _without_epochs(record.partitions_pending_revocation),
    )


def topic_partitions(partitions: Partitions) -> tuple[RecordTopicPartitions, ...]:
    return tuple(RecordTopicPartitions(topic_id, indexes) for topic_id, indexes in partitions.items())


def _with_epochs(assigned: AssignedPartitions) -> tuple[RecordPartitionEpochs, ...]:
    return tuple(
        RecordPartitionEpochs(topic_id, tuple(epochs), tuple(epochs.values())) for topic_id, epochs in assigned.items()
    )


def _without_epochs(topics: Iterable[RecordPartitionEpochs]) -> AssignedPartitions:
    return {topic.topic_id: dict(zip(topic.partitions, topic.assignment_epochs)) for topic in topics}
