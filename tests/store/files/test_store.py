"""What only the embedded store promises: to survive its process, to say what it cut, to live within its memory."""

import asyncio
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from kohort.store.files.os_disk import OsDisk
from kohort.store.files.settings import FilesSettings
from kohort.store.files.store import FilesStore
from kohort.store.files.thread_workers import ThreadWorkers
from kohort.store.log import Chunk, Durability, LogConfig, LogId, StoreError, StoreFailedError
from kohort.wire.record_batch import Batch
from kohort.wire.records import decode_batches
from tests.batches import values

ORDERS = LogId(0, "orders", UUID(int=7), 0)
SMALL = FilesSettings(wal_segment_bytes=64 << 10, wal_segments=3, cached_segments=1)
EVERYTHING = 1 << 62


class Broker:
    """A process with a store, as far as a store can see one. A kill leaves everything as it lies."""

    def __init__(self, directory: Path, settings: FilesSettings = SMALL) -> None:
        self._loop = asyncio.new_event_loop()
        self._disk = OsDisk(directory)
        self._workers = ThreadWorkers(self._loop)
        self.store = FilesStore(self._disk, self._workers, settings, lambda: 1_000, self._fail)
        self.store.open()

    def _fail(self, error: StoreFailedError) -> None:
        raise AssertionError(error)

    def wait(self, until: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 20
        while not until():
            assert time.monotonic() < deadline
            self._loop.run_until_complete(asyncio.sleep(0.0005))

    def fill(self, count: int, size: int = 1000, log_id: LogId = ORDERS) -> list[Batch]:
        log = self.store.log(log_id, LogConfig())
        batches = [values(log.end_offset + number, 1, size=size) for number in range(count)]
        outcomes: list[StoreError | None] = []
        for batch in batches:
            log.append([batch], Durability.FSYNC, outcomes.append)
        self.wait(lambda: len(outcomes) == count)
        assert outcomes == [None] * count
        return batches

    def read_all(self, log_id: LogId = ORDERS) -> list[Batch]:
        log = self.store.log(log_id, LogConfig())
        batches: list[Batch] = []
        offset = log.start_offset
        while offset < log.readable_offset:
            outcomes: list[Chunk | StoreError] = []
            log.read(offset, EVERYTHING, EVERYTHING, outcomes.append)
            self.wait(lambda: bool(outcomes))  # noqa: B023 - it is over before the next turn
            chunk = outcomes[0]
            assert isinstance(chunk, Chunk)
            batches += [Batch(batch.header, bytes(batch.data)) for batch in decode_batches(b"".join(chunk.buffers))]
            offset = batches[-1].header.next_offset
        return batches

    def rest(self) -> None:
        self._loop.run_until_complete(asyncio.sleep(0.1))

    def kill(self) -> None:
        """The threads end, the files stay as they are, and the lock goes with the process."""
        self._workers.close()
        self._disk.unlock()
        self._loop.close()

    def close(self) -> None:
        self.store.close()
        self._loop.close()


@pytest.fixture
def directory(tmp_path: Path) -> Iterator[Path]:
    return tmp_path / "data"


def test_a_killed_store_comes_back_with_everything(directory: Path) -> None:
    expected: list[Batch] = []
    for _ in range(3):
        broker = Broker(directory)
        assert broker.read_all() == expected
        expected += broker.fill(150)
        broker.kill()
    broker = Broker(directory)
    assert broker.read_all() == expected
    broker.close()


def test_a_torn_tail_is_cut_and_said_so(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker(directory)
    written = broker.fill(3)
    last = broker.fill(1)
    broker.kill()
    wal = directory / "wal" / "0"
    content = bytearray(wal.read_bytes())
    position = content.find(bytes(last[0].data)[-40:])
    content[position] ^= 1
    wal.write_bytes(content)
    with caplog.at_level(logging.WARNING):
        broker = Broker(directory)
    assert "The write-ahead log was torn" in caplog.text
    assert broker.read_all() == written
    broker.close()


def test_after_a_clean_end_nothing_is_torn(directory: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        broker = Broker(directory)
        broker.fill(100)
        broker.close()
    with caplog.at_level(logging.WARNING):
        broker = Broker(directory)
    assert caplog.text == ""
    broker.close()


def test_an_append_larger_than_a_wal_segment_survives_too(directory: Path) -> None:
    broker = Broker(directory)
    expected = broker.fill(2) + broker.fill(1, size=500_000) + broker.fill(60)
    assert broker.read_all() == expected
    broker.kill()
    broker = Broker(directory)
    assert broker.read_all() == expected
    broker.close()
    assert [entry.stat().st_size for entry in (directory / "wal").iterdir()] == [SMALL.wal_segment_bytes] * len(
        list((directory / "wal").iterdir())
    )


def test_more_than_the_wal_holds_may_be_in_flight(directory: Path) -> None:
    broker = Broker(directory)
    expected = broker.fill(2_000)
    assert broker.read_all() == expected
    broker.close()


def test_a_lost_checkpoint_is_not_taken_for_an_empty_store(directory: Path) -> None:
    broker = Broker(directory)
    broker.fill(100)
    broker.close()
    (directory / "checkpoint").unlink()
    with pytest.raises(StoreError, match="no file 'checkpoint'"):
        Broker(directory)


def test_a_damaged_checkpoint_is_refused(directory: Path) -> None:
    broker = Broker(directory)
    broker.fill(10)
    broker.close()
    content = bytearray((directory / "checkpoint").read_bytes())
    content[-1] ^= 1
    (directory / "checkpoint").write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        Broker(directory)


def test_a_second_process_is_told_who_holds_the_store(directory: Path) -> None:
    broker = Broker(directory)
    with pytest.raises(StoreError, match=f"is used by process {os.getpid()}"):
        Broker(directory)
    broker.close()


@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(b"\xff" * path.stat().st_size)])
def test_reads_find_their_way_without_an_index_which_is_made_again(
    directory: Path, spoil: Callable[[Path], None]
) -> None:
    broker = Broker(directory)
    expected = broker.fill(200)
    broker.close()
    index = directory / "orders-0" / "00000000000000000000.index"
    whole = index.read_bytes()
    spoil(index)
    broker = Broker(directory)
    log = broker.store.log(ORDERS, LogConfig())
    outcomes: list[Chunk | StoreError] = []
    log.read(150, 1, EVERYTHING, outcomes.append)
    broker.wait(lambda: bool(outcomes))
    assert isinstance(outcomes[0], Chunk)
    assert b"".join(outcomes[0].buffers) == expected[150].data
    broker.store.maintain(2_000)
    broker.rest()
    assert index.read_bytes() == whole
    broker.close()


def test_an_index_that_was_spoilt_is_made_again_before_it_grows(directory: Path) -> None:
    broker = Broker(directory)
    expected = broker.fill(200)
    broker.close()
    (directory / "orders-0" / "00000000000000000000.index").unlink()
    (directory / "orders-0" / "00000000000000000000.timeindex").write_bytes(b"")
    broker = Broker(directory)
    expected += broker.fill(200)
    broker.close()
    broker = Broker(directory)
    assert broker.read_all() == expected
    assert not broker.store.log(ORDERS, LogConfig()).spoilt_indexes
    broker.close()


def test_a_deleted_log_leaves_no_file(directory: Path) -> None:
    broker = Broker(directory)
    broker.fill(100, log_id=ORDERS._replace(org_id=5))
    broker.store.maintain(1_000_000)
    broker.rest()
    assert (directory / "orgs" / "5" / "orders-0").is_dir()
    outcomes: list[StoreError | None] = []
    broker.store.delete(ORDERS._replace(org_id=5), outcomes.append)
    broker.wait(lambda: bool(outcomes))
    broker.rest()
    assert not (directory / "orgs" / "5" / "orders-0").exists()
    broker.close()


def test_a_slice_that_somebody_still_sends_is_not_overwritten(directory: Path) -> None:
    broker = Broker(directory)
    expected = broker.fill(1)[0]
    log = broker.store.log(ORDERS, LogConfig())
    chunks: list[Chunk | StoreError] = []
    log.read(0, EVERYTHING, EVERYTHING, chunks.append)
    assert isinstance(chunks[0], Chunk)
    broker.fill(1_000)
    assert b"".join(chunks[0].buffers) == expected.data
    broker.close()


def test_a_topics_directory_says_whose_it_is_as_kafkas_does(directory: Path) -> None:
    broker = Broker(directory)
    broker.fill(1)
    broker.close()
    assert (directory / "orders-0" / "partition.metadata").read_text() == (
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAABw\n"
    )
