"""A refusal in the form of each command's own answer, as the gateway's API for it would put it.

Next hop: network.py, which answers clients so.
"""

from typing import Any

from kohort.model.commands.groups import (
    ConsumerGroupDescribe,
    ConsumerGroupDescribed,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    DeleteGroup,
    DescribeGroup,
    GroupDeleted,
    GroupDescribed,
    Heartbeat,
    HeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    ListGroups,
    ListGroupsAnswer,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetDelete,
    OffsetDeleteAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    PartitionCommitted,
    SyncGroup,
    SyncGroupAnswer,
    TopicCommitted,
)
from kohort.model.errors import ErrorCode, Refused


def as_answer(command: Any, answer: Any) -> Any:
    """What a client reads."""
    return _refused(command, answer.error_code) if isinstance(answer, Refused) else answer


def _refused(command: Any, code: ErrorCode) -> Any:
    match command:
        case Heartbeat():
            return HeartbeatAnswer(ErrorCode.NONE if code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS else code)
        case JoinGroup():
            return JoinGroupAnswer(code, member_id=command.member_id)
        case SyncGroup():
            return SyncGroupAnswer(code)
        case LeaveGroup():
            return LeaveGroupAnswer(code)
        case ConsumerGroupHeartbeat():
            return ConsumerGroupHeartbeatAnswer(code)
        case OffsetCommit():
            return OffsetCommitAnswer(
                tuple(
                    TopicCommitted(
                        topic.name, tuple(PartitionCommitted(index, code) for index in topic.partition_indexes)
                    )
                    for topic in command.topics
                )
            )
        case OffsetFetch():
            return OffsetFetchAnswer(command.group_id, (), code)
        case OffsetDelete():
            return OffsetDeleteAnswer(code)
        case DeleteGroup():
            return GroupDeleted(command.group_id, code)
        case DescribeGroup():
            return GroupDescribed(code, command.group_id, "Dead")
        case ConsumerGroupDescribe():
            return ConsumerGroupDescribed(code, command.group_id)
        case ListGroups():
            return ListGroupsAnswer(code)
    raise AssertionError(f"{command} has no answer")
