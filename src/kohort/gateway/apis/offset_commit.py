"""OffsetCommit: how far a group has read.

Versions: 2 to 4 retention_time; 6 committed_leader_epoch; 7 group_instance_id; 8 flexible; 9 members of the consumer
protocol commit with their epoch; 10 topics by id.

The wire reads a request to the command at once (offset_requests.py). Consumers that commit without waiting have many
commits under way, and one sync of the disk is enough for them all: so they are pipelined.

Next hop: carrier/contract.py, behind which broker/coordinators.py finds the shard of the group.
"""

from kohort.gateway.call import Api, Call, Message
from kohort.model.commands.groups import OffsetCommit, OffsetCommitAnswer, PartitionCommitted, TopicCommitted
from kohort.model.errors import Refused
from kohort.wire.offset_requests import offset_commit_decoder


def handle_offset_commit(command: OffsetCommit, call: Call) -> None:
    call.send(command, call.answer)


def refuse_offset_commit(command: OffsetCommit, refused: Refused, call: Call) -> Message:
    return OffsetCommitAnswer(
        tuple(
            TopicCommitted(
                topic.name,
                tuple(PartitionCommitted(index, refused.error_code) for index in topic.partition_indexes),
                topic.topic_id,
            )
            for topic in command.topics
        )
    )


OFFSET_COMMIT = Api(
    8,
    "OffsetCommit",
    2,
    10,
    handle_offset_commit,
    refuse_offset_commit,
    pipelined=True,
    answers_recur=True,
    decoder=offset_commit_decoder,
)
