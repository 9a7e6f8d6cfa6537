"""Committed offsets in a log: one of Kafka's records for each partition, written and read many at a time.

Offsets are nearly all that the logs of groups hold. The records of one commit to a topic differ only in partition,
offset and leader epoch, and in their place in the batch. So they are written by one `struct` that has a slot for each
of those and the rest as constants, remembered by their layout; and read by trying whether the record behind one is
like it. Commits with metadata or an end of their own are written and read record by record.

    key     type 1 i16, group string, topic string, partition i32
    value   version 4 i16, offset i64, leader epoch i32, metadata compact string, commit time i64, tags {0: topic id}

Next hop: records.py has the varints around key and value; group_records.py all other records of groups.
"""

from functools import cache, lru_cache
from itertools import repeat
from struct import Struct
from struct import error as StructError
from typing import Any, Final, NamedTuple
from uuid import UUID

from kohort.model.ids import NO_TOPIC_ID
from kohort.model.records.groups import OffsetCommitRecord, RemoveOffsetRecord
from kohort.wire.batch_writer import LARGE_BATCH, BatchWriter
from kohort.wire.errors import DecodeError
from kohort.wire.primitives import Reader, Writer
from kohort.wire.records import write_varint

OFFSET_COMMIT: Final = 1

_SIZE: Final = Struct(">h")
_KEY_HEAD: Final = Struct(">hh")
_PARTITION: Final = Struct(">i")
_OFFSET_V1: Final = Struct(">hq")
_OFFSET_V4: Final = Struct(">hqi")
_OFFSET: Final = Struct(">qi")
_TIMESTAMP: Final = Struct(">q")
_TIMESTAMPS: Final = Struct(">qq")
_TIMESTAMP_AND_NO_TAGS: Final = Struct(">qB")
_TAGS_AND_TOPIC_ID: Final = Struct(">BBB16s")
_VERSION_4: Final = b"\0\4"
_EMPTY: Final = b"\1"
"""A compact string of no characters."""
_NO_HEADERS: Final = b"\0"
_TOPIC_ID_SIZE: Final = 16
_REMEMBERED_FORMS: Final = 4096
_REMEMBERED_STRUCTS: Final = 1024
_MOST_AT_ONCE: Final = 128
"""Records that one struct writes: clients decide how many there are, and what is remembered must be bounded."""
_ATTRIBUTES: Final = b"\0\0"
"""None, and no time between the record and its batch."""
_FIRST_WITH_DELTA_OF_TWO: Final = 64
"""The place in a batch from which on a record says it in two bytes."""
_FIRST_WITH_LONG_DELTA: Final = 8192
"""The place from which on it takes three: no batch of offsets has so many records."""
_SLOTS: Final = 8


# Writing


def write_commit(writer: BatchWriter, record: OffsetCommitRecord) -> None:
    if record.metadata or record.expire_timestamp_ms is not None:
        _write_one_by_one(writer, record)
        return
    tail = _EMPTY + _TIMESTAMP.pack(record.commit_timestamp_ms)
    count, begin = len(record.partitions), 0
    while begin < count:
        if writer.count >= _FIRST_WITH_LONG_DELTA:
            writer.close_batch()
        # Records lie alike as long as their places in the batch take equally many bytes.
        alike_until = _FIRST_WITH_DELTA_OF_TWO if writer.count < _FIRST_WITH_DELTA_OF_TWO else _FIRST_WITH_LONG_DELTA
        end = min(count, begin + alike_until - writer.count, begin + _MOST_AT_ONCE)
        _write_alike(writer, record, slice(begin, end), tail)
        begin = end
    if len(writer.payload) >= LARGE_BATCH:
        writer.close_batch()


def _write_alike(writer: BatchWriter, record: OffsetCommitRecord, part: slice, tail: bytes) -> None:
    partitions = record.partitions[part]
    count = len(partitions)
    deltas = _deltas()[writer.count : writer.count + count]
    form = _form(record.group_id, record.topic, record.topic_id, len(deltas[0]))
    slots: list[Any] = [form.head, b"", form.key, 0, form.value_head, 0, 0, tail + form.tail] * count
    slots[1::_SLOTS] = deltas
    slots[3::_SLOTS] = partitions
    slots[5::_SLOTS] = record.offsets[part]
    slots[6::_SLOTS] = record.leader_epochs[part]
    writer.payload += _struct(form.layout, count).pack(*slots)
    writer.count += count


@cache
def _deltas() -> list[bytes]:
    """The first places in a batch, as records have them."""
    return [_varint(delta) for delta in range(_FIRST_WITH_LONG_DELTA)]


class _Form(NamedTuple):
    """How each record of a group's commits to a topic lies, in eight slots: its size and attributes, its place in the
    batch, its key up to the partition, the partition, the value's size and version, its offset, its leader epoch, and
    the rest."""

    layout: str
    head: bytes
    key: bytes
    value_head: bytes
    tail: bytes
    """The rest, without the empty metadata and the time that it begins with."""


@lru_cache(_REMEMBERED_FORMS)
def _form(group_id: str, topic: str, topic_id: UUID, delta_size: int) -> _Form:
    key_head = _key_head(group_id, topic)
    key = _varint(len(key_head) + _PARTITION.size) + key_head
    tail = (_tags(topic_id) if topic_id.int else b"\0") + _NO_HEADERS
    tail_size = len(_EMPTY) + _TIMESTAMP.size + len(tail)
    value_head = _varint(_OFFSET_V4.size + tail_size - len(_NO_HEADERS)) + _VERSION_4
    size = len(_ATTRIBUTES) + delta_size + len(key) + _PARTITION.size + len(value_head) + _OFFSET.size + tail_size
    head = _varint(size) + _ATTRIBUTES
    layout = f"{len(head)}s{delta_size}s{len(key)}si{len(value_head)}sqi{tail_size}s"
    return _Form(layout, head, key, value_head, tail)


@lru_cache(_REMEMBERED_STRUCTS)
def _struct(layout: str, count: int) -> Struct:
    """Of so many records behind each other. Groups and topics whose names are equally long have the same."""
    return Struct(">" + layout * count)


def _write_one_by_one(writer: BatchWriter, record: OffsetCommitRecord) -> None:
    key_head = _key_head(record.group_id, record.topic)
    columns = zip(record.partitions, record.offsets, record.leader_epochs, record.metadata or repeat(""), strict=False)
    for partition, offset, leader_epoch, metadata in columns:
        writer.write(key_head + _PARTITION.pack(partition), _value(record, offset, leader_epoch, metadata.encode()))


def _value(record: OffsetCommitRecord, offset: int, leader_epoch: int, metadata: bytes) -> bytes:
    if record.expire_timestamp_ms is not None:
        times = _TIMESTAMPS.pack(record.commit_timestamp_ms, record.expire_timestamp_ms)
        return _OFFSET_V1.pack(1, offset) + _SIZE.pack(len(metadata)) + metadata + times
    writer = Writer()
    writer.varint(len(metadata) + 1)
    tags = _tags(record.topic_id) if record.topic_id.int else b"\0"
    head = _OFFSET_V4.pack(4, offset, leader_epoch)
    return head + writer.data() + metadata + _TIMESTAMP.pack(record.commit_timestamp_ms) + tags


def offset_tombstone(record: RemoveOffsetRecord) -> tuple[bytes, None]:
    return _key_head(record.group_id, record.topic) + _PARTITION.pack(record.partition), None


def _key_head(group_id: str, topic: str) -> bytes:
    group, name = group_id.encode(), topic.encode()
    return _KEY_HEAD.pack(OFFSET_COMMIT, len(group)) + group + _SIZE.pack(len(name)) + name


def _tags(topic_id: UUID) -> bytes:
    return _TAGS_AND_TOPIC_ID.pack(1, 0, _TOPIC_ID_SIZE, topic_id.bytes)


def _varint(value: int) -> bytes:
    out = bytearray()
    write_varint(out, value)
    return bytes(out)


# Reading one


def decode_offset(key: bytes, value: bytes | None) -> OffsetCommitRecord | RemoveOffsetRecord:
    """Every version that there was. DecodeError for what is malformed."""
    try:
        group_end = 4 + (key[2] << 8 | key[3])
        topic_begin = group_end + 2
        topic_end = topic_begin + _SIZE.unpack_from(key, group_end)[0]
        (partition,) = _PARTITION.unpack_from(key, topic_end)
        group_id, topic = key[4:group_end].decode(), key[topic_begin:topic_end].decode()
        if value is None:
            return RemoveOffsetRecord(group_id, topic, partition)
        version = value[0] << 8 | value[1]
        if version == 3 or version == 4:
            return _decode_newer(group_id, topic, partition, value, version == 4)
        return _decode_older(group_id, topic, partition, value, version)
    except (StructError, IndexError, UnicodeDecodeError) as failure:
        raise DecodeError(f"a malformed offset under the key {key!r}: {failure}") from failure


def _decode_newer(group_id: str, topic: str, partition: int, value: bytes, flexible: bool) -> OffsetCommitRecord:
    _, offset, leader_epoch = _OFFSET_V4.unpack_from(value)
    position = _OFFSET_V4.size
    if flexible and value[position] < 0x80:
        # Metadata of less than 127 bytes: all but a few.
        begin = position + 1
        end = begin + value[position] - 1
        metadata = value[begin:end].decode() if end > begin else ""
        timestamp, tags = _TIMESTAMP_AND_NO_TAGS.unpack_from(value, end)
        topic_id = NO_TOPIC_ID if not tags else _topic_id(value, end + _TIMESTAMP.size)
    else:
        reader = Reader(value[position:], flexible)
        metadata, timestamp = reader.nullable_string() or "", reader.int64()
        topic_id = _topic_id_among(reader.tags())
    return _of_one(group_id, topic, partition, offset, leader_epoch, metadata, timestamp, None, topic_id)


def _decode_older(group_id: str, topic: str, partition: int, value: bytes, version: int) -> OffsetCommitRecord:
    """Versions 0 and 2: no leader epoch. Version 1 has an end of its own besides."""
    if version > 2:
        raise DecodeError(f"an offset of version {version}: it may be of a later Kafka")
    reader = Reader(value[2:])
    offset, metadata, timestamp = reader.int64(), reader.nullable_string() or "", reader.int64()
    expires = reader.int64() if version == 1 else -1
    expire_timestamp = None if expires == -1 else expires
    return _of_one(group_id, topic, partition, offset, -1, metadata, timestamp, expire_timestamp, NO_TOPIC_ID)


def _of_one(
    group_id: str,
    topic: str,
    partition: int,
    offset: int,
    leader_epoch: int,
    metadata: str,
    timestamp: int,
    expire_timestamp: int | None,
    topic_id: UUID,
) -> OffsetCommitRecord:
    return OffsetCommitRecord(
        group_id,
        topic,
        (partition,),
        (offset,),
        (leader_epoch,),
        (metadata,) if metadata else (),
        timestamp,
        expire_timestamp,
        topic_id,
    )


def _topic_id(value: bytes, position: int) -> UUID:
    """From the tagged fields that begin here, nearly always one."""
    if value[position : position + 3] == b"\1\0\x10":
        return UUID(bytes=value[position + 3 : position + 3 + _TOPIC_ID_SIZE])
    return _topic_id_among(Reader(value[position:], flexible=True).tags())


def _topic_id_among(tags: dict[int, bytes]) -> UUID:
    return UUID(bytes=tags[0]) if len(tags.get(0, b"")) == _TOPIC_ID_SIZE else NO_TOPIC_ID


# Reading many


class Run(NamedTuple):
    """Records behind one another that are one commit, how many follow its first, and where the next record begins."""

    commit: OffsetCommitRecord
    more: int
    end: int


def read_run(payload: bytes, begin: int, key_begin: int, end: int, most: int, first: OffsetCommitRecord) -> Run:
    """The records like the first that follow it, `most` at the most. The first lies from begin to end, and its key
    from key_begin on; it has no metadata and no end of its own."""
    key_size = len(first.group_id.encode()) + len(first.topic.encode()) + _KEY_HEAD.size + _SIZE.size
    key_place, size = key_begin - begin, end - begin
    form = None if first.metadata or first.expire_timestamp_ms is not None else _like(key_place, key_size, size)
    if form is None:
        return Run(first, 0, end)
    head, partition, value_head, offset, leader_epoch, tail = form.unpack_from(payload, begin)
    seen, offsets, leader_epochs = {partition: None}, [offset], [leader_epoch]
    key = head[key_place:]
    alike = min(most, (len(payload) - end) // size)
    behind = memoryview(payload)[end : end + alike * size]
    for next_head, partition, next_value_head, offset, leader_epoch, next_tail in form.iter_unpack(behind):
        is_like_it = next_tail == tail and next_value_head == value_head and next_head[0] == head[0]
        if not is_like_it or next_head[key_place:] != key or partition in seen:
            break
        seen[partition] = None
        offsets.append(offset)
        leader_epochs.append(leader_epoch)
    commit = first._replace(partitions=tuple(seen), offsets=tuple(offsets), leader_epochs=tuple(leader_epochs))
    return Run(commit, len(seen) - 1, begin + len(seen) * size)


def joined(one: OffsetCommitRecord, other: OffsetCommitRecord) -> OffsetCommitRecord | None:
    """Both as the one commit that they were before they were written; None if they were not."""
    if (
        one.commit_timestamp_ms != other.commit_timestamp_ms
        or one.topic != other.topic
        or one.group_id != other.group_id
        or (one.expire_timestamp_ms, one.topic_id) != (other.expire_timestamp_ms, other.topic_id)
        or one.metadata
        or other.metadata
        or not set(one.partitions).isdisjoint(other.partitions)
    ):
        return None
    return one._replace(
        partitions=one.partitions + other.partitions,
        offsets=one.offsets + other.offsets,
        leader_epochs=one.leader_epochs + other.leader_epochs,
    )


@lru_cache(_REMEMBERED_FORMS)
def _like(key_place: int, key_size: int, size: int) -> Struct | None:
    """The slots of a record of this size; None if that is not of the form that write_commit gives it."""
    head_size = key_place + key_size
    for tail_size in (_EMPTY_TAIL, _EMPTY_TAIL + _TAGS_AND_TOPIC_ID.size - 1):
        value_head_size = size - head_size - _PARTITION.size - _TIMESTAMP.size - _PARTITION.size - tail_size
        if value_head_size == len(_VERSION_4) + 1:
            return Struct(f">{head_size}si{value_head_size}sqi{tail_size}s")
    return None


_EMPTY_TAIL: Final = len(_EMPTY) + _TIMESTAMP.size + 1 + len(_NO_HEADERS)
