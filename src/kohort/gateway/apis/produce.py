"""Produce: record batches for partitions.

Versions: 3 record batches (magic 2) and transactional ids; 4 may answer KAFKA_STORAGE_ERROR; 5 log_start_offset;
7 zstd; 8 record_errors and error_message; 9 flexible; 10 current_leader and node_endpoints; 11 and 12 transactions
without AddPartitionsToTxn; 13 topics by id. Versions 0 to 2 are advertised as Kafka does, since librdkafka takes a
broker without them for one that cannot decompress (KAFKA-18659), and refused as Kafka does.

With acks=0 there is no answer; a failure is told by closing the connection, so that the producer asks for metadata.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.data import (
    PartitionProduce,
    PartitionProduced,
    Produce,
    Produced,
    TopicProduce,
    TopicProduced,
)
from kohort.model.errors import ErrorCode, Refused
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire.messages import milliseconds

_TOPIC_IDS_SINCE = 13


def handle_produce(request: Request, call: Call) -> None:
    """Loops, not comprehensions: each of those costs as much as the rest of a small request (CPython 3.11)."""
    by_id = call.version >= _TOPIC_IDS_SINCE
    topics = []
    for topic in request.topic_data:
        partitions = []
        for partition in topic.partition_data:
            partitions.append(PartitionProduce(partition.index, partition.records))  # noqa: PERF401
        if by_id:
            topics.append(TopicProduce("", topic.topic_id or NO_TOPIC_ID, tuple(partitions)))
        else:
            topics.append(TopicProduce(topic.name, NO_TOPIC_ID, tuple(partitions)))
    acks = request.acks
    command = Produce(tuple(topics), acks, milliseconds(request.timeout), request.transactional_id)
    call.send(command, call.answer if acks else partial(_finish_unacknowledged, call))


def _finish_unacknowledged(call: Call, produced: Produced) -> None:
    for topic in produced.responses:
        for partition in topic.partition_responses:
            if partition.error_code != ErrorCode.NONE:
                code = ErrorCode(partition.error_code).name
                topic_name = topic.name or str(topic.topic_id)
                call.disconnect(f"{topic_name}-{partition.index} answered {code} to a Produce request with acks=0")
                return
    call.answer_nothing()


def refuse_produce(request: Request, refused: Refused, call: Call) -> Message | None:
    if request.acks == 0:
        return None
    return Produced(
        tuple(
            TopicProduced(
                getattr(topic, "name", ""),
                getattr(topic, "topic_id", None) or NO_TOPIC_ID,
                tuple(
                    PartitionProduced(partition.index, refused.error_code, error_message=refused.error_message)
                    for partition in topic.partition_data
                ),
            )
            for topic in request.topic_data
        )
    )


PRODUCE = Api(0, "Produce", 3, 13, handle_produce, refuse_produce, pipelined=True, advertised_min_version=0)
