"""DescribeProducers: the idempotent producers that partitions remember.

Versions: 0.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.data import (
    DescribeProducers,
    PartitionProducers,
    ProducersDescribed,
    TopicPartitions,
    TopicProducers,
)
from kohort.model.errors import Refused


def handle_describe_producers(request: Request, call: Call) -> None:
    topics = tuple(TopicPartitions(topic.name, topic.partition_indexes) for topic in request.topics)
    call.send(DescribeProducers(topics), call.answer)


def refuse_describe_producers(request: Request, refused: Refused, call: Call) -> Message:
    return ProducersDescribed(
        tuple(
            TopicProducers(
                topic.name,
                tuple(
                    PartitionProducers(index, refused.error_code, refused.error_message)
                    for index in topic.partition_indexes
                ),
            )
            for topic in request.topics
        )
    )


DESCRIBE_PRODUCERS = Api(61, "DescribeProducers", 0, 0, handle_describe_producers, refuse_describe_producers)
