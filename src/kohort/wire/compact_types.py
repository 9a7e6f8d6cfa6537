"""Counts, strings and topic ids of flexible versions, read where they lie in a frame: of the requests that are read
without kio, since they come most often or carry most.

Each gives what it read, and the position behind it. What a frame announces is believed only as far as its bytes go, as
in bounds.py: to leave the frame is an IndexError or a struct.error, which the reader of the request makes a
DecodeError. Lengths of one byte, which most are, are read without a call.

Next hop: back to offset_requests.py or produce_requests.py.
"""

from functools import lru_cache
from typing import Final
from uuid import UUID

from kohort.wire.bounds import read_unsigned_varint
from kohort.wire.errors import DecodeError
from kohort.wire.long_strings import MAX_STRING_BYTES

_LONG: Final = 0x80
"""From here on a varint has a byte behind it."""
_TOPIC_ID_SIZE: Final = 16
_REMEMBERED_TOPICS: Final = 10_000


def read_count(frame: memoryview, position: int, budget: int) -> tuple[int, int]:
    """How many items an array has: no more than its bytes can hold, and no more than the budget."""
    count = frame[position]
    position += 1
    if count >= _LONG:
        count, position = read_unsigned_varint(frame, position - 1)
    count -= 1
    if count < 0:
        raise DecodeError(f"an array is null at byte {position}, which it may not be")
    if count > len(frame) - position or count > budget:
        raise DecodeError(f"{count} items are announced at byte {position}")
    return count, position


def read_string(frame: memoryview, position: int) -> tuple[str, int]:
    text, end = read_nullable_string(frame, position)
    if text is None:
        raise DecodeError(f"a string is null at byte {position}, which it may not be")
    return text, end


def read_nullable_string(frame: memoryview, position: int) -> tuple[str | None, int]:
    size = frame[position]
    position += 1
    if size >= _LONG:
        size, position = read_unsigned_varint(frame, position - 1)
    if not size:
        return None, position
    end = position + size - 1
    if size > MAX_STRING_BYTES + 1 or end > len(frame):
        raise DecodeError(f"a string that ends at byte {end} of {len(frame)}")
    return str(frame[position:end], "utf-8"), end


def read_topic_id(frame: memoryview, position: int) -> tuple[UUID, int]:
    end = position + _TOPIC_ID_SIZE
    return _topic_id(bytes(frame[position:end])), end


@lru_cache(_REMEMBERED_TOPICS)
def _topic_id(data: bytes) -> UUID:
    return UUID(bytes=data)
