"""The bytes of the write-ahead log: frames of entries, so made that a torn or a stale one is never taken for true.

A WAL segment is one use of a recycled file. Each frame is one commit: valid as a whole or not at all.

    frame   magic u32, crc u32, sequence u64, previous u32, length u32, then `length` bytes of entries; begins on a page
    entry   kind u8, log_number u32, length u32, then `length` bytes

`crc` is the CRC-32C of all that follows it in the frame. `sequence` numbers the uses of files, so what an earlier use
left behind is known as such. `previous` is the crc of the frame before, across files: where a frame is missing, what
was written after it does not count.
"""

from collections.abc import Iterator
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple
from uuid import UUID

from crc32c import crc32c

from kohort.store.files.disk import PAGE_SIZE
from kohort.store.log import LogId

MAGIC: Final = 0x6B574131
_FRAME: Final = Struct(">IIQII")
FRAME_HEADER_SIZE: Final = _FRAME.size
_CRC: Final = Struct(">I")
_CRC_POSITION: Final = 4
_CRC_START: Final = 8

_ENTRY: Final = Struct(">BII")
ENTRY_HEADER_SIZE: Final = _ENTRY.size
pack_entry: Final = _ENTRY.pack_into

_LOG_ID: Final = Struct(">qi16s")
_OFFSET: Final = Struct(">q")
CONTROL_ENTRY_ROOM: Final = 512
"""More than any entry but batches takes: a topic's name has 249 bytes at most."""


class EntryKind(IntEnum):
    BATCHES = 1
    """Record batches of the log, laid end to end."""
    MADE = 2
    """From here on the number stands for this log."""
    TRIMMED = 3
    """The log's start moved up."""
    DELETED = 4
    """The log is gone."""


class Entry(NamedTuple):
    """An entry of a frame: where its bytes lie."""

    kind: int
    log_number: int
    start: int
    end: int


class FoundFrame(NamedTuple):
    """A valid frame: its bytes' end, and its crc, which the next one must name."""

    start: int
    end: int
    crc: int


def page_up(position: int) -> int:
    """The page boundary at or behind this position."""
    return -(-position // PAGE_SIZE) * PAGE_SIZE


def finish_frame(memory: memoryview, start: int, end: int, sequence: int, previous: int) -> int:
    """Writes the header of the frame whose entries lie in memory already; its crc."""
    _FRAME.pack_into(memory, start, MAGIC, 0, sequence, previous, end - start - FRAME_HEADER_SIZE)
    crc: int = crc32c(memory[start + _CRC_START : end])
    _CRC.pack_into(memory, start + _CRC_POSITION, crc)
    return crc


class FrameHeader(NamedTuple):
    """A frame's header as it lies there, believed in nothing but its magic."""

    crc: int
    sequence: int
    previous: int
    length: int


def decode_frame_header(memory: memoryview, start: int) -> FrameHeader | None:
    """The header at this position, None if there is none."""
    if start + FRAME_HEADER_SIZE > len(memory):
        return None
    magic, crc, sequence, previous, length = _FRAME.unpack_from(memory, start)
    return FrameHeader(crc, sequence, previous, length) if magic == MAGIC else None


def is_intact(memory: memoryview, start: int, header: FrameHeader) -> bool:
    """Whether the whole frame is in memory as it was written."""
    end = start + FRAME_HEADER_SIZE + header.length
    return end <= len(memory) and bool(crc32c(memory[start + _CRC_START : end]) == header.crc)


def entries(memory: memoryview, start: int, end: int) -> Iterator[Entry]:
    """The entries of an intact frame."""
    position = start + FRAME_HEADER_SIZE
    while position < end:
        kind, log_number, length = _ENTRY.unpack_from(memory, position)
        position += ENTRY_HEADER_SIZE
        yield Entry(kind, log_number, position, position + length)
        position += length


def encode_log_id(log_id: LogId) -> bytes:
    return _LOG_ID.pack(log_id.org_id, log_id.partition, log_id.topic_id.bytes) + log_id.topic.encode()


def decode_log_id(data: bytes) -> LogId:
    org_id, partition, topic_id = _LOG_ID.unpack_from(data)
    return LogId(org_id, data[_LOG_ID.size :].decode(), UUID(bytes=topic_id), partition)


def encode_offset(offset: int) -> bytes:
    return _OFFSET.pack(offset)


def decode_offset(data: bytes) -> int:
    offset: int = _OFFSET.unpack(data)[0]
    return offset
