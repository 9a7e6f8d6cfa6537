"""Offsets as they lie in a log: written many at a time, read many at a time, and always Kafka's own records."""

from collections.abc import Iterable
from contextlib import suppress
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kohort.model.ids import NO_TOPIC_ID
from kohort.model.records.groups import GroupIdentityRecord, GroupsRecord, OffsetCommitRecord, RemoveOffsetRecord
from kohort.wire import group_records
from kohort.wire.batch_writer import BatchWriter
from kohort.wire.errors import DecodeError
from kohort.wire.group_records import decode, decode_batch
from kohort.wire.record_batch import Batch
from kohort.wire.records import NewRecord, decode_batches, decode_records, encode_batch

NOW_MS = 1_700_000_000_000


def encode_batches(records: Iterable[GroupsRecord], base_offset: int, timestamp: int) -> list[Batch]:
    writer = BatchWriter(base_offset, timestamp)
    group_records.write(writer, records)
    return writer.batches()


names = st.sampled_from(["g", "group", "ä" * 40])
int64 = st.integers(-1, (1 << 63) - 1)


@st.composite
def commits(draw: st.DrawFn) -> OffsetCommitRecord:
    partitions = draw(st.lists(st.integers(0, (1 << 31) - 1), min_size=1, max_size=150, unique=True))
    size = len(partitions)
    metadata = draw(st.lists(st.text(max_size=200), min_size=size, max_size=size) | st.just([]))
    has_end = draw(st.booleans())
    return OffsetCommitRecord(
        draw(names),
        draw(names),
        tuple(partitions),
        tuple(draw(st.lists(int64, min_size=size, max_size=size))),
        (-1,) * size if has_end else tuple(draw(st.lists(st.integers(-1, 9), min_size=size, max_size=size))),
        tuple(metadata) if any(metadata) else (),
        draw(st.integers(0, 1 << 50)),
        draw(st.integers(0, 1 << 50)) if has_end else None,
        NO_TOPIC_ID if has_end else draw(st.sampled_from([NO_TOPIC_ID, UUID(int=5)])),
    )


def rows(records: list[GroupsRecord]) -> list[object]:
    """Each record, commits partition by partition: how many make one record is nobody's business."""
    return [
        row
        for record in records
        for row in (
            zip(
                *(record.partitions, record.offsets, record.leader_epochs),
                record.metadata or ("",) * len(record.partitions),
                [(record.group_id, record.topic, *record[6:])] * len(record.partitions),
                strict=True,
            )
            if isinstance(record, OffsetCommitRecord)
            else [record]
        )
    ]


others = st.sampled_from([RemoveOffsetRecord("g", "group", 7), GroupIdentityRecord("g", "cgp_1")])


@given(st.lists(commits() | others, max_size=8))
def test_what_is_written_is_read_again_and_each_partition_is_a_record(written: list[GroupsRecord]) -> None:
    batches = encode_batches(written, 100, NOW_MS)
    assert [batch.header.base_offset for batch in batches] == [100] * bool(written)
    read = [record for batch in batches for record in decode_batch(batch)]
    assert rows(read) == rows(written)
    for batch in batches:
        (again,) = decode_batches(batch.data)
        assert again.header == batch.header
        plain = list(decode_records(batch.data))
        assert [record.offset for record in plain] == list(range(100, 100 + batch.header.record_count))
        assert rows([decode(record.key, record.value) for record in plain]) == rows(written)


def test_a_commit_of_many_partitions_is_read_as_few_records() -> None:
    record = OffsetCommitRecord(
        "g", "orders", tuple(range(500)), (7,) * 500, (-1,) * 500, (), NOW_MS, None, UUID(int=5)
    )
    (batch,) = encode_batches([record], 0, NOW_MS)
    assert len(list(decode_batch(batch))) <= 3


def test_batches_do_not_grow_without_end() -> None:
    records = [
        OffsetCommitRecord("g", f"topic-{number}", tuple(range(500)), (7,) * 500, (-1,) * 500, (), NOW_MS)
        for number in range(100)
    ]
    batches = encode_batches(records, 50, NOW_MS)
    assert len(batches) > 1
    assert max(len(batch.data) for batch in batches) < 2 << 20
    expected = 50
    for batch in batches:
        assert batch.header.base_offset == expected
        expected = batch.header.next_offset
    assert expected == 50 + 50_000


def test_a_partition_that_comes_twice_counts_as_it_came_last() -> None:
    records = [OffsetCommitRecord("g", "t", (3,), (offset,), (-1,), (), NOW_MS) for offset in (1, 2)]
    (batch,) = encode_batches(records, 0, NOW_MS)
    assert [record.offsets for record in decode_batch(batch)] == [(1,), (2,)]  # type: ignore[union-attr]


# Bytes that Kafka 4.3.1 wrote (its console consumer with OffsetsMessageFormatter reads what is written here, see
# tests/compat), and those of the versions before.

KEY = bytes.fromhex("0001 0001 67 0001 74 00000002".replace(" ", ""))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("0000 0000000000000005 0001 6d 0000000000000009", (5, -1, "m", 9, None)),
        ("0001 0000000000000005 0000 0000000000000009 000000000000000b", (5, -1, "", 9, 11)),
        ("0002 0000000000000005 0001 6d 0000000000000009", (5, -1, "m", 9, None)),
        ("0003 0000000000000005 00000004 0001 6d 0000000000000009", (5, 4, "m", 9, None)),
        ("0004 0000000000000005 00000004 02 6d 0000000000000009 00", (5, 4, "m", 9, None)),
    ],
)
def test_offsets_of_every_version_are_read(value: str, expected: tuple[object, ...]) -> None:
    record = decode(KEY, bytes.fromhex(value.replace(" ", "")))
    assert isinstance(record, OffsetCommitRecord)
    assert (record.group_id, record.topic, record.partitions) == ("g", "t", (2,))
    offset, leader_epoch, metadata, committed_ms, expires_ms = expected
    assert record[3:8] == ((offset,), (leader_epoch,), (metadata,) if metadata else (), committed_ms, expires_ms)


@given(st.binary(max_size=60), st.binary(max_size=60) | st.none())
def test_a_malformed_offset_is_a_decode_error(key: bytes, value: bytes | None) -> None:
    (batch,) = [encode_batch([NewRecord(b"\0\1" + key, value, NOW_MS)] * 2)]
    with suppress(DecodeError):
        list(group_records.decode_batch(batch))
