"""OffsetCommit: how far a group has read.

Versions: 2 to 4 retention_time; 6 committed_leader_epoch; 7 group_instance_id; 8 flexible; 9 members of the consumer
protocol commit with their epoch; 10 topics by id.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.groups import (
    NO_TIMEOUT_MS,
    OffsetCommit,
    OffsetCommitAnswer,
    PartitionCommitted,
    TopicCommit,
    TopicCommitted,
)
from kohort.model.errors import Refused
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire.messages import milliseconds

_RETENTION_UNTIL = 4
_LEADER_EPOCH_SINCE = 6
_INSTANCE_ID_SINCE = 7
_MEMBER_EPOCH_SINCE = 9
_BY_ID_SINCE = 10


def handle_offset_commit(request: Request, call: Call) -> None:
    version = call.version
    command = OffsetCommit(
        request.group_id,
        tuple([_topic(topic, version) for topic in request.topics]),
        request.member_id,
        request.generation_id_or_member_epoch,
        request.group_instance_id if version >= _INSTANCE_ID_SINCE else None,
        milliseconds(request.retention_time) if version <= _RETENTION_UNTIL else NO_TIMEOUT_MS,
        version >= _MEMBER_EPOCH_SINCE,
    )
    call.send(command, call.answer)


def _topic(topic: Request, version: int) -> TopicCommit:
    partitions = topic.partitions
    metadata = tuple([each.committed_metadata for each in partitions])
    return TopicCommit(
        topic.name if version < _BY_ID_SINCE else "",
        tuple([each.partition_index for each in partitions]),
        tuple([each.committed_offset for each in partitions]),
        tuple([each.committed_leader_epoch for each in partitions])
        if version >= _LEADER_EPOCH_SINCE
        else (-1,) * len(partitions),
        metadata if any(metadata) else (),
        NO_TOPIC_ID if version < _BY_ID_SINCE else topic.topic_id or NO_TOPIC_ID,
    )


def refuse_offset_commit(request: Request, refused: Refused, call: Call) -> Message:
    by_id = call.version >= _BY_ID_SINCE
    return OffsetCommitAnswer(
        tuple(
            TopicCommitted(
                "" if by_id else topic.name,
                tuple(PartitionCommitted(each.partition_index, refused.error_code) for each in topic.partitions),
                (topic.topic_id or NO_TOPIC_ID) if by_id else NO_TOPIC_ID,
            )
            for topic in request.topics
        )
    )


OFFSET_COMMIT = Api(8, "OffsetCommit", 2, 10, handle_offset_commit, refuse_offset_commit)
