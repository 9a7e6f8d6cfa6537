"""The raw consume load: one Fetch after the other on each connection, without sessions, the next offset from the last.

Of an answer only the batch headers are hopped over. At the end of its range a reader begins again, so a small topic
can be read for as long as a round lasts.
"""

import time
from collections.abc import Sequence
from struct import Struct
from typing import Final, NamedTuple

from bench.connection import Connection, LoadError
from bench.frames import FetchFrame
from bench.load import Load

_ERROR: Final = Struct(">h")
_BATCH: Final = Struct(">qi")
_LAST_DELTA: Final = Struct(">i")
_LENGTH_OVERHEAD: Final = 12
_LAST_DELTA_POSITION: Final = 23
# Between a partition's error code and its records: the code, three offsets, aborted transactions, preferred replica.
_ERROR_DISTANCE: Final = 2 + 24 + 1 + 4


class Reader(NamedTuple):
    """A partition, by the frame that fetches it, and the offsets to be read again and again."""

    frame: FetchFrame
    first_offset: int
    end_offset: int


class Batches(NamedTuple):
    """The whole batches of an answer: their bytes, and the offset behind them. No bytes: nothing was there yet."""

    size: int
    next_offset: int


def drain(port: int, readers: Sequence[Reader], seconds: float) -> Load:
    """Reads with one connection for each reader, one request in flight on each."""
    connections = [Connection(port) for _ in readers]
    offsets = [reader.first_offset for reader in readers]
    requests = record_bytes = records = 0
    began = time.perf_counter()
    for connection, reader in zip(connections, readers):
        connection.send(reader.frame.ask(reader.first_offset))
    while time.perf_counter() - began < seconds:
        for number, (connection, reader) in enumerate(zip(connections, readers)):
            found = whole_batches(connection.receive_answer(), reader.frame)
            if found.size:
                records += found.next_offset - offsets[number]
                offsets[number] = found.next_offset if found.next_offset < reader.end_offset else reader.first_offset
            connection.send(reader.frame.ask(offsets[number]))
            record_bytes += found.size
            requests += 1
    took = time.perf_counter() - began
    for connection in connections:
        connection.socket.close()
    return Load(took, requests=requests, records=records, record_bytes=record_bytes)


def whole_batches(answer: memoryview, frame: FetchFrame) -> Batches:
    """Hops over the batches of a Fetch answer; one that was cut short at its end is left out."""
    position = frame.records_position
    (error,) = _ERROR.unpack_from(answer, position - _ERROR_DISTANCE)
    if error:
        raise LoadError(f"the broker refused a fetch with error {error}")
    length, first = _unsigned_varint(answer, position)
    end = first + length - 1
    position = last = first
    while position + _LENGTH_OVERHEAD <= end:
        size = _LENGTH_OVERHEAD + _BATCH.unpack_from(answer, position)[1]
        if position + size > end:
            break
        last = position
        position += size
    if position == first:
        return Batches(0, -1)
    base_offset = int(_BATCH.unpack_from(answer, last)[0])
    return Batches(
        position - first, base_offset + int(_LAST_DELTA.unpack_from(answer, last + _LAST_DELTA_POSITION)[0]) + 1
    )


def _unsigned_varint(data: memoryview, position: int) -> tuple[int, int]:
    """The number, and the position behind it."""
    number = shift = 0
    while True:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
