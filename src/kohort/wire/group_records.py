"""The records of __consumer_offsets as keys and values of a log, in Kafka's own formats (GROUPS.md 6.2).

A key is its record type and a plain struct; a value is its version and a struct; no value is a tombstone. Values are
written in the version that Kafka 4.3 writes, and read in every version there was. Types that are not known, as those of
share groups, come out as UnknownRecord. GROUP_IDENTITY is kohort's own: Kafka's formatter and loader skip its type.

Next hop: offset_records.py for offsets, which are most of what is written and read; model/records/groups.py has the
values.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final
from uuid import UUID

from kohort.model.records.groups import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupMemberMetadataRecord,
    ConsumerGroupMetadataRecord,
    CurrentMemberAssignmentRecord,
    GroupIdentityRecord,
    GroupMetadataMember,
    GroupMetadataRecord,
    GroupsRecord,
    MemberState,
    OffsetCommitRecord,
    RecordPartitionEpochs,
    RecordTopicPartitions,
    RegularExpressionRecord,
    RemoveConsumerGroupMemberMetadataRecord,
    RemoveConsumerGroupMetadataRecord,
    RemoveConsumerGroupPartitionMetadataRecord,
    RemoveCurrentMemberAssignmentRecord,
    RemoveGroupIdentityRecord,
    RemoveGroupMetadataRecord,
    RemoveOffsetRecord,
    RemoveRegularExpressionRecord,
    RemoveTargetAssignmentMemberRecord,
    RemoveTargetAssignmentMetadataRecord,
    TargetAssignmentMemberRecord,
    TargetAssignmentMetadataRecord,
    UnknownRecord,
)
from kohort.wire.batch_writer import BatchWriter
from kohort.wire.errors import DecodeError
from kohort.wire.offset_records import OFFSET_COMMIT, decode_offset, joined, offset_tombstone, read_run, write_commit
from kohort.wire.primitives import Reader, Writer
from kohort.wire.record_batch import Batch
from kohort.wire.records import plain_records, read_key_and_value

LEGACY_OFFSET_COMMIT: Final = 0
GROUP_METADATA: Final = 2
CONSUMER_GROUP_METADATA: Final = 3
CONSUMER_GROUP_PARTITION_METADATA: Final = 4
CONSUMER_GROUP_MEMBER_METADATA: Final = 5
TARGET_ASSIGNMENT_METADATA: Final = 6
TARGET_ASSIGNMENT_MEMBER: Final = 7
CURRENT_MEMBER_ASSIGNMENT: Final = 8
REGULAR_EXPRESSION: Final = 16
GROUP_IDENTITY: Final = 0x6B68
"""The letters kh: far behind what Kafka has given out."""

Encoded = tuple[bytes, bytes | None]


def write(writer: BatchWriter, records: Iterable[GroupsRecord]) -> None:
    for record in records:
        if type(record) is OffsetCommitRecord:
            write_commit(writer, record)
        else:
            writer.write(*_ENCODERS[type(record)](record))


def decode_batch(batch: Batch) -> Iterator[GroupsRecord]:
    """DecodeError for what is malformed."""
    payload = plain_records(*batch)
    remaining, position = batch.header.record_count, 0
    commit: OffsetCommitRecord | None = None
    """Read, but perhaps to be joined with the next one."""
    while remaining > 0:
        key, value, key_begin, end = read_key_and_value(payload, position)
        record = decode(key, value)
        remaining -= 1
        if type(record) is OffsetCommitRecord:
            if remaining:
                record, more, end = read_run(payload, position, key_begin, end, remaining, record)
                remaining -= more
            together = None if commit is None else joined(commit, record)
            if commit is not None and together is None:
                yield commit
            commit = together or record
        else:
            if commit is not None:
                yield commit
                commit = None
            yield record
        position = end
    if commit is not None:
        yield commit


def decode(key: bytes | None, value: bytes | None) -> GroupsRecord:
    """DecodeError for what is malformed."""
    if key is None or len(key) < 2:
        raise DecodeError(f"a record of a group has the key {key!r}")
    record_type = key[0] << 8 | key[1]
    decoder = _DECODERS.get(record_type)
    if decoder is None:
        return UnknownRecord(record_type)
    return decoder(key, value)


# Group identities


def _encode_identity(record: GroupIdentityRecord) -> Encoded:
    writer = Writer()
    writer.fixed("h", 0)
    writer.string(record.identity)
    return _key(GROUP_IDENTITY, record.group_id), writer.data()


def _decode_identity(group_id: str, value: Reader, version: int) -> GroupsRecord:
    return GroupIdentityRecord(group_id, value.string())


# Classic groups


def _encode_group_metadata(record: GroupMetadataRecord) -> Encoded:
    writer = Writer()
    writer.fixed("h", 3)
    writer.string(record.protocol_type)
    writer.fixed("i", record.generation)
    writer.string(record.protocol)
    writer.string(record.leader)
    writer.fixed("q", record.current_state_timestamp_ms)
    writer.count(len(record.members))
    for member in record.members:
        writer.string(member.member_id)
        writer.string(member.group_instance_id)
        writer.string(member.client_id)
        writer.string(member.client_host)
        writer.fixed("ii", member.rebalance_timeout_ms, member.session_timeout_ms)
        writer.sized_bytes(member.subscription)
        writer.sized_bytes(member.assignment)
    return _key(GROUP_METADATA, record.group_id), writer.data()


def _decode_group_metadata(group_id: str, value: Reader, version: int) -> GroupsRecord:
    if version > 4:
        raise DecodeError(f"group metadata of version {version}: it may be of a later Kafka")
    value.flexible = version >= 4

    def read_member() -> GroupMetadataMember:
        member_id = value.string()
        instance_id = value.nullable_string() if version >= 3 else None
        client_id, client_host = value.string(), value.string()
        rebalance_timeout_ms = value.int32() if version >= 1 else None
        session_timeout_ms = value.int32()
        subscription, assignment = value.sized_bytes(), value.sized_bytes()
        value.tags()
        return GroupMetadataMember(
            member_id,
            instance_id,
            client_id,
            client_host,
            session_timeout_ms if rebalance_timeout_ms is None else rebalance_timeout_ms,
            session_timeout_ms,
            subscription,
            assignment,
        )

    return GroupMetadataRecord(
        group_id,
        protocol_type=value.string(),
        generation=value.int32(),
        protocol=value.nullable_string(),
        leader=value.nullable_string(),
        current_state_timestamp_ms=value.int64() if version >= 2 else -1,
        members=value.array(read_member),
    )


# Groups of the consumer protocol. All values are flexible.


def _encode_consumer_group_metadata(record: ConsumerGroupMetadataRecord) -> Encoded:
    writer = _flexible_value()
    writer.fixed("i", record.epoch)
    writer.tags(_tag(0, "q", record.metadata_hash) if record.metadata_hash else {})
    return _key(CONSUMER_GROUP_METADATA, record.group_id), writer.data()


def _decode_consumer_group_metadata(group_id: str, value: Reader, version: int) -> GroupsRecord:
    epoch = value.int32()
    return ConsumerGroupMetadataRecord(group_id, epoch, _tagged_int64(value, 0))


def _encode_member_metadata(record: ConsumerGroupMemberMetadataRecord) -> Encoded:
    writer = _flexible_value()
    writer.string(record.instance_id)
    writer.string(record.rack_id)
    writer.string(record.client_id)
    writer.string(record.client_host)
    writer.count(len(record.subscribed_topic_names))
    for name in record.subscribed_topic_names:
        writer.string(name)
    writer.string(record.subscribed_topic_regex)
    writer.fixed("i", record.rebalance_timeout_ms)
    writer.string(record.server_assignor)
    classic = record.classic_member_metadata
    writer.tags({} if classic is None else {0: _encode_classic_metadata(classic)})
    return _key(CONSUMER_GROUP_MEMBER_METADATA, record.group_id, record.member_id), writer.data()


def _encode_classic_metadata(classic: ClassicMemberMetadata) -> bytes:
    """A tagged struct that may be null: a byte of 1, then the struct."""
    writer = Writer(flexible=True)
    writer.fixed("bi", 1, classic.session_timeout_ms)
    writer.count(len(classic.supported_protocols))
    for protocol in classic.supported_protocols:
        writer.string(protocol.name)
        writer.sized_bytes(protocol.metadata)
        writer.tags({})
    writer.tags({})
    return writer.data()


def _decode_member_metadata(group_id: str, member_id: str, value: Reader) -> GroupsRecord:
    return ConsumerGroupMemberMetadataRecord(
        group_id,
        member_id,
        instance_id=value.nullable_string(),
        rack_id=value.nullable_string(),
        client_id=value.string(),
        client_host=value.string(),
        subscribed_topic_names=value.array(value.string),
        subscribed_topic_regex=value.nullable_string(),
        rebalance_timeout_ms=value.int32(),
        server_assignor=value.nullable_string(),
        classic_member_metadata=_decode_classic_metadata(value.tags().get(0)),
    )


def _decode_classic_metadata(data: bytes | None) -> ClassicMemberMetadata | None:
    if data is None:
        return None
    reader = Reader(data, flexible=True)
    if reader.int8() < 0:
        return None

    def read_protocol() -> ClassicProtocol:
        protocol = ClassicProtocol(reader.string(), reader.sized_bytes())
        reader.tags()
        return protocol

    return ClassicMemberMetadata(reader.int32(), reader.array(read_protocol))


def _encode_target_metadata(record: TargetAssignmentMetadataRecord) -> Encoded:
    writer = _flexible_value()
    writer.fixed("i", record.assignment_epoch)
    timestamp = record.assignment_timestamp_ms
    writer.tags(_tag(0, "q", timestamp) if timestamp else {})
    return _key(TARGET_ASSIGNMENT_METADATA, record.group_id), writer.data()


def _decode_target_metadata(group_id: str, value: Reader, version: int) -> GroupsRecord:
    epoch = value.int32()
    return TargetAssignmentMetadataRecord(group_id, epoch, _tagged_int64(value, 0))


def _encode_target_member(record: TargetAssignmentMemberRecord) -> Encoded:
    writer = _flexible_value()
    writer.count(len(record.topic_partitions))
    for topic in record.topic_partitions:
        _write_partitions(writer, topic.topic_id, topic.partitions)
        writer.tags({})
    writer.tags({})
    return _key(TARGET_ASSIGNMENT_MEMBER, record.group_id, record.member_id), writer.data()


def _decode_target_member(group_id: str, member_id: str, value: Reader) -> GroupsRecord:
    def read_topic() -> RecordTopicPartitions:
        topic = RecordTopicPartitions(value.uuid(), value.array(value.int32))
        value.tags()
        return topic

    return TargetAssignmentMemberRecord(group_id, member_id, value.array(read_topic))


def _encode_current_assignment(record: CurrentMemberAssignmentRecord) -> Encoded:
    writer = _flexible_value()
    writer.fixed("iib", record.member_epoch, record.previous_member_epoch, record.state)
    for topics in (record.assigned_partitions, record.partitions_pending_revocation):
        writer.count(len(topics))
        for topic in topics:
            _write_partitions(writer, topic.topic_id, topic.partitions)
            epochs = Writer(flexible=True)
            epochs.count(len(topic.assignment_epochs))
            epochs.fixed(f"{len(topic.assignment_epochs)}i", *topic.assignment_epochs)
            # Epochs that are all the member's own go without saying.
            is_plain = all(epoch == record.member_epoch for epoch in topic.assignment_epochs)
            writer.tags({} if is_plain else {0: epochs.data()})
    writer.tags({})
    return _key(CURRENT_MEMBER_ASSIGNMENT, record.group_id, record.member_id), writer.data()


def _decode_current_assignment(group_id: str, member_id: str, value: Reader) -> GroupsRecord:
    member_epoch, previous_epoch, state = value.int32(), value.int32(), value.int8()

    def read_topic() -> RecordPartitionEpochs:
        topic_id, partitions = value.uuid(), value.array(value.int32)
        data = value.tags().get(0)
        epochs: tuple[int, ...] = ()
        if data is not None:
            reader = Reader(data, flexible=True)
            epochs = reader.array(reader.int32)
        if len(epochs) != len(partitions):
            epochs = (member_epoch,) * len(partitions)
        return RecordPartitionEpochs(topic_id, partitions, epochs)

    known_state = MemberState(state) if state in _MEMBER_STATES else MemberState.UNKNOWN
    return CurrentMemberAssignmentRecord(
        group_id,
        member_id,
        member_epoch,
        previous_epoch,
        known_state,
        assigned_partitions=value.array(read_topic),
        partitions_pending_revocation=value.array(read_topic),
    )


def _encode_regular_expression(record: RegularExpressionRecord) -> Encoded:
    writer = _flexible_value()
    writer.count(len(record.topics))
    for topic in record.topics:
        writer.string(topic)
    writer.fixed("qq", record.version, record.timestamp_ms)
    writer.tags({})
    return _key(REGULAR_EXPRESSION, record.group_id, record.regular_expression), writer.data()


def _decode_regular_expression(group_id: str, regular_expression: str, value: Reader) -> GroupsRecord:
    return RegularExpressionRecord(
        group_id, regular_expression, value.array(value.string), value.int64(), value.int64()
    )


_MEMBER_STATES: Final = frozenset(MemberState)


# Keys, and what values have in common


def _key(record_type: int, *names: str) -> bytes:
    writer = Writer()
    writer.fixed("h", record_type)
    for name in names:
        writer.string(name)
    return writer.data()


def _flexible_value() -> Writer:
    writer = Writer(flexible=True)
    writer.fixed("h", 0)
    return writer


def _tag(tag: int, struct_format: str, value: int) -> dict[int, bytes]:
    writer = Writer()
    writer.fixed(struct_format, value)
    return {tag: writer.data()}


def _tagged_int64(value: Reader, tag: int) -> int:
    data = value.tags().get(tag)
    return 0 if data is None else Reader(data).int64()


def _write_partitions(writer: Writer, topic_id: UUID, partitions: tuple[int, ...]) -> None:
    writer.raw(topic_id.bytes)
    writer.count(len(partitions))
    writer.fixed(f"{len(partitions)}i", *partitions)


Decoder = Callable[[bytes, bytes | None], GroupsRecord]


def _of_group(
    remove: Callable[[str], GroupsRecord], decode_value: Callable[[str, Reader, int], GroupsRecord]
) -> Decoder:
    """Records whose key is the group."""

    def decode_record(key: bytes, value: bytes | None) -> GroupsRecord:
        group_id = Reader(key[2:]).string()
        if value is None:
            return remove(group_id)
        reader = Reader(value, flexible=True)
        return decode_value(group_id, reader, reader.int16())

    return decode_record


def _of_group_and(
    remove: Callable[[str, str], GroupsRecord], decode_value: Callable[[str, str, Reader], GroupsRecord]
) -> Decoder:
    """Records whose key is the group and a member or an expression."""

    def decode_record(key: bytes, value: bytes | None) -> GroupsRecord:
        names = Reader(key[2:])
        group_id, name = names.string(), names.string()
        if value is None:
            return remove(group_id, name)
        reader = Reader(value, flexible=True)
        reader.int16()
        return decode_value(group_id, name, reader)

    return decode_record


def _plain(decode_value: Callable[[str, Reader, int], GroupsRecord]) -> Callable[[str, Reader, int], GroupsRecord]:
    """A value that is not flexible, or only in some of its versions."""

    def decode_plain(group_id: str, value: Reader, version: int) -> GroupsRecord:
        value.flexible = False
        return decode_value(group_id, value, version)

    return decode_plain


def _decode_partition_metadata(group_id: str, value: Reader, version: int) -> GroupsRecord:
    return UnknownRecord(CONSUMER_GROUP_PARTITION_METADATA)


_DECODERS: Final[dict[int, Decoder]] = {
    LEGACY_OFFSET_COMMIT: decode_offset,
    OFFSET_COMMIT: decode_offset,
    GROUP_METADATA: _of_group(RemoveGroupMetadataRecord, _plain(_decode_group_metadata)),
    CONSUMER_GROUP_METADATA: _of_group(RemoveConsumerGroupMetadataRecord, _decode_consumer_group_metadata),
    CONSUMER_GROUP_PARTITION_METADATA: _of_group(
        RemoveConsumerGroupPartitionMetadataRecord, _decode_partition_metadata
    ),
    CONSUMER_GROUP_MEMBER_METADATA: _of_group_and(RemoveConsumerGroupMemberMetadataRecord, _decode_member_metadata),
    TARGET_ASSIGNMENT_METADATA: _of_group(RemoveTargetAssignmentMetadataRecord, _decode_target_metadata),
    TARGET_ASSIGNMENT_MEMBER: _of_group_and(RemoveTargetAssignmentMemberRecord, _decode_target_member),
    CURRENT_MEMBER_ASSIGNMENT: _of_group_and(RemoveCurrentMemberAssignmentRecord, _decode_current_assignment),
    REGULAR_EXPRESSION: _of_group_and(RemoveRegularExpressionRecord, _decode_regular_expression),
    GROUP_IDENTITY: _of_group(RemoveGroupIdentityRecord, _plain(_decode_identity)),
}


def _tombstone(record_type: int) -> Callable[[Any], Encoded]:
    return lambda record: (_key(record_type, record.group_id), None)


def _member_tombstone(record_type: int) -> Callable[[Any], Encoded]:
    return lambda record: (_key(record_type, record.group_id, record.member_id), None)


_ENCODERS: Final[dict[type, Callable[[Any], Encoded]]] = {
    RemoveOffsetRecord: offset_tombstone,
    GroupIdentityRecord: _encode_identity,
    RemoveGroupIdentityRecord: _tombstone(GROUP_IDENTITY),
    GroupMetadataRecord: _encode_group_metadata,
    RemoveGroupMetadataRecord: _tombstone(GROUP_METADATA),
    ConsumerGroupMetadataRecord: _encode_consumer_group_metadata,
    RemoveConsumerGroupMetadataRecord: _tombstone(CONSUMER_GROUP_METADATA),
    RemoveConsumerGroupPartitionMetadataRecord: _tombstone(CONSUMER_GROUP_PARTITION_METADATA),
    ConsumerGroupMemberMetadataRecord: _encode_member_metadata,
    RemoveConsumerGroupMemberMetadataRecord: _member_tombstone(CONSUMER_GROUP_MEMBER_METADATA),
    TargetAssignmentMetadataRecord: _encode_target_metadata,
    RemoveTargetAssignmentMetadataRecord: _tombstone(TARGET_ASSIGNMENT_METADATA),
    TargetAssignmentMemberRecord: _encode_target_member,
    RemoveTargetAssignmentMemberRecord: _member_tombstone(TARGET_ASSIGNMENT_MEMBER),
    CurrentMemberAssignmentRecord: _encode_current_assignment,
    RemoveCurrentMemberAssignmentRecord: _member_tombstone(CURRENT_MEMBER_ASSIGNMENT),
    RegularExpressionRecord: _encode_regular_expression,
    RemoveRegularExpressionRecord: lambda record: (
        _key(REGULAR_EXPRESSION, record.group_id, record.regular_expression),
        None,
    ),
}
