"""The life of a store under a seed: work, faults, a crash, recovery, and again, with the oracle looking on.

python -m tests.simulation.store --seed 17              replays one run, and says all that happened
python -m tests.simulation.store --seeds 2000 --from 1  looks for a seed that fails
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable
from random import Random

from kohort.store.files.disk import Disk
from kohort.store.files.settings import FilesSettings
from kohort.store.files.store import FilesStore
from kohort.store.log import StoreFailedError
from tests.simulation.disk import Machine, PowerCut, SimulatedDisk, Trace, silence
from tests.simulation.oracle import Loss, Violation, require
from tests.simulation.workers import SimulatedWorkers
from tests.simulation.workload import Workload

MakeDisk = Callable[[Machine], Disk]
PATIENCE = 50_000
ROUNDS_OF_MAINTENANCE = 3
"""What a full disk held up goes on with one of them."""


class Simulation:
    """One machine, and the processes that run on it one after the other."""

    def __init__(self, seed: int, trace: Trace = silence, make_disk: MakeDisk = SimulatedDisk) -> None:
        self._random = Random(seed)
        self._trace = trace
        self._make_disk = make_disk
        self._machine = Machine(Random(self._random.getrandbits(64)), trace)
        self._workload = Workload(Random(self._random.getrandbits(64)), trace)
        self._has_faults = self._random.random() < 0.4
        self._settings = FilesSettings(
            wal_segment_bytes=self._random.choice((16, 32, 64)) << 10,
            wal_segments=self._random.choice((2, 3, 4)),
            cached_segments=self._random.choice((0, 1)),
            wal_segment_appends=self._random.choice((5, 50, 1_000)),
            settle_after_ms=self._random.choice((1_000, 100_000)),
        )
        self._failures: list[StoreFailedError] = []
        self._workers: SimulatedWorkers
        self._store: FilesStore

    def run(self) -> None:
        for life in range(self._random.randint(2, 5)):
            self._trace("life", life)
            self._live(self._random.randint(20, 300))
        self._trace("the last life")
        self._machine.cut_at = -1
        self._open()
        self._rest()
        self._workload.check_contents(self._wait)

    def _live(self, steps: int) -> None:
        """Works until the process ends: by a cut that comes when it comes, by a kill, or closed."""
        machine = self._machine
        machine.cut_at = machine.operations + self._random.choice(
            (1_000_000, self._random.randint(1, 30), self._random.randint(1, 400))
        )
        try:
            self._open()
            for _ in range(steps):
                if self._failures:
                    break
                self._step()
            self._end_well()
        except PowerCut:
            self._crash()

    def _open(self) -> None:
        self._failures.clear()
        self._machine.is_full = False
        self._machine.failing_syncs = 0
        self._machine.has_failed = False
        self._workers = SimulatedWorkers(
            Random(self._random.getrandbits(64)), self._machine, in_pieces=self._random.random() < 0.2
        )
        self._store = FilesStore(
            self._make_disk(self._machine),
            self._workers,
            self._settings,
            lambda: self._workload.now_ms,
            self._failures.append,
        )
        self._trace("open with", self._settings)
        self._store.open()
        self._workload.adopt(self._store)
        self._workload.check_contents(self._wait)

    def _step(self) -> None:
        if self._random.random() < 0.3:
            self._workload.act()
        else:
            self._workers.step()
        if self._has_faults:
            self._break_something()

    def _break_something(self) -> None:
        chance = self._random.random()
        if self._machine.is_full:
            self._machine.is_full = chance > 0.1
        elif chance < 0.01:
            self._trace("the disk is full")
            self._machine.is_full = True
        elif chance < 0.012:
            self._trace("the next sync fails")
            self._machine.failing_syncs = 1

    def _end_well(self) -> None:
        """Nothing cut the life short: it rests, or not, and is closed, or not."""
        self._machine.is_full = False
        self._machine.failing_syncs = 0
        if self._machine.has_failed or self._random.random() < 0.3:
            self._crash()
            return
        if self._random.random() < 0.7:
            self._rest()
            self._workload.check_contents(self._wait)
            if self._random.random() < 0.3:
                self._crash()
                return
        self._trace("close")
        self._store.close()
        self._machine.kill()
        self._workload.end_life(Loss.NOTHING)

    def _crash(self) -> None:
        """The process ends in the midst of what it does, and the machine perhaps with it."""
        loss = self._random.choice((Loss.PROCESS, Loss.POWER))
        self._workers.drop()
        self._trace(loss.value, "after", self._machine.operations, "operations")
        if loss is Loss.POWER:
            self._machine.lose_power()
        else:
            self._machine.kill()
        # After a failed sync the page cache is worth no more than after a power cut: what it lost may be evicted.
        self._workload.end_life(Loss.POWER if self._machine.has_failed else loss)

    def _rest(self) -> None:
        """Lets the store work until it has nothing to do; then every append has been answered."""
        for _ in range(ROUNDS_OF_MAINTENANCE):
            self._wait(self._workers.is_idle)
            self._store.maintain(self._workload.now_ms)
        self._wait(self._workers.is_idle)
        require(not self._failures, "the store failed on a sound disk:", self._failures)
        self._workload.check_all_done()

    def _wait(self, until: Callable[[], bool]) -> None:
        for _ in range(PATIENCE):
            if until():
                return
            if self._workers.is_idle():
                break
            self._workers.step()
        if not until():
            raise Violation("the store has nothing to do, and what was asked of it is not done")


def command(seed: int) -> str:
    return f"python -m tests.simulation.store --seed {seed}"


def check(seed: int, make_disk: MakeDisk = SimulatedDisk) -> None:
    """Runs one seed; what goes wrong names it and the command that replays it."""
    try:
        Simulation(seed, make_disk=make_disk).run()
    except PowerCut as cut:
        raise Violation(f"seed {seed}: the simulation's own end was cut; replay: {command(seed)}") from cut
    except Exception as error:
        raise Violation(f"seed {seed}: {error!r}; replay: {command(seed)}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description="Runs the store on a simulated disk that fails.")
    parser.add_argument("--seed", type=int, help="replay this one, with a trace")
    parser.add_argument("--seeds", type=int, default=1_000, help="how many to try")
    parser.add_argument("--from", dest="first", type=int, default=0, help="the first one to try")
    arguments = parser.parse_args()
    if arguments.seed is not None:
        Simulation(arguments.seed, trace=print).run()
        return
    logging.disable()
    started = time.monotonic()
    failed = 0
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        try:
            check(seed)
        except Violation as violation:
            failed += 1
            print(str(violation)[:600], flush=True)
    print(f"{arguments.seeds} seeds in {time.monotonic() - started:.1f} s, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
