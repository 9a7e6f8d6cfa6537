"""Which error codes a command may be answered with, by what the records say of its group at that moment.

For groups of the consumer protocol all that counts is durable, so mostly there is one right answer. The state of
classic groups is volatile while they rebalance, so there the sets are what the protocol allows at all; what a calm
group may say is held at the members themselves (client.py).

Next hop: oracle.py, which asks before a command is decided.
"""

from collections.abc import Iterable, Mapping, Set
from typing import Any
from uuid import UUID

from kohort.model.commands.groups import (
    AssignedTopic,
    ConsumerGroupDescribe,
    ConsumerGroupHeartbeat,
    DeleteGroup,
    DescribeGroup,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    ListGroups,
    OffsetCommit,
    OffsetDelete,
    OffsetFetch,
    SyncGroup,
    TopicCommit,
)
from kohort.model.errors import ErrorCode
from kohort.model.records.groups import RecordPartitionEpochs
from kohort.model.settings import BrokerSettings
from kohort.model.topics import Topic
from tests.simulation.groups.projection import GroupView, MemberView, Partition

Codes = Set[int]

MANY = 1_000
"""More members than any simulated group has."""
NEVER = 1 << 40
"""An epoch that is beyond all there are."""
OK = frozenset({ErrorCode.NONE})
UNKNOWN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID})
FENCED = frozenset({ErrorCode.FENCED_MEMBER_EPOCH})
MISSING = frozenset({ErrorCode.GROUP_ID_NOT_FOUND})

_IDENTITY = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})

EVER: dict[type, Codes] = {
    JoinGroup: OK
    | _IDENTITY
    | {
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.MEMBER_ID_REQUIRED,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    },
    SyncGroup: OK | _IDENTITY | {ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS},
    Heartbeat: OK | _IDENTITY | {ErrorCode.ILLEGAL_GENERATION, ErrorCode.REBALANCE_IN_PROGRESS},
    LeaveGroup: OK | _IDENTITY,
    ConsumerGroupHeartbeat: OK
    | _IDENTITY
    | FENCED
    | MISSING
    | {ErrorCode.UNRELEASED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED, ErrorCode.INVALID_REQUEST},
    OffsetCommit: OK
    | _IDENTITY
    | MISSING
    | {
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    },
    OffsetFetch: OK
    | UNKNOWN
    | {ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.ILLEGAL_GENERATION, ErrorCode.UNKNOWN_TOPIC_ID},
    OffsetDelete: OK
    | MISSING
    | {
        ErrorCode.NON_EMPTY_GROUP,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    },
    DeleteGroup: OK | MISSING | {ErrorCode.NON_EMPTY_GROUP},
    DescribeGroup: OK | MISSING,
    ConsumerGroupDescribe: OK | MISSING,
    ListGroups: OK,
}
"""What each command may be answered with whenever that comes."""


def codes_of(answer: Any) -> Iterable[int]:
    """Every error code in an answer."""
    if hasattr(answer, "error_code"):
        yield answer.error_code
    for topic in getattr(answer, "topics", ()):
        for partition in topic.partitions:
            yield partition.error_code
    for member in getattr(answer, "members", ()):
        if hasattr(member, "error_code"):
            yield member.error_code


def allowed_at_once(command: Any, group: GroupView, topics: Mapping[str, Topic], settings: BrokerSettings) -> Codes:
    """What the command may be answered with if the answer is not put off."""
    match command:
        case ConsumerGroupHeartbeat():
            return _consumer_heartbeat(command, group, settings)
        case OffsetCommit() if group.consumer is not None:
            return _commit_to_consumer_group(command, group, topics) | _of_unknown_partitions(command, topics)
        case OffsetFetch() if group.consumer is not None:
            return _fetch_of_consumer_group(command, group)
        case Heartbeat() if group.members:
            return _classic_heartbeat_in_consumer_group(command, group)
        case DeleteGroup() if group.consumer is not None:
            return frozenset({ErrorCode.NON_EMPTY_GROUP}) if group.members else OK
        case ConsumerGroupDescribe():
            return OK if group.consumer is not None else MISSING
    return EVER[type(command)]


def _consumer_heartbeat(command: ConsumerGroupHeartbeat, group: GroupView, settings: BrokerSettings) -> Codes:
    if command.member_epoch < -2 or (command.member_epoch == -2 and command.instance_id is None):
        return frozenset({ErrorCode.INVALID_REQUEST})
    is_full = group.consumer is not None and len(group.members) >= settings.group_consumer_max_size
    if is_full and command.member_epoch >= 0 and command.member_id not in group.members:
        return frozenset({ErrorCode.GROUP_MAX_SIZE_REACHED})
    if command.member_epoch == 0:
        return _consumer_join(command, group, settings)
    if group.consumer is None:
        return UNKNOWN | MISSING
    if command.instance_id is not None:
        owner = group.member_of_instance(command.instance_id)
        if owner is None:
            return UNKNOWN
        if owner != command.member_id:
            return frozenset({ErrorCode.FENCED_INSTANCE_ID})
    member = group.members.get(command.member_id)
    if member is None:
        return UNKNOWN
    if command.member_epoch < 0:
        return OK
    return OK if _knows_its_epoch(command, member) else FENCED


def _consumer_join(command: ConsumerGroupHeartbeat, group: GroupView, settings: BrokerSettings) -> Codes:
    if group.consumer is None:
        may_be_full = settings.group_consumer_max_size < MANY
        return OK | MISSING | (frozenset({ErrorCode.GROUP_MAX_SIZE_REACHED}) if may_be_full else frozenset())
    if command.instance_id is None:
        return OK
    owner = group.member_of_instance(command.instance_id)
    if owner is None:
        return OK
    unreleased = frozenset({ErrorCode.UNRELEASED_INSTANCE_ID})
    if group.members[owner].uses_classic_protocol or owner == command.member_id:
        return OK | unreleased
    return OK if group.members[owner].epoch == -2 else unreleased


def _knows_its_epoch(command: ConsumerGroupHeartbeat, member: MemberView) -> bool:
    """An older epoch is that of a member whose last answer was lost, if it is the previous one and the member owns
    nothing but what it is assigned."""
    if command.member_epoch == member.epoch:
        return True
    owned = command.topic_partitions
    return (
        member.position is not None
        and command.member_epoch < member.epoch
        and command.member_epoch == member.position.previous_member_epoch
        and owned is not None
        and partitions_of(owned) <= member.assigned
    )


def _of_unknown_partitions(command: OffsetCommit, topics: Mapping[str, Topic]) -> Codes:
    """They are told apart before the group is looked at."""
    known = [topic_of(commit, topics) for commit in command.topics]
    codes = set[int]()
    if None in known:
        codes |= {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID}
    if any(topic and max(commit.partition_indexes) >= topic.partitions for commit, topic in zip(command.topics, known)):
        codes.add(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return codes


def _commit_to_consumer_group(command: OffsetCommit, group: GroupView, topics: Mapping[str, Topic]) -> Codes:
    epoch = command.generation_id_or_member_epoch
    if epoch < 0 and not group.members:
        return OK
    member = group.members.get(command.member_id)
    if member is None:
        return UNKNOWN
    stale = ErrorCode.ILLEGAL_GENERATION if member.uses_classic_protocol else ErrorCode.STALE_MEMBER_EPOCH
    if epoch == member.epoch:
        return OK
    return OK if epoch < member.epoch and _had_all(command, member, topics) else frozenset({stale})


def _had_all(command: OffsetCommit, member: MemberView, topics: Mapping[str, Topic]) -> bool:
    if member.position is None:
        return False
    since: dict[Partition, int] = {}
    for partitions in (member.position.assigned_partitions, member.position.partitions_pending_revocation):
        since.update(_epochs(partitions))
    return all(
        since.get((_id_of(commit, topics), partition), NEVER) <= command.generation_id_or_member_epoch
        for commit in command.topics
        for partition in commit.partition_indexes
    )


def _id_of(commit: TopicCommit, topics: Mapping[str, Topic]) -> UUID:
    topic = topics.get(commit.name)
    return commit.topic_id if not commit.name or topic is None else topic.topic_id


def topic_of(named: Any, topics: Mapping[str, Topic]) -> Topic | None:
    """The topic that stands by its name or by its id in a command or an answer, if there is such."""
    if named.name:
        return topics.get(named.name)
    return next((topic for topic in topics.values() if topic.topic_id == named.topic_id), None)


def _epochs(topics: Iterable[RecordPartitionEpochs]) -> dict[Partition, int]:
    return {
        (topic.topic_id, partition): epoch
        for topic in topics
        for partition, epoch in zip(topic.partitions, topic.assignment_epochs)
    }


def _fetch_of_consumer_group(command: OffsetFetch, group: GroupView) -> Codes:
    fetched = OK | {ErrorCode.UNKNOWN_TOPIC_ID}
    if command.member_id is None and command.member_epoch < 0:
        return fetched
    member = group.members.get(command.member_id or "")
    if member is None:
        return UNKNOWN
    if command.member_epoch == member.epoch:
        return fetched
    return frozenset({ErrorCode.ILLEGAL_GENERATION if member.uses_classic_protocol else ErrorCode.STALE_MEMBER_EPOCH})


def _classic_heartbeat_in_consumer_group(command: Heartbeat, group: GroupView) -> Codes:
    member = group.members.get(command.member_id)
    if command.group_instance_id is not None:
        owner = group.member_of_instance(command.group_instance_id)
        if owner != command.member_id:
            return UNKNOWN if owner is None else frozenset({ErrorCode.FENCED_INSTANCE_ID})
    if member is None or not member.uses_classic_protocol:
        return UNKNOWN
    if command.generation_id != member.epoch:
        return frozenset({ErrorCode.ILLEGAL_GENERATION})
    return OK | {ErrorCode.REBALANCE_IN_PROGRESS}


def partitions_of(topics: Iterable[AssignedTopic]) -> frozenset[Partition]:
    return frozenset((topic.topic_id, partition) for topic in topics for partition in topic.partitions)
