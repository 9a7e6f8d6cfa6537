"""What the embedded store does when its disk fails or is full, told one by one."""

import errno
import os
from collections.abc import Callable
from functools import partial
from random import Random
from uuid import UUID

from kohort.store.files.settings import FilesSettings
from kohort.store.files.store import FilesStore
from kohort.store.log import (
    Chunk,
    Durability,
    Log,
    LogConfig,
    LogId,
    StoreError,
    StoreFailedError,
    StoreFullError,
)
from tests.batches import values
from tests.simulation.disk import Machine, SimulatedDisk
from tests.simulation.workers import SimulatedWorkers

ORDERS = LogId(0, "orders", UUID(int=7), 0)
SETTINGS = FilesSettings(wal_segment_bytes=16 << 10, wal_segments=2, cached_segments=0, settle_after_ms=1_000)
NOW_MS = 1_000


class Process:
    """A process that has the store open on a machine."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.failures: list[StoreFailedError] = []
        self.workers = SimulatedWorkers(Random(0), machine)
        self.store = FilesStore(SimulatedDisk(machine), self.workers, SETTINGS, lambda: NOW_MS, self.failures.append)
        self.store.open()
        self.log: Log = self.store.log(ORDERS, LogConfig())

    def append(self, size: int = 10, durability: Durability = Durability.FSYNC) -> StoreError | None:
        """Appends one record and waits; what done was told."""
        return self.ask(partial(self.log.append, [values(self.log.end_offset, 1, size=size)], durability))

    def ask(self, ask: Callable[[Callable[[StoreError | None], None]], None]) -> StoreError | None:
        outcomes: list[StoreError | None] = []
        ask(outcomes.append)
        self.rest()
        assert len(outcomes) == 1
        return outcomes[0]

    def rest(self) -> None:
        while not self.workers.is_idle():
            self.workers.step()


def machine() -> Machine:
    return Machine(Random(0))


class TestAFailedSync:
    def failed(self) -> Process:
        """A process whose third append met a disk that could not sync."""
        process = Process(machine())
        assert process.append() is None
        assert process.append() is None
        process.machine.failing_syncs = 1
        assert isinstance(process.append(), StoreFailedError)
        return process

    def test_the_failure_is_told_once(self) -> None:
        process = self.failed()
        process.append()
        assert len(process.failures) == 1
        assert os.strerror(errno.EIO) in str(process.failures[0])

    def test_nothing_is_taken_any_more_although_the_next_sync_would_succeed(self) -> None:
        process = self.failed()
        operations = process.machine.operations
        assert isinstance(process.append(), StoreFailedError)
        assert isinstance(process.ask(partial(process.log.trim, 1)), StoreFailedError)
        assert isinstance(process.ask(partial(process.store.delete, ORDERS)), StoreFailedError)
        process.store.maintain(NOW_MS + 100_000)
        process.rest()
        assert process.machine.operations == operations

    def test_a_new_log_of_a_failed_store_takes_nothing_either(self) -> None:
        process = self.failed()
        process.log = process.store.log(ORDERS._replace(partition=1), LogConfig())
        assert isinstance(process.append(), StoreFailedError)

    def test_the_log_ends_at_what_is_durable(self) -> None:
        assert self.failed().log.end_offset == 2

    def test_reads_are_refused_because_nobody_knows_what_the_disk_holds(self) -> None:
        outcomes: list[Chunk | StoreError] = []
        self.failed().log.read(0, 100, 100, outcomes.append)
        assert isinstance(outcomes[0], StoreFailedError)

    def test_a_restart_finds_what_was_acknowledged(self) -> None:
        process = self.failed()
        process.machine.lose_power()
        assert Process(process.machine).log.end_offset in (2, 3)

    def test_a_failure_while_settling_is_a_failure_too(self) -> None:
        process = Process(machine())
        assert process.append() is None
        process.machine.failing_syncs = 1
        process.store.maintain(NOW_MS + 10_000)
        process.rest()
        assert len(process.failures) == 1


class TestAFullDisk:
    def full(self) -> Process:
        process = Process(machine())
        assert process.append() is None
        process.machine.is_full = True
        return process

    def test_appends_go_on_while_the_write_ahead_log_has_room(self) -> None:
        assert self.full().append() is None

    def test_an_append_that_needs_new_space_is_refused_and_leaves_no_trace(self) -> None:
        process = self.full()
        assert isinstance(process.append(size=40_000), StoreFullError)
        assert process.log.end_offset == 1
        process.machine.is_full = False
        assert process.append() is None
        assert process.failures == []
        process.machine.kill()
        assert Process(process.machine).log.end_offset == 2

    def test_when_all_is_full_appends_are_refused_until_there_is_space(self) -> None:
        process = self.full()
        outcomes = [process.append(size=3_000) for _ in range(20)]
        assert isinstance(outcomes[-1], StoreFullError)
        accepted = outcomes.count(None)
        assert 0 < accepted < 20
        assert process.log.end_offset == 1 + accepted
        process.machine.is_full = False
        process.store.maintain(NOW_MS)
        process.rest()
        assert process.append(size=3_000) is None

    def test_nothing_acknowledged_is_harmed(self) -> None:
        process = self.full()
        accepted = [process.append(size=3_000) for _ in range(20)].count(None)
        process.machine.lose_power()
        assert Process(process.machine).log.end_offset == 1 + accepted
