"""Produce: record batches for partitions.

Versions: 3 record batches (magic 2) and transactional ids; 4 may answer KAFKA_STORAGE_ERROR; 5 log_start_offset;
7 zstd; 8 record_errors and error_message; 9 flexible; 10 current_leader and node_endpoints; 11 and 12 transactions
without AddPartitionsToTxn; 13 topics by id. Versions 0 to 2 are advertised as Kafka does, since librdkafka takes a
broker without them for one that cannot decompress (KAFKA-18659), and refused as Kafka does.

The wire reads a request to the command at once, so that its batches are not copied on the way (produce_requests.py).
With acks=0 there is no answer; a failure is told by closing the connection, so that the producer asks for metadata.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial

from kohort.gateway.call import Api, Call, Message
from kohort.model.commands.data import PartitionProduced, Produce, Produced, TopicProduced
from kohort.model.errors import ErrorCode, Refused
from kohort.wire.produce_requests import produce_decoder


def handle_produce(command: Produce, call: Call) -> None:
    call.send(command, call.answer if command.acks else partial(_finish_unacknowledged, call))


def _finish_unacknowledged(call: Call, produced: Produced) -> None:
    for topic in produced.responses:
        for partition in topic.partition_responses:
            if partition.error_code != ErrorCode.NONE:
                code = ErrorCode(partition.error_code).name
                topic_name = topic.name or str(topic.topic_id)
                call.disconnect(f"{topic_name}-{partition.index} answered {code} to a Produce request with acks=0")
                return
    call.answer_nothing()


def refuse_produce(command: Produce, refused: Refused, call: Call) -> Message | None:
    if command.acks == 0:
        return None
    return Produced(
        tuple(
            TopicProduced(
                topic.name,
                topic.topic_id,
                tuple(
                    PartitionProduced(partition.index, refused.error_code, error_message=refused.error_message)
                    for partition in topic.partitions
                ),
            )
            for topic in command.topics
        )
    )


PRODUCE = Api(
    0,
    "Produce",
    3,
    13,
    handle_produce,
    refuse_produce,
    pipelined=True,
    decoder=produce_decoder,
    advertised_min_version=0,
)
