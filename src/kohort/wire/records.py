"""The records inside a batch of magic 2: reading them, writing a batch of them, and taking some out.

A broker seldom looks at records: compaction, lookups by time, checks of timestamps and keys, and machines' logs do.
Lengths and counts are checked against the bytes that are there, and decompression is bounded, so that no batch costs
more than it may; what is wrong is a DecodeError. The header of a batch is record_batch.py's; the CRC is written here,
and checked where batches arrive, not again at every look.

    a record    length varint, attributes i8, timestamp delta varint, offset delta varint,
                key bytes?, value bytes?, headers [(key bytes, value bytes?)]
                (varints are zigzag; a length of -1 is null)
"""

from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from kohort.wire.compression import compress, decompress
from kohort.wire.errors import DecodeError as DecodeError
from kohort.wire.record_batch import (
    HAS_DELETE_HORIZON,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    Batch,
    BatchHeader,
    Buffer,
    Compression,
    decode_header,
)

MAGIC: Final = 2
MAX_DECOMPRESSED_SIZE: Final = 128 * 1024 * 1024
"""No producer of sound mind sends a batch that unfolds to more."""
MAX_VARINT_SIZE: Final = 10

_CODEC: Final = 0x07
_IS_LOG_APPEND_TIME: Final = 0x08
_IS_TRANSACTIONAL: Final = 0x10
_IS_CONTROL: Final = 0x20

_HEADER: Final = Struct(">qiibIhiqqqhii")
_AFTER_CRC: Final = Struct(">hiqqqhii")
_BEFORE_ATTRIBUTES: Final = Struct(">qiibI")

Header = tuple[bytes, bytes | None]
"""A record's header: its key, UTF-8 by convention, and its value."""


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...] = ()


class NewRecord(NamedTuple):
    """A record that has no place in a log yet."""

    key: bytes | None
    value: bytes | None
    timestamp: int
    headers: tuple[Header, ...] = ()


# Reading


def decode_batches(data: Buffer) -> Iterator[Batch]:
    """The batches that lie end to end in the data, without a copy."""
    view = memoryview(data)
    position = 0
    while position < len(view):
        if len(view) - position < HEADER_SIZE:
            raise DecodeError(f"a batch header in {len(view) - position} bytes")
        header = decode_header(view, position)
        if header.magic != MAGIC:
            raise DecodeError(f"a batch of magic {header.magic}")
        if not HEADER_SIZE <= header.size <= len(view) - position:
            raise DecodeError(f"a batch of {header.size} bytes where {len(view) - position} are left")
        yield Batch(header, view[position : position + header.size])
        position += header.size


def decode_records(data: Buffer, *, max_size: int = MAX_DECOMPRESSED_SIZE) -> Iterator[Record]:
    """The records of the batches that lie end to end in the data, each batch decompressed to at most max_size bytes."""
    for header, batch in decode_batches(data):
        yield from _decode_batch_records(header, batch, max_size)


def decode_timestamps(batch: Batch, *, max_size: int = MAX_DECOMPRESSED_SIZE) -> Iterator[tuple[int, int]]:
    """(offset, timestamp) of each record, for lookups by time: keys and values are stepped over."""
    header, data = batch
    payload = plain_records(header, data, max_size)
    position = 0
    try:
        for _ in range(header.record_count):
            length, position = _read_varint(payload, position)
            if length < 0:
                raise _malformed(header, position)
            timestamp_delta, after = _read_varint(payload, position + 1)
            offset_delta, after = _read_varint(payload, after)
            position += length
            if not after <= position <= len(payload):
                raise _malformed(header, position)
            timestamp = header.max_timestamp if header.is_log_append_time else header.base_timestamp + timestamp_delta
            yield header.base_offset + offset_delta, timestamp
    except IndexError as failure:
        raise _malformed(header, position) from failure


def _decode_batch_records(header: BatchHeader, data: Buffer, max_size: int) -> Iterator[Record]:
    """The hot loop of compaction: a varint of one byte, which nearly all are, is read in place."""
    payload = plain_records(header, data, max_size)
    appended = header.max_timestamp if header.is_log_append_time else None
    base_offset, base_timestamp = header.base_offset, header.base_timestamp
    position = 0
    try:
        for _ in range(header.record_count):
            length, position = _read_varint(payload, position)
            end = position + length
            timestamp, position = _read_varint(payload, position + 1)
            offset = payload[position]
            position += 1
            if offset > 0x7F:
                offset, position = _read_varint(payload, position - 1)
            else:
                offset = (offset >> 1) ^ -(offset & 1)
            key, position = _read_bytes(payload, position)
            value, position = _read_bytes(payload, position)
            header_count = payload[position]
            position += 1
            headers: tuple[Header, ...] = ()
            if header_count:
                headers, position = _read_headers(payload, position - 1)
            if position != end or end > len(payload):
                raise _malformed(header, position)
            record_timestamp = base_timestamp + timestamp if appended is None else appended
            yield Record(base_offset + offset, record_timestamp, key, value, headers)
    except IndexError as failure:
        raise _malformed(header, position) from failure
    if position != len(payload):
        raise DecodeError(f"{len(payload) - position} bytes behind the last of {header.record_count} records")


class KeyAndValue(NamedTuple):
    """What a machine's log needs of a record, and where in its batch's records it lies."""

    key: bytes | None
    value: bytes | None
    key_begin: int
    end: int


def read_key_and_value(payload: bytes, position: int) -> KeyAndValue:
    """Of the record at this position of plain_records."""
    try:
        length, position = _read_varint(payload, position)
        end = position + length
        _, position = _read_varint(payload, position + 1)
        _, position = _read_varint(payload, position)
        key, value_begin = _read_bytes(payload, position)
        value, position = _read_bytes(payload, value_begin)
    except IndexError as failure:
        raise DecodeError(f"a malformed record at byte {position} of a batch") from failure
    if not position < end <= len(payload):
        raise DecodeError(f"a malformed record at byte {position} of a batch")
    return KeyAndValue(key, value, value_begin - len(key or b""), end)


def plain_records(header: BatchHeader, data: Buffer, max_size: int = MAX_DECOMPRESSED_SIZE) -> bytes:
    """The bytes of a batch's records, decompressed to at most max_size bytes."""
    if header.record_count < 0:
        raise DecodeError(f"a batch of {header.record_count} records")
    return decompress(header.compression, memoryview(data)[HEADER_SIZE:], max_size)


def _malformed(header: BatchHeader, position: int) -> DecodeError:
    return DecodeError(f"a malformed record at byte {position} of the batch at offset {header.base_offset}")


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """The zigzag varint at the position, and the position behind it; IndexError if it leaves the data."""
    byte = data[position]
    position += 1
    value = byte & 0x7F
    shift = 7
    while byte > 0x7F:
        if shift == 7 * MAX_VARINT_SIZE:
            raise DecodeError(f"a varint of more than {MAX_VARINT_SIZE} bytes")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    return (value >> 1) ^ -(value & 1), position


def _read_bytes(data: bytes, position: int) -> tuple[bytes | None, int]:
    """Bytes behind their length. Those that leave the data come out short: the record's end then does not fit."""
    size = data[position]
    position += 1
    if size > 0x7F:
        size, position = _read_varint(data, position - 1)
        if size < 0:
            return None, position
    elif size & 1:
        return None, position
    else:
        size >>= 1
    return data[position : position + size], position + size


def _read_headers(data: bytes, position: int) -> tuple[tuple[Header, ...], int]:
    count, position = _read_varint(data, position)
    if not 0 <= count <= len(data) - position:
        raise DecodeError(f"a record of {count} headers")
    headers: list[Header] = []
    for _ in range(count):
        key, position = _read_bytes(data, position)
        if key is None:
            raise DecodeError("a record header without a key")
        value, position = _read_bytes(data, position)
        headers.append((key, value))
    return tuple(headers), position


# Writing


def encode_batch(
    records: Sequence[NewRecord],
    *,
    base_offset: int = 0,
    leader_epoch: int = 0,
    compression: Compression = Compression.NONE,
    producer_id: int = NO_PRODUCER_ID,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    log_append_time: int | None = None,
    is_transactional: bool = False,
    is_control: bool = False,
) -> Batch:
    """A batch of these records at successive offsets. With log_append_time, all of them have that timestamp."""
    if not records:
        raise ValueError("a batch needs a record")
    base_timestamp = records[0].timestamp
    payload = bytearray()
    for delta, record in enumerate(records):
        write_record(payload, record, record.timestamp - base_timestamp, delta)
    max_timestamp = max(record.timestamp for record in records)
    attributes = compression | is_transactional * _IS_TRANSACTIONAL | is_control * _IS_CONTROL
    if log_append_time is not None:
        max_timestamp = log_append_time
        attributes |= _IS_LOG_APPEND_TIME
    header = BatchHeader(
        base_offset=base_offset,
        length=0,
        leader_epoch=leader_epoch,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=len(records) - 1,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        record_count=len(records),
    )
    return _assemble(header, payload)


def batch_of_written(payload: Buffer, count: int, base_offset: int, timestamp: int) -> Batch:
    """The batch of so many records that write_record wrote, each at this time."""
    header_behind_crc = _AFTER_CRC.pack(0, count - 1, timestamp, timestamp, NO_PRODUCER_ID, -1, -1, count)
    length = HEADER_SIZE - LENGTH_OVERHEAD + len(payload)
    header = BatchHeader(
        base_offset,
        length,
        0,
        MAGIC,
        crc32c(payload, crc32c(header_behind_crc)),
        0,
        count - 1,
        timestamp,
        timestamp,
        NO_PRODUCER_ID,
        -1,
        -1,
        count,
    )
    return Batch(header, _BEFORE_ATTRIBUTES.pack(*header[:5]) + header_behind_crc + payload)


def filter_batch(
    batch: Batch,
    keep: Callable[[int], bool],
    *,
    delete_horizon_ms: int | None = None,
    max_size: int = MAX_DECOMPRESSED_SIZE,
) -> Batch:
    """The batch with those records only whose offsets are kept. All else stays: its first and last offset, compression,
    producer, and the records' own offsets. The base timestamp is the delete horizon, or else that of the first kept."""
    old = batch.header
    base_timestamp = delete_horizon_ms
    payload = bytearray()
    count = 0
    max_timestamp = NO_TIMESTAMP
    for record in _decode_batch_records(old, batch.data, max_size):
        if not keep(record.offset):
            continue
        count += 1
        max_timestamp = max(max_timestamp, record.timestamp)
        if base_timestamp is None:
            base_timestamp = record.timestamp
        fresh = NewRecord(record.key, record.value, record.timestamp, record.headers)
        write_record(payload, fresh, record.timestamp - base_timestamp, record.offset - old.base_offset)
    header = old._replace(
        base_timestamp=NO_TIMESTAMP if base_timestamp is None else base_timestamp,
        max_timestamp=old.max_timestamp if old.is_log_append_time else max_timestamp,
        attributes=old.attributes if delete_horizon_ms is None else old.attributes | HAS_DELETE_HORIZON,
        record_count=count,
    )
    return _assemble(header, payload)


def empty_batch(header: BatchHeader) -> Batch:
    """What is left of a batch when all its records are gone: its header, for the producer and the offsets it names."""
    attributes = header.attributes & ~(_CODEC | HAS_DELETE_HORIZON)
    emptied = header._replace(attributes=attributes, base_timestamp=NO_TIMESTAMP, record_count=0)
    return _assemble(emptied, b"")


def _assemble(header: BatchHeader, records: Buffer) -> Batch:
    """The batch of this header and these plain records: compressed, measured and given its CRC."""
    payload = compress(Compression(header.compression), records)
    after_crc = _AFTER_CRC.pack(*header[5:])
    header = header._replace(
        length=HEADER_SIZE - LENGTH_OVERHEAD + len(payload), crc=crc32c(payload, crc32c(after_crc))
    )
    return Batch(header, _HEADER.pack(*header) + payload)


def write_record(out: bytearray, record: NewRecord, timestamp_delta: int, offset_delta: int) -> None:
    """Writes it behind those that are there."""
    body = bytearray(1)
    write_varint(body, timestamp_delta)
    write_varint(body, offset_delta)
    _write_bytes(body, record.key)
    _write_bytes(body, record.value)
    write_varint(body, len(record.headers))
    for key, value in record.headers:
        _write_bytes(body, key)
        _write_bytes(body, value)
    write_varint(out, len(body))
    out += body


def _write_bytes(out: bytearray, data: bytes | None) -> None:
    if data is None:
        out.append(1)
    else:
        write_varint(out, len(data))
        out += data


def write_varint(out: bytearray, value: int) -> None:
    """Zigzag, as a record has its lengths and deltas."""
    zigzag = value << 1 if value >= 0 else (-value << 1) - 1
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
