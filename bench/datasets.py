"""The topics that are read: one that has left every memory of the broker's, one that was written just now.

Kafka keeps both in the page cache. kohort keeps what is recent in memory of its own and settles the rest into segment
files: so more than fits that memory is written after the older topic, and deleted again.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple

from bench import connection
from bench.batches import batch_of_size
from bench.brokers import Broker
from bench.frames import cycles_for
from bench.processes import run_apart
from bench.pumping import pump
from bench.rounds import wait_until_quiet
from bench.session import Session

PARTITIONS: Final = 8
_BATCH_SIZE: Final = 1 << 16
_VALUE_SIZE: Final = 1024
_SETTLED_BYTES: Final = 256_000_000
_FORGOTTEN_BYTES: Final = 300_000_000
_RECENT_BYTES: Final = 96_000_000


class Range(NamedTuple):
    """Offsets from the beginning to this end, in each of a topic's partitions."""

    topic: str
    end_offset: int

    @property
    def record_count(self) -> int:
        return self.end_offset * PARTITIONS


class Dataset(NamedTuple):
    """What there is to read on one broker."""

    settled: Range
    memory: Range


@contextmanager
def dataset(session: Session, broker: Broker) -> Iterator[Dataset]:
    """Writes both topics, and deletes them when they were read."""
    with session.topic(broker, PARTITIONS) as settled, session.topic(broker, PARTITIONS) as recent:
        settled_end = _fill(broker, settled, _SETTLED_BYTES)
        with session.topic(broker, PARTITIONS) as forgotten:
            _fill(broker, forgotten, _FORGOTTEN_BYTES)
        recent_end = _fill(broker, recent, _RECENT_BYTES)
        wait_until_quiet(broker)
        yield Dataset(Range(settled, settled_end), Range(recent, recent_end))


def _fill(broker: Broker, topic: str, size: int) -> int:
    """Writes about this much, alike in all partitions; the end offset of the shortest."""
    batch = batch_of_size(_BATCH_SIZE, _VALUE_SIZE)
    cycles = cycles_for(topic, PARTITIONS, batch, connections=2, burst_size=4)
    run_apart(partial(pump, broker.port, cycles, record_bytes=size))
    return min(connection.end_offsets(broker.port, topic, PARTITIONS))
