"""Groups keep their promises under every schedule that seeds think of, and who breaks one is found out."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.simulation.groups.run import check

PROJECT = Path(__file__).parents[3]
SEEDS = 80
MANY_SEEDS = 3_000


@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_groups_survive_the_seeds_of_every_check(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(SEEDS, SEEDS + MANY_SEEDS, 150))
def test_groups_survive_many_more(first: int) -> None:
    for seed in range(first, first + 150):
        check(seed)


def test_a_seed_runs_the_same_way_under_every_hash_seed() -> None:
    assert digests("1") == digests("2")


def digests(hash_seed: str) -> str:
    """What some runs said, in a process of its own."""
    arguments = [sys.executable, "-m", "tests.simulation.groups.run", "--digest", "12"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    run = subprocess.run(arguments, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True)
    assert len(set(run.stdout.splitlines())) == 12
    return run.stdout
