"""The raw produce load: pre-built frames sent as fast as the broker takes them, a bounded number in flight.

Each connection has two bursts under way: while one is being answered the next is already at the broker. An answer is
compared with the bytes that say "taken"; nothing is decoded. Runs in a process of its own (processes.py), and costs
about 0.2 ms of CPU a MB: the kernel's copy into the socket.
"""

import math
import time
from collections.abc import Sequence
from typing import Final

from bench.connection import Connection, LoadError
from bench.frames import Burst
from bench.load import Load

_IN_FLIGHT: Final = 2


def pump(
    port: int,
    cycles: Sequence[Sequence[Burst]],
    seconds: float = math.inf,
    record_bytes: float = math.inf,
    turns: float = math.inf,
) -> Load:
    """Keeps a connection for each cycle of bursts full, for this long, or until this much or so many bursts are sent.

    The first of them ends it. All that was sent is answered when it returns.
    """

    def goes_on() -> bool:
        return sent < turns and sent * round_bytes < record_bytes and time.perf_counter() - began < seconds

    connections = [Connection(port, receive_size=1 << 16) for _ in cycles]
    pairs = list(zip(connections, cycles))
    round_bytes = sum(cycle[0].record_bytes for cycle in cycles)
    sent = answered = 0
    began = time.perf_counter()
    while answered == 0 or answered < sent:
        if sent - answered == _IN_FLIGHT or not goes_on():
            for connection, cycle in pairs:
                _receive_answers(connection, cycle[answered % len(cycle)])
            answered += 1
        if sent - answered < _IN_FLIGHT and goes_on():
            for connection, cycle in pairs:
                connection.send(cycle[sent % len(cycle)].data)
            sent += 1
    took = time.perf_counter() - began
    for connection in connections:
        connection.socket.close()
    return Load(
        took,
        requests=answered * sum(cycle[0].request_count for cycle in cycles),
        records=answered * sum(cycle[0].record_count for cycle in cycles),
        record_bytes=answered * round_bytes,
    )


def _receive_answers(connection: Connection, burst: Burst) -> None:
    size = burst.answer_size
    answers = connection.receive_exactly(size * burst.request_count)
    position = 0
    for accepted in burst.accepted:
        if answers[position : position + len(accepted)] != accepted:
            refused = bytes(answers[position : position + size])
            raise LoadError(f"the broker refused a batch: expected {accepted.hex()}, got {refused.hex()}")
        position += size
