"""Kafka's own DumpLogSegments reads settled segments and their indexes, and finds nothing wrong with them."""

import asyncio
import subprocess
from pathlib import Path
from random import Random
from uuid import UUID

import pytest

from kohort.store.files.os_disk import OsDisk
from kohort.store.files.settings import FilesSettings
from kohort.store.files.store import FilesStore
from kohort.store.files.thread_workers import ThreadWorkers
from kohort.store.log import Durability, LogConfig, LogId, StoreError, StoreFailedError
from kohort.wire.record_batch import Compression
from tests import kafka_peer
from tests.batches import Line, batch

ORDERS = LogId(0, "orders", UUID(int=7), 0)
CONFIG = LogConfig(segment_bytes=200_000)
DUMP = "org.apache.kafka.tools.DumpLogSegments"


def fail(error: StoreFailedError) -> None:
    raise AssertionError(error)


def write_log(directory: Path, config: LogConfig) -> int:
    """A log of several segments, settled in several rounds; its records."""
    random = Random(1)
    loop = asyncio.new_event_loop()
    offset = records = 0
    for _ in range(3):
        settings = FilesSettings(wal_segment_bytes=128 << 10)
        store = FilesStore(OsDisk(directory), ThreadWorkers(loop), settings, lambda: 1_000, fail)
        store.open()
        log = store.log(ORDERS, config)
        outcomes: list[StoreError | None] = []
        for _ in range(150):
            lines = [
                Line(b"key-%d" % random.randrange(20), random.randbytes(random.randrange(300)), 1_000 + offset * 3)
                for _ in range(random.randint(1, 20))
            ]
            compression = random.choice((Compression.NONE, Compression.NONE, Compression.ZSTD))
            log.append([batch(offset, lines, compression=compression)], Durability.OS, outcomes.append)
            offset += len(lines)
            records += len(lines)
        store.close()
        assert outcomes == [None] * 150
    loop.close()
    return records


def dump(*arguments: str) -> str:
    command = [*kafka_peer.java_command(), DUMP, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.kafka
@pytest.mark.slow
def test_kafka_reads_every_segment_and_finds_its_indexes_sound(tmp_path: Path) -> None:
    records = write_log(tmp_path, CONFIG)
    partition = tmp_path / "orders-0"
    logs = sorted(partition.glob("*.log"))
    assert len(logs) >= 3
    files = [str(path.with_suffix(suffix)) for path in logs for suffix in (".log", ".index", ".timeindex")]
    assert all(Path(path).stat().st_size for path in files[:-3])
    told = dump("--files", ",".join(files), "--deep-iteration")
    assert told.count("| offset: ") == records
    assert "isvalid: false" not in told
    for complaint in ("Mismatches in", "Found timestamp mismatch", "Found out of order timestamp", "Non-consecutive"):
        assert complaint not in told, told[:2_000]


@pytest.mark.kafka
@pytest.mark.slow
def test_kafka_finds_every_index_sound(tmp_path: Path) -> None:
    write_log(tmp_path, CONFIG)
    indexes = sorted(map(str, (tmp_path / "orders-0").glob("*index")))
    told = dump("--files", ",".join(indexes), "--index-sanity-check")
    assert told.count("passed sanity check") + told.count("is empty") == len(indexes), told
    assert "Mismatches" not in dump("--files", ",".join(indexes), "--verify-index-only")
