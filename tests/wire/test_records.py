"""Record batches: ours against those of kio and of real clients' builders, and those that nobody sound would send."""

from collections.abc import Sequence
from struct import Struct

import cramjam
import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder
from kio.records.readers import read_batch

from kohort.wire.compression import compress, decompress
from kohort.wire.errors import DecodeError
from kohort.wire.record_batch import CRC_START, HEADER_SIZE, Batch, Compression, decode_header
from kohort.wire.records import (
    NewRecord,
    Record,
    decode_batches,
    decode_records,
    decode_timestamps,
    empty_batch,
    encode_batch,
    filter_batch,
)

NOW = 1_700_000_000_000
_COUNT = Struct(">i")
_COUNT_POSITION = 57

LINES = [
    NewRecord(b"key", b"value", NOW),
    NewRecord(None, b"x" * 200, NOW + 5, ((b"trace", b"1"), (b"empty", None), (b"", b""))),
    NewRecord(b"gone", None, NOW - 70_000),
    NewRecord(b"", b"", NOW + 2**33),
]

new_records = st.builds(
    NewRecord,
    key=st.none() | st.binary(max_size=80),
    value=st.none() | st.binary(max_size=300),
    timestamp=st.integers(0, 2**42),
    headers=st.lists(st.tuples(st.binary(max_size=8), st.none() | st.binary(max_size=8)), max_size=3).map(tuple),
)


def placed(records: Sequence[NewRecord], base_offset: int = 0) -> list[Record]:
    return [
        Record(base_offset + delta, record.timestamp, record.key, record.value, record.headers)
        for delta, record in enumerate(records)
    ]


# Ours


@pytest.mark.parametrize("codec", Compression)
@settings(max_examples=30, deadline=None, database=None)
@given(records=st.lists(new_records, min_size=1, max_size=12), base_offset=st.integers(0, 2**60))
def test_what_is_written_is_read_back(codec: Compression, records: list[NewRecord], base_offset: int) -> None:
    batch = encode_batch(records, base_offset=base_offset, compression=codec)
    assert list(decode_records(batch.data)) == placed(records, base_offset)
    assert list(decode_timestamps(batch)) == [
        (base_offset + delta, record.timestamp) for delta, record in enumerate(records)
    ]
    header = batch.header
    assert decode_header(batch.data) == header
    assert (header.size, header.crc) == (len(batch.data), crc32c(batch.data[CRC_START:]))
    assert header.last_offset == base_offset + len(records) - 1
    assert header.max_timestamp == max(record.timestamp for record in records)


def test_kio_reads_what_is_written() -> None:
    batch = encode_batch(LINES[:3], base_offset=9, leader_epoch=4, producer_id=5, producer_epoch=6, base_sequence=7)
    read, size = read_batch(batch.data, 0)
    assert size == len(batch.data)
    assert (read.producer_id, read.producer_epoch, read.base_sequence, read.partition_leader_epoch) == (5, 6, 7, 4)
    assert [(record.offset, record.key, record.value) for record in read.records] == [
        (record.offset, record.key, record.value) for record in placed(LINES[:3], 9)
    ]


def test_a_batch_says_what_it_is() -> None:
    header = encode_batch(LINES, is_transactional=True, is_control=True, compression=Compression.ZSTD).header
    assert (header.is_transactional, header.is_control, header.compression) == (True, True, Compression.ZSTD)
    assert not header.is_log_append_time


def test_log_append_time_is_the_time_of_every_record() -> None:
    batch = encode_batch(LINES, log_append_time=NOW + 9)
    assert batch.header.is_log_append_time
    assert {record.timestamp for record in decode_records(batch.data)} == {NOW + 9}
    assert {timestamp for _offset, timestamp in decode_timestamps(batch)} == {NOW + 9}


def test_batches_that_lie_end_to_end_are_read_in_order() -> None:
    first, second = encode_batch(LINES), encode_batch(LINES, base_offset=4, compression=Compression.LZ4)
    data = bytes(first.data) + bytes(second.data)
    assert [batch.header for batch in decode_batches(data)] == [first.header, second.header]
    assert list(decode_records(data)) == placed(LINES) + placed(LINES, 4)


def test_a_batch_of_nothing_is_not_written() -> None:
    with pytest.raises(ValueError, match="a batch needs a record"):
        encode_batch([])


# Those of clients


# kafka-python has gzip only, where no other library is installed.
@pytest.mark.parametrize(
    ("builder", "codec"),
    [(AiokafkaBuilder, codec) for codec in Compression]
    + [(KafkaPythonBuilder, Compression.NONE), (KafkaPythonBuilder, Compression.GZIP)],
)
def test_what_python_clients_build_is_read(builder: type, codec: Compression) -> None:
    built = builder(
        magic=2,
        compression_type=int(codec),
        is_transactional=False,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1 << 20,
    )
    for delta, record in enumerate(LINES):
        headers = [(key.decode(), value) for key, value in record.headers]
        built.append(delta, record.timestamp, record.key, record.value, headers)
    data = bytes(built.build())
    assert decode_header(data).compression == codec
    assert list(decode_records(data)) == placed(LINES)


@pytest.mark.parametrize("compress_as", [cramjam.snappy.compress_raw, lambda data: compress(Compression.SNAPPY, data)])
def test_snappy_is_read_bare_and_in_javas_frame(compress_as) -> None:  # type: ignore[no-untyped-def]
    data = bytes(range(256)) * 1_000
    assert decompress(Compression.SNAPPY, bytes(compress_as(data)), len(data)) == data


# Those that nobody sound would send


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
def test_a_small_batch_that_unfolds_to_much_is_refused(codec: Compression) -> None:
    bomb = compress(codec, bytes(3_000_000))
    assert len(bomb) < 160_000
    with pytest.raises(DecodeError, match="more than 2000000 bytes"):
        decompress(codec, bomb, 2_000_000)
    assert decompress(codec, bomb, 3_000_000) == bytes(3_000_000)


@pytest.mark.parametrize("codec", [codec for codec in Compression if codec is not Compression.NONE])
@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda data: b"\xff" * len(data)])
def test_a_damaged_stream_is_refused(codec: Compression, damage) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(DecodeError):
        decompress(codec, damage(compress(codec, bytes(range(256)) * 500)), 1 << 20)


@pytest.mark.parametrize("codec", [5, 6, 7])
def test_an_unknown_codec_is_refused(codec: int) -> None:
    with pytest.raises(DecodeError, match=f"unknown compression {codec}"):
        decompress(codec, b"data", 100)


def with_count(batch: Batch, count: int) -> bytes:
    data = bytearray(batch.data)
    _COUNT.pack_into(data, _COUNT_POSITION, count)
    return bytes(data)


@pytest.mark.parametrize("count", [-1, -(2**31), 3, 5, 2**31 - 1])
def test_a_count_that_is_not_that_of_the_records_is_refused(count: int) -> None:
    with pytest.raises(DecodeError):
        list(decode_records(with_count(encode_batch(LINES), count)))


def test_records_cut_short_anywhere_are_refused() -> None:
    batch = encode_batch(LINES)
    length = batch.header.length
    for lost in range(1, len(batch.data) - HEADER_SIZE):
        data = bytearray(batch.data[:-lost])
        _COUNT.pack_into(data, 8, length - lost)
        with pytest.raises(DecodeError):
            list(decode_records(data))


@pytest.mark.parametrize(
    "data",
    [
        b"\0",
        bytes(60),
        bytes(61),
        encode_batch(LINES).data[:-1],
        bytes(encode_batch(LINES).data) + b"\0",
    ],
)
def test_bytes_that_are_no_batch_are_refused(data: bytes) -> None:
    with pytest.raises(DecodeError):
        list(decode_batches(data))


@settings(max_examples=300, deadline=None, database=None)
@given(position=st.integers(HEADER_SIZE, 400), value=st.integers(0, 255))
def test_a_changed_byte_raises_nothing_but_a_decode_error(position: int, value: int) -> None:
    batch = encode_batch(LINES)
    data = bytearray(batch.data)
    data[min(position, len(data) - 1)] = value
    for read in (lambda: decode_records(data), lambda: decode_timestamps(Batch(batch.header, data))):
        try:
            list(read())
        except DecodeError:
            continue


# Taking records out


@pytest.mark.parametrize("codec", Compression)
def test_records_that_are_not_kept_go_and_the_rest_stays_where_it_was(codec: Compression) -> None:
    batch = encode_batch(LINES, base_offset=100, compression=codec, producer_id=1, producer_epoch=2, base_sequence=3)
    filtered = filter_batch(batch, {101, 102}.__contains__)
    assert list(decode_records(filtered.data)) == placed(LINES, 100)[1:3]
    header = filtered.header
    assert decode_header(filtered.data) == header
    assert (header.base_offset, header.last_offset, header.record_count) == (100, 103, 2)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1, 2, 3)
    assert header.max_timestamp == NOW + 5
    assert header.crc == crc32c(filtered.data[CRC_START:])


def test_a_delete_horizon_takes_the_base_timestamps_place_and_changes_no_record() -> None:
    filtered = filter_batch(encode_batch(LINES), {0, 2}.__contains__, delete_horizon_ms=NOW + 1_000_000)
    assert filtered.header.delete_horizon_ms == NOW + 1_000_000
    assert list(decode_records(filtered.data)) == [placed(LINES)[0], placed(LINES)[2]]


def test_an_empty_batch_keeps_its_offsets_and_its_producer() -> None:
    batch = encode_batch(LINES, base_offset=7, producer_id=1, producer_epoch=2, base_sequence=3)
    emptied = empty_batch(batch.header)
    assert list(decode_records(emptied.data)) == []
    header = emptied.header
    assert (len(emptied.data), header.record_count, header.base_offset, header.last_offset) == (HEADER_SIZE, 0, 7, 10)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1, 2, 3)
    assert header.crc == crc32c(emptied.data[CRC_START:])
