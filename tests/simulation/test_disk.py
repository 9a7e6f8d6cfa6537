"""The simulated disk fails as it says."""

import errno
from collections.abc import Callable
from random import Random

import pytest

from tests.simulation.disk import Machine, PowerCut, SimulatedDisk, SimulatedFile
from tests.simulation.file_data import BLOCK

SEEDS = 60


def machines() -> list[Machine]:
    return [Machine(Random(seed)) for seed in range(SEEDS)]


def durable_file(machine: Machine, path: str = "wal") -> SimulatedFile:
    disk = SimulatedDisk(machine)
    file = disk.open(path, create=True)
    disk.sync_directory("")
    return file


def content(machine: Machine, path: str = "wal") -> bytes:
    return SimulatedDisk(machine).open(path).pread(1 << 20, 0)


def after_power_cut(prepare: Callable[[Machine], None]) -> set[bytes]:
    """What the file may hold after a power cut: what was found there for many seeds."""
    found = set()
    for machine in machines():
        prepare(machine)
        machine.lose_power()
        found.add(content(machine))
    return found


class TestData:
    def test_what_was_synced_survives_a_power_cut(self) -> None:
        def prepare(machine: Machine) -> None:
            file = durable_file(machine)
            file.write([b"a" * 2_000, b"b"])
            file.sync()

        assert after_power_cut(prepare) == {b"a" * 2_000 + b"b"}

    def test_what_was_not_synced_may_be_lost_kept_or_zero(self) -> None:
        def prepare(machine: Machine) -> None:
            durable_file(machine).write([b"a" * BLOCK])

        assert after_power_cut(prepare) == {b"", b"a" * BLOCK, bytes(BLOCK)}

    def test_blocks_survive_in_any_order(self) -> None:
        def prepare(machine: Machine) -> None:
            file = durable_file(machine)
            file.preallocate(2 * BLOCK)
            file.sync()
            file.write_at(b"a" * BLOCK, 0, durable=False)
            file.write_at(b"b" * BLOCK, BLOCK, durable=False)

        zero, first, second = bytes(BLOCK), b"a" * BLOCK, b"b" * BLOCK
        assert after_power_cut(prepare) == {zero + zero, zero + second, first + zero, first + second}

    def test_a_block_may_be_any_that_was_written_over_it(self) -> None:
        def prepare(machine: Machine) -> None:
            file = durable_file(machine)
            file.write([b"1"])
            file.sync()
            file.write_at(b"2", 0, durable=False)
            file.write_at(b"3", 0, durable=False)

        assert after_power_cut(prepare) == {b"1", b"2", b"3"}

    def test_a_durable_write_survives_and_the_earlier_ones_need_not(self) -> None:
        def prepare(machine: Machine) -> None:
            file = durable_file(machine)
            file.preallocate(2 * BLOCK)
            file.sync()
            file.write_at(b"a" * BLOCK, 0, durable=False)
            file.write_at(b"b" * BLOCK, BLOCK, durable=True)

        assert after_power_cut(prepare) == {bytes(BLOCK) + b"b" * BLOCK, b"a" * BLOCK + b"b" * BLOCK}

    def test_a_killed_process_loses_nothing_it_wrote(self) -> None:
        machine = machines()[0]
        durable_file(machine).write([b"abc"])
        machine.kill()
        assert content(machine) == b"abc"

    def test_an_unsynced_truncation_may_be_undone(self) -> None:
        def prepare(machine: Machine) -> None:
            file = durable_file(machine)
            file.write([b"a" * BLOCK])
            file.sync()
            file.truncate(0)

        assert {b"", b"a" * BLOCK} <= after_power_cut(prepare)


class TestFailures:
    def test_after_a_failed_sync_the_next_one_succeeds_and_the_data_may_still_be_lost(self) -> None:
        found = set()
        for machine in machines():
            file = durable_file(machine)
            file.write([b"a" * BLOCK])
            machine.failing_syncs = 1
            with pytest.raises(OSError) as failure:
                file.sync()
            assert failure.value.errno == errno.EIO
            file.sync()
            assert file.pread(1, 0) == b"a"
            machine.lose_power()
            found.add(content(machine))
        assert bytes(BLOCK) in found

    def test_what_a_failed_sync_lost_may_be_gone_when_the_next_process_looks(self) -> None:
        found = set()
        for machine in machines():
            file = durable_file(machine)
            file.write([b"a" * BLOCK])
            machine.failing_syncs = 1
            with pytest.raises(OSError):
                file.sync()
            machine.kill()
            found.add(content(machine))
        assert found == {b"a" * BLOCK, bytes(BLOCK)}

    def test_a_full_disk_takes_a_part_and_refuses_the_rest(self) -> None:
        sizes = set()
        for machine in machines():
            file = durable_file(machine)
            machine.is_full = True
            with pytest.raises(OSError) as failure:
                file.write([b"a" * 100])
            assert failure.value.errno == errno.ENOSPC
            sizes.add(file.size)
        assert len(sizes) > 10

    def test_a_full_disk_still_takes_what_lies_in_place(self) -> None:
        machine = machines()[0]
        file = durable_file(machine)
        file.preallocate(100)
        machine.is_full = True
        file.write_at(b"abc", 97, durable=True)
        with pytest.raises(OSError):
            SimulatedDisk(machine).open("new", create=True)

    def test_a_cut_may_come_in_the_middle_of_a_write_and_nothing_works_after_it(self) -> None:
        sizes = set()
        for machine in machines():
            disk = SimulatedDisk(machine)
            file = disk.open("wal", create=True)
            disk.sync_directory("")
            machine.cut_at = machine.operations + 1
            with pytest.raises(PowerCut):
                file.write([b"a" * 100])
            with pytest.raises(PowerCut):
                file.sync()
            with pytest.raises(PowerCut):
                disk.list("")
            sizes.add(len(content(machine)))
        assert len(sizes) > 10


class TestNames:
    def found(self, prepare: Callable[[SimulatedDisk], None], path: str = "") -> set[tuple[str, ...]]:
        """The names that may be in a directory after a power cut."""
        found = set()
        for machine in machines():
            prepare(SimulatedDisk(machine))
            machine.lose_power()
            found.add(tuple(SimulatedDisk(machine).list(path)))
        return found

    def test_a_name_needs_its_directory_to_be_synced(self) -> None:
        def prepare(disk: SimulatedDisk) -> None:
            disk.open("a", create=True).sync()
            disk.sync_directory("")
            disk.open("b", create=True).sync()

        assert self.found(prepare) == {("a",), ("a", "b")}

    def test_a_rename_is_one_step(self) -> None:
        def prepare(disk: SimulatedDisk) -> None:
            disk.open("old", create=True)
            disk.open("new", create=True)
            disk.sync_directory("")
            disk.rename("new", "old")

        assert self.found(prepare) == {("new", "old"), ("old",)}

    def test_changes_survive_in_their_order(self) -> None:
        def prepare(disk: SimulatedDisk) -> None:
            for name in ("a", "b", "c"):
                disk.open(name, create=True)

        assert self.found(prepare) == {(), ("a",), ("a", "b"), ("a", "b", "c")}

    def test_a_directory_needs_its_parent_to_be_synced(self) -> None:
        def prepare(disk: SimulatedDisk) -> None:
            disk.make_directory("x/y")
            disk.open("x/y/file", create=True)
            disk.sync_directory("x/y")

        assert self.found(prepare, "x/y") == {(), ("file",)}

    def test_an_unlinked_name_may_come_back(self) -> None:
        def prepare(disk: SimulatedDisk) -> None:
            disk.open("a", create=True)
            disk.sync_directory("")
            disk.unlink("a")

        assert self.found(prepare) == {("a",), ()}

    def test_a_directory_with_names_in_it_cannot_be_removed(self) -> None:
        disk = SimulatedDisk(machines()[0])
        disk.make_directory("x")
        disk.open("x/a", create=True)
        with pytest.raises(OSError) as failure:
            disk.remove_directory("x")
        assert failure.value.errno == errno.ENOTEMPTY

    def test_the_lock_is_free_again_when_its_process_is_gone(self) -> None:
        machine = machines()[0]
        SimulatedDisk(machine).lock("lock")
        with pytest.raises(BlockingIOError):
            SimulatedDisk(machine).lock("lock")
        machine.kill()
        SimulatedDisk(machine).lock("lock")
