"""Real record batches of a wished size, made once before a load begins.

Made here with a few lines of struct and not by kohort.wire, so that no mistake of the broker's can hide behind the same
mistake in its load. Kafka checks them too: it looks into every record. Next hop: frames.py puts them into requests.
"""

import random
import time
from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

import cramjam
import crc32c

_PREFIX: Final = Struct(">qiibI")
_BODY: Final = Struct(">hiqqqhii")
_LZ4_HEADER: Final = bytes.fromhex("04224d18604082")
"""Version 1, independent blocks of at most 64 KiB, no checksums: the frame that Kafka's Java producer writes."""
_LZ4_BLOCK: Final = 1 << 16
_LZ4_END: Final = b"\0\0\0\0"
_LZ4_SIZE: Final = Struct("<I")
_WORDS: Final = ("order", "customer", "amount", "currency", "shipped", "warehouse", "priority", "created", "note")


class Codec(IntEnum):
    """How the records of a batch are compressed: the numbers that stand in a batch's attributes."""

    NONE = 0
    LZ4 = 3


class RecordBatch(NamedTuple):
    """A batch as it goes over the wire, and how many records are in it."""

    data: bytes
    record_count: int


def record_value(size: int, source: random.Random) -> bytes:
    """Text such as services write: field names that repeat, numbers that do not. lz4 makes about half of it."""
    text = ""
    while len(text) < size:
        text += f'"{source.choice(_WORDS)}":"{source.getrandbits(40):010x}",'
    return text[:size].encode()


def batch_of(record_count: int, value_size: int, codec: Codec = Codec.NONE, seed: int = 0) -> RecordBatch:
    """A batch of this many records, each with a value of this size and no key."""
    source = random.Random(seed)
    records = b"".join(_record(delta, record_value(value_size, source)) for delta in range(record_count))
    if codec is Codec.LZ4:
        records = _lz4_frame(records)
    now_ms = int(time.time() * 1000)
    body = _BODY.pack(codec, record_count - 1, now_ms, now_ms, -1, -1, -1, record_count) + records
    prefix = _PREFIX.pack(0, 4 + 1 + 4 + len(body), -1, 2, crc32c.crc32c(body))
    return RecordBatch(prefix + body, record_count)


def batch_of_size(batch_size: int, value_size: int, codec: Codec = Codec.NONE, seed: int = 0) -> RecordBatch:
    """The largest batch of such records that is no larger than this on the wire."""
    sample = batch_of(max(1, batch_size // (value_size + 16)), value_size, codec, seed)
    fitting = max(1, batch_size * sample.record_count // len(sample.data))
    while len((batch := batch_of(fitting, value_size, codec, seed)).data) > batch_size and fitting > 1:
        fitting = min(fitting - 1, fitting * batch_size // len(batch.data))
    return batch


def _record(offset_delta: int, value: bytes) -> bytes:
    """One record without key and headers: attributes, timestamp delta 0, offset delta, null key, value, no headers."""
    body = b"\0\0" + _varint(offset_delta) + b"\1" + _varint(len(value)) + value + b"\0"
    return _varint(len(body)) + body


def _lz4_frame(data: bytes) -> bytes:
    pieces = [_LZ4_HEADER]
    for start in range(0, len(data), _LZ4_BLOCK):
        block = bytes(cramjam.lz4.compress_block(data[start : start + _LZ4_BLOCK], store_size=False))
        pieces += (_LZ4_SIZE.pack(len(block)), block)
    return b"".join((*pieces, _LZ4_END))


def _varint(number: int) -> bytes:
    """Zigzag and LEB128, as records spell their numbers."""
    rest = (number << 1) ^ (number >> 63)
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)
