"""How a comparison is made: several short rounds, the brokers taking turns, the median of each broker's rounds.

Every round begins alike: nothing is left to write to the disk, and some memory has just been touched. What a
broker still has to do when the load has ended (settling, flushing) counts as its CPU: a round ends when it is quiet.
"""

import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from bench import machine
from bench.brokers import Broker, Subject
from bench.load import Load
from bench.processes import run_apart

_CALIBRATED: Final = 64 << 20
_QUIET_WITHIN_S: Final = 3.0
_QUIET_WINDOW_S: Final = 0.1
_QUIET_CPU_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class Sample:
    """One round of one broker."""

    load: Load
    wall_s: float
    """From the load's start until the broker was quiet again."""
    broker_cpu_s: float
    load_cpu_s: float
    other_cpu_s: float
    """CPU of everything else on the machine: the kernel's own threads, and whoever disturbed the round."""
    fresh_write_ms_per_mb: float
    """CPU of a fresh file in the page cache right before the load: what the broker's own files began with."""

    @property
    def mb_per_s(self) -> float:
        return self.load.record_bytes / 1e6 / self.load.seconds

    @property
    def requests_per_s(self) -> float:
        return self.load.requests / self.load.seconds

    @property
    def broker_ms_per_mb(self) -> float:
        return self.broker_cpu_s * 1000 / ((self.load.record_bytes + self.load.warm_up_bytes) / 1e6)

    @property
    def load_share(self) -> float:
        """Of one processor, over all the time that the load's processes ran."""
        return self.load_cpu_s / self.wall_s

    @property
    def other_share(self) -> float:
        return self.other_cpu_s / self.wall_s


Samples = dict[Subject, list[Sample]]


def measure(broker: Broker, touched: int, *loads: Callable[[], Load]) -> Sample:
    """One round: runs the loads at the same time, each in its own process, and watches the broker meanwhile.

    The first load tells what was done; the others only help it. `touched` is about how much the load will write.
    """
    os.sync()
    machine.touch_memory(broker.directory, touched)
    fresh_write = machine.touch_memory(broker.directory, _CALIBRATED)
    broker_before, busy_before, began = broker.cpu_seconds(), machine.busy_seconds(), time.monotonic()
    finished = run_apart(*loads)
    wait_until_quiet(broker)
    wall = time.monotonic() - began
    broker_cpu = broker.cpu_seconds() - broker_before
    load_cpu = sum(part.cpu_seconds for part in finished)
    other_cpu = machine.busy_seconds() - busy_before - broker_cpu - load_cpu
    return Sample(finished[0].result, wall, broker_cpu, load_cpu, max(0.0, other_cpu), fresh_write)


def alternate(
    subjects: Sequence[Subject], rounds: int, run: Callable[[Subject], Sample], *, warm_up: bool = False
) -> Samples:
    """The subjects take turns; every second round in the other order, so that none always comes first.

    With warm_up a round of each is thrown away before: for loads unlike those that every broker is warmed up with.
    """
    if warm_up:
        for subject in subjects:
            run(subject)
    samples: Samples = {subject: [] for subject in subjects}
    for number in range(rounds):
        for subject in subjects if number % 2 == 0 else reversed(subjects):
            samples[subject].append(run(subject))
    return samples


def median(samples: Sequence[Sample], value: Callable[[Sample], float]) -> float:
    return statistics.median(value(sample) for sample in samples)


def wait_until_quiet(broker: Broker) -> None:
    deadline = time.monotonic() + _QUIET_WITHIN_S
    spent = broker.cpu_seconds()
    while time.monotonic() < deadline:
        time.sleep(_QUIET_WINDOW_S)
        now = broker.cpu_seconds()
        if now - spent <= _QUIET_CPU_S:
            return
        spent = now
