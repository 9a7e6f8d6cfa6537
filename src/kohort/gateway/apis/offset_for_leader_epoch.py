"""OffsetForLeaderEpoch: where a leader epoch ended, by which consumers find out that a log was truncated.

Versions: 2 current_leader_epoch; 3 replica_id; 4 flexible.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.data import (
    EpochEnds,
    OffsetForLeaderEpoch,
    PartitionEpoch,
    PartitionEpochEnd,
    TopicEpochEnds,
    TopicEpochs,
)
from kohort.model.errors import Refused


def handle_offset_for_leader_epoch(request: Request, call: Call) -> None:
    topics = tuple(
        TopicEpochs(
            topic.topic,
            tuple(
                PartitionEpoch(partition.partition, partition.leader_epoch, partition.current_leader_epoch)
                for partition in topic.partitions
            ),
        )
        for topic in request.topics
    )
    call.send(OffsetForLeaderEpoch(topics), call.answer)


def refuse_offset_for_leader_epoch(request: Request, refused: Refused, call: Call) -> Message:
    return EpochEnds(
        tuple(
            TopicEpochEnds(
                topic.topic,
                tuple(PartitionEpochEnd(partition.partition, refused.error_code) for partition in topic.partitions),
            )
            for topic in request.topics
        )
    )


OFFSET_FOR_LEADER_EPOCH = Api(
    23, "OffsetForLeaderEpoch", 2, 4, handle_offset_for_leader_epoch, refuse_offset_for_leader_epoch
)
