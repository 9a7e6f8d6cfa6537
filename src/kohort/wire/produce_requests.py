"""Produce requests, read straight to commands: record batches stay where they were received.

kio copies every batch into memory of its own. Here a batch is a slice of the frame, so that it is copied once, into the
log. Whoever keeps a slice beyond the handling of its request has to copy it: the memory is received into again.

Versions before 9, whose form is another and which only old clients send, are read by kio.

Next hop: compact_types.py for what requests are made of; gateway/apis/produce.py.
"""

from collections.abc import Callable
from functools import partial
from struct import Struct
from struct import error as StructError
from typing import Any, Final

from kohort.model.commands.data import PartitionProduce, Produce, TopicProduce
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire.bounds import MAX_ITEMS, read_unsigned_varint
from kohort.wire.compact_types import read_count, read_string, read_topic_id
from kohort.wire.errors import DecodeError
from kohort.wire.messages import behind_tags, milliseconds, request_decoder

PRODUCE: Final = 0
_ZSTD_SINCE: Final = 7
_FLEXIBLE_SINCE: Final = 9
_TOPIC_IDS_SINCE: Final = 13

_ACKS_AND_TIMEOUT: Final = Struct(">hi")
_INDEX: Final = Struct(">i")

Decoder = Callable[[memoryview, int], Produce]
"""Reads (frame, where the body begins). Bytes behind the body are left alone, as Kafka does."""


def produce_decoder(version: int) -> Decoder:
    if version >= _FLEXIBLE_SINCE:
        return partial(_decode, by_id=version >= _TOPIC_IDS_SINCE)
    read = request_decoder(PRODUCE, version)
    return lambda frame, position: _from_kio(read(frame, position), version)


def _decode(frame: memoryview, position: int, by_id: bool) -> Produce:
    try:
        transactional_id = None
        if frame[position]:
            transactional_id, position = read_string(frame, position)
        else:
            position += 1
        acks, timeout_ms = _ACKS_AND_TIMEOUT.unpack_from(frame, position)
        count, position = read_count(frame, position + _ACKS_AND_TIMEOUT.size, MAX_ITEMS)
        budget = MAX_ITEMS - count
        topics = []
        name, topic_id = "", NO_TOPIC_ID
        for _ in range(count):
            if by_id:
                topic_id, position = read_topic_id(frame, position)
            else:
                name, position = read_string(frame, position)
            count, position = read_count(frame, position, budget)
            budget -= count
            partitions = []
            for _ in range(count):
                (index,) = _INDEX.unpack_from(frame, position)
                size, start = read_unsigned_varint(frame, position + _INDEX.size)
                position = start + size - 1 if size else start
                partitions.append(PartitionProduce(index, frame[start:position] if size else None))
                position = behind_tags(frame, position) if frame[position] else position + 1
            position = behind_tags(frame, position) if frame[position] else position + 1
            topics.append(TopicProduce(name, topic_id, tuple(partitions)))
        if frame[position]:
            behind_tags(frame, position)
    except (DecodeError, IndexError, StructError, ValueError) as failure:
        raise DecodeError(f"ProduceRequest: {failure}") from failure
    return Produce(tuple(topics), acks, timeout_ms, transactional_id)


def _from_kio(request: Any, version: int) -> Produce:
    topics = tuple(
        TopicProduce(
            topic.name,
            NO_TOPIC_ID,
            tuple(PartitionProduce(partition.index, partition.records) for partition in topic.partition_data),
        )
        for topic in request.topic_data
    )
    timeout_ms = milliseconds(request.timeout)
    return Produce(topics, request.acks, timeout_ms, request.transactional_id, allows_zstd=version >= _ZSTD_SINCE)
