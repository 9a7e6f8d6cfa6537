"""OffsetCommit requests, read straight to commands: the partitions of a topic in columns, most of them in one step.

A partition without metadata and without tagged fields has always the same size, so as many of those as lie behind each
other are taken apart by one `struct`. The rest is read field by field. Versions before 8, whose form is another and
which only old clients send, are read by kio.

Next hop: compact_types.py for what requests are made of; gateway/apis/offset_commit.py.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from struct import Struct
from struct import error as StructError
from typing import Any, Final

from kohort.model.commands.groups import NO_TIMEOUT_MS, OffsetCommit, TopicCommit
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire.bounds import MAX_ITEMS
from kohort.wire.compact_types import read_count, read_nullable_string, read_string, read_topic_id
from kohort.wire.errors import DecodeError
from kohort.wire.messages import behind_tags, milliseconds, request_decoder

OFFSET_COMMIT: Final = 8
_LEADER_EPOCH_SINCE: Final = 6
_INSTANCE_ID_SINCE: Final = 7
_RETENTION_UNTIL: Final = 4
_FLEXIBLE_SINCE: Final = 8
_MEMBER_EPOCH_SINCE: Final = 9
_BY_ID_SINCE: Final = 10

_GENERATION: Final = Struct(">i")
_PARTITION: Final = Struct(">iqi")
_PLAIN_PARTITION: Final = Struct(">iqiBB")
"""A partition whose metadata is empty or null, and that has no tagged fields."""
_MOST_AT_ONCE: Final = 256
_REMEMBERED: Final = 1024

Decoder = Callable[[memoryview, int], OffsetCommit]
"""Reads (frame, where the body begins). Bytes behind the body are left alone, as Kafka does."""


def offset_commit_decoder(version: int) -> Decoder:
    if version >= _FLEXIBLE_SINCE:
        return partial(_decode, version=version)
    read = request_decoder(OFFSET_COMMIT, version)
    return lambda frame, position: _from_kio(read(frame, position), version)


def _decode(frame: memoryview, position: int, version: int) -> OffsetCommit:
    try:
        group_id, position = read_string(frame, position)
        (generation_id,) = _GENERATION.unpack_from(frame, position)
        member_id, position = read_string(frame, position + _GENERATION.size)
        if frame[position]:
            instance_id, position = read_nullable_string(frame, position)
        else:
            instance_id, position = None, position + 1
        count, position = read_count(frame, position, MAX_ITEMS)
        budget = MAX_ITEMS - count
        topics = []
        name, topic_id = "", NO_TOPIC_ID
        for _ in range(count):
            if version >= _BY_ID_SINCE:
                topic_id, position = read_topic_id(frame, position)
            else:
                name, position = read_string(frame, position)
            count, position = read_count(frame, position, budget)
            budget -= count
            columns, position = _partitions(frame, position, count)
            position = behind_tags(frame, position) if frame[position] else position + 1
            topics.append(TopicCommit(name, *columns, topic_id))
        if frame[position]:
            behind_tags(frame, position)
    except (DecodeError, IndexError, StructError, ValueError) as failure:
        raise DecodeError(f"OffsetCommitRequest: {failure}") from failure
    return OffsetCommit(
        group_id,
        tuple(topics),
        member_id,
        generation_id,
        instance_id,
        NO_TIMEOUT_MS,
        version >= _MEMBER_EPOCH_SINCE,
    )


Columns = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...], tuple[str | None, ...]]
"""Indexes, offsets, leader epochs and metadata, as TopicCommit has them."""


def _partitions(frame: memoryview, position: int, count: int) -> tuple[Columns, int]:
    size = count * _PLAIN_PARTITION.size
    if count <= _MOST_AT_ONCE and position + size <= len(frame):
        fields = _plain(count).unpack_from(frame, position)
        metadata = fields[3::5]
        if not any(fields[4::5]) and (not metadata or max(metadata) <= 1):
            return (fields[0::5], fields[1::5], fields[2::5], ()), position + size
    return _partitions_one_by_one(frame, position, count)


@lru_cache(_REMEMBERED)
def _plain(count: int) -> Struct:
    return Struct(">" + "iqiBB" * count)


def _partitions_one_by_one(frame: memoryview, position: int, count: int) -> tuple[Columns, int]:
    rows: list[tuple[int, int, int]] = []
    metadata: list[str | None] = []
    for _ in range(count):
        rows.append(_PARTITION.unpack_from(frame, position))
        text, position = read_nullable_string(frame, position + _PARTITION.size)
        metadata.append(text)
        position = behind_tags(frame, position) if frame[position] else position + 1
    indexes, offsets, leader_epochs = zip(*rows, strict=True)
    return (indexes, offsets, leader_epochs, tuple(metadata) if any(metadata) else ()), position


def _from_kio(request: Any, version: int) -> OffsetCommit:
    return OffsetCommit(
        request.group_id,
        tuple([_topic_from_kio(topic, version) for topic in request.topics]),
        request.member_id,
        request.generation_id_or_member_epoch,
        request.group_instance_id if version >= _INSTANCE_ID_SINCE else None,
        milliseconds(request.retention_time) if version <= _RETENTION_UNTIL else NO_TIMEOUT_MS,
        knows_member_epochs=False,
    )


def _topic_from_kio(topic: Any, version: int) -> TopicCommit:
    partitions = topic.partitions
    metadata = tuple([each.committed_metadata for each in partitions])
    return TopicCommit(
        topic.name,
        tuple([each.partition_index for each in partitions]),
        tuple([each.committed_offset for each in partitions]),
        tuple([each.committed_leader_epoch for each in partitions])
        if version >= _LEADER_EPOCH_SINCE
        else (-1,) * len(partitions),
        metadata if any(metadata) else (),
    )
