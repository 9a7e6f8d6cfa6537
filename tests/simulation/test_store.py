"""The embedded store keeps its promises under every crash that seeds think of, and a disk that lies is found out."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from kohort.store.files.disk import Buffer
from tests.simulation.disk import SimulatedDisk, SimulatedFile
from tests.simulation.oracle import Violation
from tests.simulation.store import MakeDisk, check

PROJECT = Path(__file__).parents[2]
SEEDS = 200
MANY_SEEDS = 6_000
SEEDS_TO_BE_FOUND_OUT = 60


@pytest.mark.parametrize("first", range(0, SEEDS, 50))
def test_the_store_survives_the_seeds_of_every_check(first: int) -> None:
    for seed in range(first, first + 50):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, SEEDS + MANY_SEEDS, 500))
def test_the_store_survives_many_more(first: int) -> None:
    for seed in range(first, first + 500):
        check(seed)


class LyingFile(SimulatedFile):
    """Says that everything is durable, and does nothing for it."""

    def sync(self) -> None:
        pass

    def write_at(self, buffer: Buffer, position: int, *, durable: bool) -> None:
        super().write_at(buffer, position, durable=False)


class ForgetfulFile(SimulatedFile):
    """Loses the last byte of every large write."""

    def write(self, buffers: Sequence[Buffer]) -> None:
        data = b"".join(buffers)
        super().write([data[:-1] + b"?" if len(data) > 100 else data])


class DiskOfLyingFiles(SimulatedDisk):
    file_class = LyingFile


class DiskOfForgetfulFiles(SimulatedDisk):
    file_class = ForgetfulFile


class DiskOfLooseNames(SimulatedDisk):
    """Never makes a name durable."""

    def sync_directory(self, path: str) -> None:
        pass


@pytest.mark.parametrize("broken_disk", [DiskOfLyingFiles, DiskOfForgetfulFiles, DiskOfLooseNames])
def test_the_oracle_notices_a_disk_that_does_not_do_what_it_says(broken_disk: MakeDisk) -> None:
    for seed in range(SEEDS_TO_BE_FOUND_OUT):
        try:
            check(seed, broken_disk)
        except Violation:
            return
    pytest.fail("no seed found out that the disk is broken")


def test_a_seed_runs_the_same_way_under_every_hash_seed() -> None:
    assert trace(7, hash_seed="1") == trace(7, hash_seed="2")


def trace(seed: int, hash_seed: str) -> str:
    """What a replay of the seed says, in a process of its own."""
    arguments = [sys.executable, "-m", "tests.simulation.store", "--seed", str(seed)]
    replay = subprocess.run(
        arguments,
        cwd=PROJECT,
        env={**os.environ, "PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert len(replay.stdout.splitlines()) > 100
    return replay.stdout
