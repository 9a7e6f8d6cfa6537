"""DeleteRecords: moves the beginning of partitions up.

Versions: 1 none of note; 2 flexible.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.data import (
    DeleteRecords,
    PartitionTrim,
    PartitionTrimmed,
    RecordsDeleted,
    TopicTrimmed,
    TopicTrims,
)
from kohort.model.errors import Refused
from kohort.wire.messages import milliseconds


def handle_delete_records(request: Request, call: Call) -> None:
    topics = tuple(
        TopicTrims(
            topic.name,
            tuple(PartitionTrim(partition.partition_index, partition.offset) for partition in topic.partitions),
        )
        for topic in request.topics
    )
    call.send(DeleteRecords(topics, milliseconds(request.timeout)), call.answer)


def refuse_delete_records(request: Request, refused: Refused, call: Call) -> Message:
    return RecordsDeleted(
        tuple(
            TopicTrimmed(
                topic.name,
                tuple(
                    PartitionTrimmed(partition.partition_index, refused.error_code) for partition in topic.partitions
                ),
            )
            for topic in request.topics
        )
    )


DELETE_RECORDS = Api(21, "DeleteRecords", 0, 2, handle_delete_records, refuse_delete_records)
