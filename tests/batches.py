"""Batches for tests: real ones, with records, offsets and a CRC, made in one short call."""

from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from kohort.wire.record_batch import CRC_START, HEADER_SIZE, LENGTH_OVERHEAD, Batch, decode_header

_HEADER = Struct(">qiibIhiqqqhii")
_CRC = Struct(">I")
_CRC_POSITION = 17


class Line(NamedTuple):
    """One record of a test: its key, its value and its time."""

    key: bytes | None
    value: bytes | None
    timestamp: int = 1_000


def batch(
    base_offset: int,
    lines: Sequence[Line],
    *,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    attributes: int = 0,
) -> Batch:
    """An uncompressed batch whose first record has this offset."""
    base_timestamp = lines[0].timestamp
    records = b"".join(_record(delta, line, base_timestamp) for delta, line in enumerate(lines))
    data = bytearray(
        _HEADER.pack(
            base_offset,
            HEADER_SIZE - LENGTH_OVERHEAD + len(records),
            0,
            2,
            0,
            attributes,
            len(lines) - 1,
            base_timestamp,
            max(line.timestamp for line in lines),
            producer_id,
            producer_epoch,
            base_sequence,
            len(lines),
        )
    )
    data += records
    _CRC.pack_into(data, _CRC_POSITION, crc32c(memoryview(data)[CRC_START:]))
    return Batch(decode_header(data), bytes(data))


def values(base_offset: int, count: int, *, size: int = 10, timestamp: int = 1_000, **producer: int) -> Batch:
    """A batch of so many records without keys, each value of this size and different from all others."""
    lines = [Line(None, str(base_offset + n).encode().rjust(size, b"."), timestamp) for n in range(count)]
    return batch(base_offset, lines, **producer)


def _record(offset_delta: int, line: Line, base_timestamp: int) -> bytes:
    body = b"\0" + _varint(line.timestamp - base_timestamp) + _varint(offset_delta)
    for field in (line.key, line.value):
        body += _varint(-1) if field is None else _varint(len(field)) + field
    body += _varint(0)
    return _varint(len(body)) + body


def _varint(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while zigzag > 0x7F:
        encoded.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    encoded.append(zigzag)
    return bytes(encoded)
