"""A member of a group of the consumer protocol: what is durable of it, and what is known only while it is alive.

Decides nothing. Next hop: group.py, which has the members.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kohort.machines.contract import Token
from kohort.machines.groups.assignors.assignor import NO_PARTITIONS, Partitions
from kohort.machines.groups.consumer.reconciliation import NOT_YET_JOINED, AssignedPartitions, Owned, Position
from kohort.machines.groups.consumer.subscriptions import Subscription, subscription_of
from kohort.model.commands.groups import (
    NO_ORIGIN,
    AssignedTopic,
    Assignment,
    ConsumerGroupHeartbeatAnswer,
    Origin,
)
from kohort.model.records.groups import (
    ConsumerGroupMemberMetadataRecord,
    CurrentMemberAssignmentRecord,
    RecordPartitionEpochs,
    RecordTopicPartitions,
)

LEAVE_EPOCH: Final = -1
LEFT_FOR_A_WHILE_EPOCH: Final = -2
"""The epoch of a static member that closed and is expected back."""
NEVER_MS: Final = 1 << 62


class WaitingJoin(NamedTuple):
    """A JoinGroup of a classic member that is not answered yet."""

    token: Token
    owned: Owned
    """What the member owns as long as it is not answered."""
    epoch: int
    """What it takes for its epoch meanwhile."""


@dataclass(eq=False, slots=True)
class Presence:
    """What a member last let us see of it. Not durable: after a restart it is given all the time that it had."""

    origin: Origin = NO_ORIGIN
    """Of its last heartbeat."""
    heard_at_ms: int = 0
    expires_at_ms: int = NEVER_MS
    timer_at_ms: int = NEVER_MS
    """When its session is next looked at: a heartbeat moves only expires_at_ms, and the timer looks again."""
    told_interval_ms: int = 0
    """The heartbeat interval that it was last told; 0 before its first answer."""
    hold_ms: int = 0
    """How long its heartbeats may be held, with that interval and on that connection."""
    last_answer: ConsumerGroupHeartbeatAnswer | None = None
    """If it told no assignment, it can be given again."""
    is_revoking: bool = False
    """A timer runs until which it must have given up what it was told to."""
    waiting_join: WaitingJoin | None = None
    """It speaks the classic protocol, and waits for what it is to have."""
    is_to_join: bool = False
    """It speaks the classic protocol, and a timer runs until which it must have joined again."""
    is_to_sync: bool = False
    """It speaks the classic protocol, and a timer runs until which it must have asked for its assignment."""


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
