"""What consumers of the classic protocol send through the coordinator: subscriptions and assignments, as bytes.

Both begin with their version. A later version than is known here is read as the last one that is, as Kafka does, since
fields are only ever added at the end. What is malformed is None: it is the members' affair, and no reason to fail.

Next hop: model/consumer_protocol.py has the values; machines are given this module as their ConsumerProtocol.
"""

from typing import Final

from kohort.model.consumer_protocol import ConsumerAssignment, OwnedPartitions, Subscription
from kohort.wire.errors import DecodeError
from kohort.wire.primitives import Reader, Writer

_FIRST_WITH_OWNED_PARTITIONS: Final = 1
_FIRST_WITH_GENERATION: Final = 2
_FIRST_WITH_RACK: Final = 3
_LAST_VERSION: Final = 3


def decode_subscription(data: bytes) -> Subscription | None:
    reader = Reader(data)
    try:
        version = reader.int16()
        topics = reader.array(reader.string)
        user_data = reader.nullable_bytes()
        owned = _read_partitions(reader) if version >= _FIRST_WITH_OWNED_PARTITIONS else None
        generation_id = reader.int32() if version >= _FIRST_WITH_GENERATION else -1
        rack_id = reader.nullable_string() if version >= _FIRST_WITH_RACK else None
    except DecodeError:
        return None
    if version < 0:
        return None
    return Subscription(version, topics, user_data, owned, generation_id, rack_id)


def decode_assignment(data: bytes) -> ConsumerAssignment | None:
    reader = Reader(data)
    try:
        version = reader.int16()
        partitions = _read_partitions(reader)
        user_data = reader.nullable_bytes()
    except DecodeError:
        return None
    return None if version < 0 else ConsumerAssignment(partitions, user_data)


def encode_assignment(version: int, assignment: ConsumerAssignment) -> bytes:
    """A later version than is known here is written as the last one that is."""
    writer = Writer()
    writer.fixed("h", min(version, _LAST_VERSION))
    writer.count(len(assignment.partitions))
    for topic, partitions in assignment.partitions.items():
        writer.string(topic)
        writer.count(len(partitions))
        writer.fixed(f"{len(partitions)}i", *partitions)
    writer.sized_bytes(assignment.user_data)
    return writer.data()


def _read_partitions(reader: Reader) -> OwnedPartitions:
    return dict(reader.array(lambda: (reader.string(), reader.array(reader.int32))))
