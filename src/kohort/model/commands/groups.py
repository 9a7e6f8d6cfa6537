"""Consumer groups: what members, committers and administrators ask, and what they are answered.

Every command but ListGroups and what the broker itself tells names one group, so it goes to the shard that the group's
hash names; who asks for several groups asks several times. Answers have Kafka's field names, and are encoded as they
are. Fields come in the order of DESIGN.md's KafkaOps, and then the rest. NamedTuples, because heartbeats and commits
are the hot path.

What differs between Kafka's versions is said by a field of its own (requires_known_member_id), never by a number.
"""

from collections.abc import Mapping
from typing import NamedTuple
from uuid import UUID

from kohort.model.ids import NO_TOPIC_ID
from kohort.model.topics import Topic

NO_GENERATION = -1
NO_TIMEOUT_MS = -1
NO_AUTHORIZED_OPERATIONS = -(1 << 31)


class Origin(NamedTuple):
    """Who sent a command: made once for a connection and shared by its commands."""

    client_id: str = ""
    client_host: str = ""
    software_name: str = ""
    connection_id: int = 0
    """Different for every connection that there ever was to a gateway; 0 is none."""
    software_version: str = ""


NO_ORIGIN = Origin()


# The classic protocol


class Protocol(NamedTuple):
    """An assignment strategy that a member can follow, and what it says to it: for consumers its subscription."""

    name: str
    metadata: bytes


class JoinGroup(NamedTuple):
    group_id: str
    member_id: str
    protocol_type: str
    session_timeout_ms: int
    protocols: tuple[Protocol, ...]
    rebalance_timeout_ms: int
    """The session timeout, where a client knows no other."""
    group_instance_id: str | None = None
    reason: str | None = None
    requires_known_member_id: bool = False
    """A new dynamic member is told its id first, and comes again with it."""
    supports_skip_assignment: bool = False
    """A static leader that came back can be told that the group has its assignment already."""
    origin: Origin = NO_ORIGIN


class JoinedMember(NamedTuple):
    """A member as the leader sees it."""

    member_id: str
    metadata: bytes
    group_instance_id: str | None = None


class JoinGroupAnswer(NamedTuple):
    error_code: int
    generation_id: int = NO_GENERATION
    protocol_name: str | None = None
    leader: str = ""
    member_id: str = ""
    members: tuple[JoinedMember, ...] = ()
    protocol_type: str | None = None
    skip_assignment: bool = False
    throttle_time_ms: int = 0


class SyncAssignment(NamedTuple):
    member_id: str
    assignment: bytes


class SyncGroup(NamedTuple):
    group_id: str
    member_id: str
    generation_id: int
    assignments: tuple[SyncAssignment, ...] = ()
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    origin: Origin = NO_ORIGIN


class SyncGroupAnswer(NamedTuple):
    error_code: int
    assignment: bytes = b""
    protocol_type: str | None = None
    protocol_name: str | None = None
    throttle_time_ms: int = 0


class Heartbeat(NamedTuple):
    group_id: str
    member_id: str
    generation_id: int
    group_instance_id: str | None = None
    origin: Origin = NO_ORIGIN


class HeartbeatAnswer(NamedTuple):
    error_code: int
    throttle_time_ms: int = 0


class LeavingMember(NamedTuple):
    """member_id "" with an instance id: whoever has that instance, as an administrator says it."""

    member_id: str
    group_instance_id: str | None = None
    reason: str | None = None


class LeaveGroup(NamedTuple):
    group_id: str
    members: tuple[LeavingMember, ...]


class LeftMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    error_code: int


class LeaveGroupAnswer(NamedTuple):
    """error_code is of the request as a whole; a request of an old version has its one member's in its place."""

    error_code: int
    members: tuple[LeftMember, ...] = ()
    throttle_time_ms: int = 0


# Offsets. A topic is named by name or by id, as the client did: the other is "" or NO_TOPIC_ID, here and in the answer.


class TopicCommit(NamedTuple):
    """Commits to partitions of a topic in columns: what stands at the same place of each belongs together."""

    name: str
    partition_indexes: tuple[int, ...]
    committed_offsets: tuple[int, ...]
    committed_leader_epochs: tuple[int, ...]
    """-1 where it is not known."""
    committed_metadata: tuple[str | None, ...] = ()
    """Empty if no partition has any."""
    topic_id: UUID = NO_TOPIC_ID


class OffsetCommit(NamedTuple):
    """Without a member (member_id "", epoch -1) it is an administrator's, or of a consumer that manages itself."""

    group_id: str
    topics: tuple[TopicCommit, ...]
    member_id: str = ""
    generation_id_or_member_epoch: int = NO_GENERATION
    group_instance_id: str | None = None
    retention_time_ms: int = NO_TIMEOUT_MS
    knows_member_epochs: bool = True
    """Not in a version that is older than KIP-848."""


class PartitionCommitted(NamedTuple):
    partition_index: int
    error_code: int


class TopicCommitted(NamedTuple):
    name: str
    partitions: tuple[PartitionCommitted, ...]
    topic_id: UUID = NO_TOPIC_ID


class OffsetCommitAnswer(NamedTuple):
    topics: tuple[TopicCommitted, ...]
    throttle_time_ms: int = 0


class TopicOffsetsQuery(NamedTuple):
    name: str
    partition_indexes: tuple[int, ...]
    topic_id: UUID = NO_TOPIC_ID


class OffsetFetch(NamedTuple):
    """topics None: all that the group has. Without a member: member_id None, epoch -1."""

    group_id: str
    topics: tuple[TopicOffsetsQuery, ...] | None
    require_stable: bool = False
    member_id: str | None = None
    member_epoch: int = NO_GENERATION


class PartitionOffsetFetched(NamedTuple):
    partition_index: int
    committed_offset: int = -1
    metadata: str | None = ""
    error_code: int = 0
    committed_leader_epoch: int = -1


class TopicOffsetsFetched(NamedTuple):
    """All topics of a group come with name and id."""

    name: str
    partitions: tuple[PartitionOffsetFetched, ...]
    topic_id: UUID = NO_TOPIC_ID


class OffsetFetchAnswer(NamedTuple):
    """One group's part of the answer, or all of it in the versions that ask for one group."""

    group_id: str
    topics: tuple[TopicOffsetsFetched, ...]
    error_code: int = 0
    throttle_time_ms: int = 0


class TopicOffsetsToDelete(NamedTuple):
    name: str
    partition_indexes: tuple[int, ...]


class OffsetDelete(NamedTuple):
    group_id: str
    topics: tuple[TopicOffsetsToDelete, ...]


class OffsetDeleteAnswer(NamedTuple):
    error_code: int
    topics: tuple[TopicCommitted, ...] = ()
    throttle_time_ms: int = 0


# The consumer protocol (KIP-848)


class AssignedTopic(NamedTuple):
    topic_id: UUID
    partitions: tuple[int, ...]


class ConsumerGroupHeartbeat(NamedTuple):
    """None and -1 say that a field is as it was. member_epoch 0 joins, -1 leaves, -2 leaves for a while (static)."""

    group_id: str
    member_id: str
    member_epoch: int
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = NO_TIMEOUT_MS
    subscribed_topic_names: tuple[str, ...] | None = None
    subscribed_topic_regex: str | None = None
    server_assignor: str | None = None
    topic_partitions: tuple[AssignedTopic, ...] | None = None
    """What the member owns."""
    requires_member_id: bool = True
    """A version that lets the coordinator choose the id of a new member does not."""
    origin: Origin = NO_ORIGIN


class Assignment(NamedTuple):
    topic_partitions: tuple[AssignedTopic, ...]


class ConsumerGroupHeartbeatAnswer(NamedTuple):
    error_code: int
    error_message: str | None = None
    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None
    throttle_time_ms: int = 0


# What an administrator asks


class ListGroups(NamedTuple):
    """Empty filters let everything through. Filters are compared without case."""

    states_filter: tuple[str, ...] = ()
    types_filter: tuple[str, ...] = ()


class ListedGroup(NamedTuple):
    group_id: str
    protocol_type: str
    group_state: str
    group_type: str
    identity: str = ""
    """Who it is, whatever it is called; "" as long as nothing was written of it. Not for Kafka's clients."""


class ListGroupsAnswer(NamedTuple):
    error_code: int
    groups: tuple[ListedGroup, ...] = ()
    throttle_time_ms: int = 0


class DescribeGroup(NamedTuple):
    """A group of the classic protocol. One that is missing is GROUP_ID_NOT_FOUND and Dead: old versions say only the
    latter."""

    group_id: str


class DescribedMember(NamedTuple):
    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    member_metadata: bytes = b""
    member_assignment: bytes = b""


class GroupDescribed(NamedTuple):
    error_code: int
    group_id: str
    group_state: str
    protocol_type: str = ""
    protocol_data: str = ""
    members: tuple[DescribedMember, ...] = ()
    error_message: str | None = None
    authorized_operations: int = NO_AUTHORIZED_OPERATIONS


class ConsumerGroupDescribe(NamedTuple):
    """A group of the consumer protocol. Any other is GROUP_ID_NOT_FOUND."""

    group_id: str


class DescribedTopic(NamedTuple):
    topic_id: UUID
    topic_name: str
    partitions: tuple[int, ...]


class DescribedAssignment(NamedTuple):
    topic_partitions: tuple[DescribedTopic, ...] = ()


class DescribedConsumer(NamedTuple):
    """member_type: 0 speaks the classic protocol, 1 the consumer protocol."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    member_epoch: int
    client_id: str
    client_host: str
    subscribed_topic_names: tuple[str, ...]
    subscribed_topic_regex: str | None
    assignment: DescribedAssignment
    target_assignment: DescribedAssignment
    member_type: int = 1


class ConsumerGroupDescribed(NamedTuple):
    error_code: int
    group_id: str
    group_state: str = ""
    group_epoch: int = 0
    assignment_epoch: int = 0
    assignor_name: str = ""
    members: tuple[DescribedConsumer, ...] = ()
    error_message: str | None = None
    authorized_operations: int = NO_AUTHORIZED_OPERATIONS


class DeleteGroup(NamedTuple):
    group_id: str


class GroupDeleted(NamedTuple):
    group_id: str
    error_code: int


# What the broker itself tells a shard. None of it is written; it is answered with None.


class TopicsChanged(NamedTuple):
    """All topics that the org has now, by name. Told before a shard's first command and whenever one is made, grown or
    removed; the mapping is never changed afterwards."""

    topics: Mapping[str, Topic]
    removed: tuple[Topic, ...] = ()
    """Those that it had when this was told before."""
    rack: str | None = None
    """Where the broker stands that has all replicas."""


class GroupConfigsChanged(NamedTuple):
    """The settings that groups of the org were given themselves, by group. Told before a shard's first command and
    whenever one changes; the mapping is never changed afterwards."""

    configs: Mapping[str, Mapping[str, str]]


class ConnectionLost(NamedTuple):
    connection_id: int
