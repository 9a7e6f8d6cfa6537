"""One run of the benchmarks: which brokers there are, how long a round lasts, and the topics that rounds use.

Brokers are started when a figure first asks for them, Kafka is warmed up, and both live until the run ends.
"""

import itertools
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from bench import brokers, connection
from bench.batches import Codec, batch_of, batch_of_size
from bench.brokers import Broker, Subject
from bench.frames import cycles_for
from bench.processes import run_apart
from bench.pumping import pump

_FILES_GONE_WITHIN_S: Final = 5.0


class Session:
    """What all figures of a run share."""

    def __init__(self, root: Path, kinds: Sequence[str], *, quick: bool) -> None:
        self.root = root
        self.quick = quick
        self.rounds = 1 if quick else 3
        self.group_rounds = 1 if quick else 5
        """Rebalances fall between the ticks of many clocks: more rounds until a median says something."""
        self.load_s = 0.8 if quick else 1.0
        self._warm_up_s = 2.0 if quick else 4.0
        self._kinds = kinds
        self._running: dict[Subject, Broker] = {}
        self._topics = itertools.count(1)

    def among(self, *subjects: Subject) -> list[Subject]:
        """Those of these subjects that this run is to measure."""
        return [subject for subject in subjects if ("kafka" if subject.is_kafka else "kohort") in self._kinds]

    def broker(self, subject: Subject) -> Broker:
        """The running broker of this kind, started and warm; started anew if it died."""
        running = self._running.get(subject)
        if running is not None and running.is_alive():
            return running
        broker = brokers.start(subject, self.root)
        self._running[subject] = broker
        self._warm_up(broker)
        return broker

    def stop(self) -> None:
        for broker in self._running.values():
            broker.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    @contextmanager
    def topic(self, broker: Broker, partitions: int) -> Iterator[str]:
        """A fresh topic; when it is done with, it is deleted, and its files too."""
        name = f"bench-{next(self._topics):05}"
        connection.create_topic(broker.port, name, partitions)
        try:
            yield name
        finally:
            if broker.is_alive():
                connection.delete_topic(broker.port, name)
                _wait_files_gone(broker.directory / "data", name)

    def _warm_up(self, broker: Broker) -> None:
        """First Kafka compiles what runs often, and each broker touches its memory once."""
        batches = (
            batch_of_size(1 << 20, 1024),
            batch_of_size(1 << 16, 1024),
            batch_of_size(1 << 16, 100, Codec.LZ4),
            batch_of(1, 100),
        )
        for batch in batches:
            with self.topic(broker, partitions=8) as topic:
                cycles = cycles_for(topic, 8, batch, connections=4, burst_size=4)
                run_apart(partial(pump, broker.port, cycles, self._warm_up_s))


def _wait_files_gone(data: Path, topic: str) -> None:
    deadline = time.monotonic() + _FILES_GONE_WITHIN_S
    while any(data.glob(f"**/{topic}-*")) and time.monotonic() < deadline:
        time.sleep(0.05)
