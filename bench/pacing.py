"""The paced loads: requests at a fixed rate whatever the broker does, and a reader that sees when records arrive.

Sending never waits for an answer, so a broker that stalls is charged for every request that fell due meanwhile. The
moments of sending lie in memory that both processes share: the clock is the machine's one monotonic clock.
"""

import mmap
import select
import time
from collections import deque
from collections.abc import Sequence

from bench.connection import Connection, LoadError
from bench.fetching import whole_batches
from bench.frames import CheckedFrame, FetchFrame
from bench.load import Load

_HEAD_START_S = 0.3
"""The reader is given this long to ask for its first record."""


def shared_moments(count: int) -> "memoryview[float]":
    """Room for this many moments, seen by every process forked from now on."""
    return memoryview(mmap.mmap(-1, count * 8)).cast("d")


def pace(port: int, frames: Sequence[CheckedFrame], rate: float, moments: "memoryview[float]", skip: int) -> Load:
    """Sends as many requests as there is room for moments, at this rate; the latencies are those of the answers.

    Those of the first requests, which only warm up, are left out.
    """
    count = len(moments)
    unanswered: deque[int] = deque()
    latencies: list[float] = []
    sent = 0
    with Connection(port, receive_size=1 << 16) as connection:
        began = time.monotonic() + _HEAD_START_S
        while sent < count or unanswered:
            due = began + sent / rate if sent < count else time.monotonic() + 1.0
            readable, _, _ = select.select([connection.socket], [], [], max(0.0, due - time.monotonic()))
            if readable:
                number = unanswered.popleft()
                _check(connection, frames[number % len(frames)])
                latencies.append((time.monotonic() - moments[number]) * 1000)
            while sent < count and (now := time.monotonic()) >= began + sent / rate:
                moments[sent] = now
                connection.send(frames[sent % len(frames)].data)
                unanswered.append(sent)
                sent += 1
        took = time.monotonic() - began
    record_bytes = sum(frames[number % len(frames)].record_bytes for number in range(count))
    return Load(took, count, count, record_bytes, latencies_ms=sorted(latencies[skip:]))


def watch(port: int, frame: FetchFrame, record_bytes: int, moments: "memoryview[float]", skip: int) -> Load:
    """Reads a partition from its beginning, one record for each moment, and tells how long each was under way."""
    count = len(moments)
    latencies: list[float] = []
    offset = 0
    began = time.monotonic()
    with Connection(port) as connection:
        while offset < count:
            connection.send(frame.ask(offset))
            found = whole_batches(connection.receive_answer(), frame)
            now = time.monotonic()
            if found.size:
                latencies += [(now - moments[number]) * 1000 for number in range(offset, found.next_offset)]
                offset = found.next_offset
    return Load(time.monotonic() - began, count, count, record_bytes * count, latencies_ms=sorted(latencies[skip:]))


def _check(connection: Connection, frame: CheckedFrame) -> None:
    answer = connection.receive_exactly(frame.answer_size)
    if answer[: len(frame.accepted)] != frame.accepted:
        raise LoadError(f"the broker refused a record: {bytes(answer).hex()}")
