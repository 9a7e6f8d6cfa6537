"""Which thread writes a commit: the loop's own where that is over before another would be awake."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kohort.store.files.os_disk import OsDisk
from kohort.store.files.settings import FilesSettings
from kohort.store.files.store import FilesStore
from kohort.store.files.thread_workers import ThreadWorkers
from kohort.store.log import Durability, Log, LogConfig, LogId, StoreError
from tests.batches import values
from tests.contract.houses import fail


class Clock:
    """Says what the test wants, and that each write takes as long as the test wants."""

    def __init__(self) -> None:
        self.now_ms = 0
        self.step_ms = 0

    def __call__(self) -> int:
        self.now_ms += self.step_ms
        return self.now_ms


class Commits:
    """A store with one log, and a loop that the test turns."""

    def __init__(self, directory: Path) -> None:
        self.clock = Clock()
        self.loop = asyncio.new_event_loop()
        settings = FilesSettings(wal_segment_bytes=1 << 20)
        self.store = FilesStore(OsDisk(directory), ThreadWorkers(self.loop), settings, self.clock, fail)
        self.store.open()
        self.log: Log = self.store.log(LogId(0, "orders", UUID(int=7), 0), LogConfig())

    def append(self, count: int, durability: Durability = Durability.FSYNC, size: int = 10) -> None:
        """So many at once; returns when all are done."""
        outcomes: list[StoreError | None] = []
        for _ in range(count):
            self.log.append([values(self.log.end_offset, 1, size=size)], durability, outcomes.append)
        assert outcomes == []
        while len(outcomes) < count:
            self.loop.run_until_complete(asyncio.sleep(0))
        assert outcomes == [None] * count


@pytest.fixture
def commits(tmp_path: Path) -> Iterator[Commits]:
    commits = Commits(tmp_path)
    yield commits
    commits.store.close()
    commits.loop.close()


def has_writer() -> bool:
    return any(thread.name == "kohort-wal" for thread in threading.enumerate())


@pytest.mark.parametrize("durability", Durability)
def test_a_small_commit_needs_no_thread(commits: Commits, durability: Durability) -> None:
    commits.append(1, durability)
    assert not has_writer()


def test_what_many_wait_for_is_synced_by_a_thread(commits: Commits) -> None:
    commits.append(3)
    assert has_writer()


def test_what_is_large_is_synced_by_a_thread(commits: Commits) -> None:
    commits.append(1, size=20_000)
    assert has_writer()


def test_what_is_large_is_copied_without_one(commits: Commits) -> None:
    commits.append(20, Durability.OS, size=20_000)
    assert not has_writer()


def test_while_the_disk_is_busy_a_thread_waits_for_it(commits: Commits) -> None:
    commits.clock.step_ms = 5
    commits.append(1)
    assert not has_writer()
    commits.append(1)
    assert has_writer()
