"""The header of a record batch, magic 2: what a broker must know of a batch without looking into its records.

Decides nothing and allocates nothing but the header. The bytes of a batch are never re-encoded: base offset and leader
epoch lie before the CRC and are patched, all behind stays as the producer made it. Records themselves: records.py.

    offset  0  base_offset i64, length i32 (bytes after this field), leader_epoch i32, magic i8, crc u32
    offset 21  attributes i16, last_offset_delta i32, base_timestamp i64, max_timestamp i64,
               producer_id i64, producer_epoch i16, base_sequence i32, record_count i32        (61 bytes)
    offset 61  the records, compressed as attributes say
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

Buffer = bytes | bytearray | memoryview

_HEADER: Final = Struct(">qiibIhiqqqhii")
_PREFIX: Final = Struct(">qii")
HEADER_SIZE: Final = _HEADER.size
LENGTH_OVERHEAD: Final = 12
"""Bytes of a batch that its own length field does not count: base_offset and the length itself."""
CRC_START: Final = 21
"""Where the bytes that the CRC covers begin."""

NO_PRODUCER_ID: Final = -1
NO_TIMESTAMP: Final = -1
HAS_DELETE_HORIZON: Final = 0x40
"""The attribute of a batch whose base timestamp is a delete horizon."""


class Compression(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


class BatchHeader(NamedTuple):
    """The 61 bytes in front of a batch's records, in the order they lie there."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """All bytes of the batch, header and records."""
        return self.length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def compression(self) -> int:
        """A Compression, if the producer sent a known one."""
        return self.attributes & 0x07

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & 0x08)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & 0x10)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & 0x20)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the batch's tombstones may go: a compaction has put it in the place of the base timestamp."""
        return self.base_timestamp if self.attributes & HAS_DELETE_HORIZON else None


class Batch(NamedTuple):
    """A batch at its place in a log: what its header says there, and its bytes as they came.

    The 16 bytes before the CRC's reach (base offset, length, leader epoch) count as the header says, whatever stands
    in `data`: who lays the batch down writes them (lay_down), so that nobody copies a batch only to patch it.
    """

    header: BatchHeader
    data: Buffer


def decode_header(data: Buffer, position: int = 0) -> BatchHeader:
    """The header at this position; struct.error if fewer than 61 bytes are left."""
    return BatchHeader._make(_HEADER.unpack_from(data, position))


def whole_batches(data: Buffer) -> Iterator[Batch]:
    """The batches that lie end to end in what a log gave, without a copy, but for a last one that was cut short."""
    view = memoryview(data)
    position = 0
    while len(view) - position >= HEADER_SIZE:
        header = decode_header(view, position)
        if header.size > len(view) - position:
            return
        yield Batch(header, view[position : position + header.size])
        position += header.size


def at_offset(header: BatchHeader, data: Buffer, base_offset: int, leader_epoch: int) -> Batch:
    """The same batch at its place in a log, without a copy."""
    return Batch(BatchHeader._make((base_offset, header.length, leader_epoch) + header[3:]), data)  # noqa: RUF005


def lay_down(batch: Batch, memory: bytearray | memoryview, position: int) -> int:
    """Copies the batch to this position, with the prefix its header says; the position behind it."""
    header, data = batch
    end = position + len(data)
    memory[position:end] = data
    _PREFIX.pack_into(memory, position, header.base_offset, header.length, header.leader_epoch)
    return end
