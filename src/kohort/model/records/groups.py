"""The records of a shard of groups: what __consumer_offsets says, record type by record type, as values.

A record says the whole of one thing, and its Remove record that the thing is gone (Kafka's tombstone). All are Kafka's
own but GroupIdentityRecord, whose type (wire/group_records.py) Kafka does not know and skips.
"""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple
from uuid import UUID

from kohort.model.ids import NO_TOPIC_ID

NO_METADATA_HASH = 0


@dataclass(frozen=True, slots=True)
class GroupIdentityRecord:
    """Who the group is, whatever it is called: cgp_ and a ULID, minted with its first record."""

    group_id: str
    identity: str


@dataclass(frozen=True, slots=True)
class RemoveGroupIdentityRecord:
    group_id: str


# Offsets


class OffsetCommitRecord(NamedTuple):
    """What a group committed to one topic at one time, in columns: what stands at the same place of partitions,
    offsets, leader_epochs and metadata belongs together. In the log each partition is a record of its own."""

    group_id: str
    topic: str
    partitions: tuple[int, ...]
    offsets: tuple[int, ...]
    leader_epochs: tuple[int, ...]
    metadata: tuple[str, ...]
    """Empty if no partition has any."""
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None
    """None: the broker's retention counts."""
    topic_id: UUID = NO_TOPIC_ID
    """Guards against a topic that was made again under the same name."""


class RemoveOffsetRecord(NamedTuple):
    group_id: str
    topic: str
    partition: int


# Classic groups


@dataclass(frozen=True, slots=True)
class GroupMetadataMember:
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    """What the member said to the protocol that was chosen."""
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupMetadataRecord:
    """A generation whose assignment is known, or the one that a group was emptied with."""

    group_id: str
    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    current_state_timestamp_ms: int
    members: tuple[GroupMetadataMember, ...]


@dataclass(frozen=True, slots=True)
class RemoveGroupMetadataRecord:
    group_id: str


# Groups of the consumer protocol (KIP-848)


class MemberState(IntEnum):
    """How far a member is on its way to its target, by Kafka's numbers."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class ConsumerGroupMetadataRecord:
    group_id: str
    epoch: int
    metadata_hash: int = NO_METADATA_HASH


@dataclass(frozen=True, slots=True)
class RemoveConsumerGroupMetadataRecord:
    group_id: str


@dataclass(frozen=True, slots=True)
class RemoveConsumerGroupPartitionMetadataRecord:
    """What Kafka before 4.1 knew of the topics of a group. It is never written."""

    group_id: str


@dataclass(frozen=True, slots=True)
class ClassicProtocol:
    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class ClassicMemberMetadata:
    """What a member that speaks the classic protocol brought into a group of the consumer protocol."""

    session_timeout_ms: int
    supported_protocols: tuple[ClassicProtocol, ...]


@dataclass(frozen=True, slots=True)
class ConsumerGroupMemberMetadataRecord:
    group_id: str
    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    rebalance_timeout_ms: int
    server_assignor: str | None
    classic_member_metadata: ClassicMemberMetadata | None = None


@dataclass(frozen=True, slots=True)
class RemoveConsumerGroupMemberMetadataRecord:
    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class TargetAssignmentMetadataRecord:
    """Written last of a new target: from now on it is whole."""

    group_id: str
    assignment_epoch: int
    assignment_timestamp_ms: int = 0


@dataclass(frozen=True, slots=True)
class RemoveTargetAssignmentMetadataRecord:
    group_id: str


class RecordTopicPartitions(NamedTuple):
    topic_id: UUID
    partitions: tuple[int, ...]


class RecordPartitionEpochs(NamedTuple):
    """Partitions of a topic, and beside each the epoch at which it was assigned."""

    topic_id: UUID
    partitions: tuple[int, ...]
    assignment_epochs: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TargetAssignmentMemberRecord:
    group_id: str
    member_id: str
    topic_partitions: tuple[RecordTopicPartitions, ...]


@dataclass(frozen=True, slots=True)
class RemoveTargetAssignmentMemberRecord:
    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class CurrentMemberAssignmentRecord:
    group_id: str
    member_id: str
    member_epoch: int
    previous_member_epoch: int
    state: MemberState
    assigned_partitions: tuple[RecordPartitionEpochs, ...]
    partitions_pending_revocation: tuple[RecordPartitionEpochs, ...]


@dataclass(frozen=True, slots=True)
class RemoveCurrentMemberAssignmentRecord:
    group_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class RegularExpressionRecord:
    """The topics that a regular expression stood for at a time; version is of the catalog that was looked at."""

    group_id: str
    regular_expression: str
    topics: tuple[str, ...]
    version: int
    timestamp_ms: int


@dataclass(frozen=True, slots=True)
class RemoveRegularExpressionRecord:
    group_id: str
    regular_expression: str


@dataclass(frozen=True, slots=True)
class UnknownRecord:
    """A record of a type that this kohort does not know, as of share groups. It changes nothing."""

    record_type: int


ConsumerGroupRecord = (
    ConsumerGroupMetadataRecord
    | RemoveConsumerGroupMetadataRecord
    | RemoveConsumerGroupPartitionMetadataRecord
    | ConsumerGroupMemberMetadataRecord
    | RemoveConsumerGroupMemberMetadataRecord
    | TargetAssignmentMetadataRecord
    | RemoveTargetAssignmentMetadataRecord
    | TargetAssignmentMemberRecord
    | RemoveTargetAssignmentMemberRecord
    | CurrentMemberAssignmentRecord
    | RemoveCurrentMemberAssignmentRecord
    | RegularExpressionRecord
    | RemoveRegularExpressionRecord
)

GroupsRecord = (
    GroupIdentityRecord
    | RemoveGroupIdentityRecord
    | OffsetCommitRecord
    | RemoveOffsetRecord
    | GroupMetadataRecord
    | RemoveGroupMetadataRecord
    | ConsumerGroupRecord
    | UnknownRecord
)
