"""The same logs come out the same of our cleaning and of Kafka's own cleaner: byte for byte, if not compressed."""

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from kohort.store.compaction import Cleaning, clean, last_offsets, latest_offsets
from kohort.store.log import ProducerEntry
from kohort.store.producers import remember
from kohort.wire.record_batch import Batch, Compression
from kohort.wire.records import decode_batches, decode_records
from tests import kafka_peer
from tests.batches import Line, batch

LOGS = 20
DELETE_RETENTION_MS = 50_000
PROGRAM = Path(__file__).with_name("CleanWithKafka.java")


def random_log(seed: int, now_ms: int) -> list[Batch]:
    """Batches of few keys, with tombstones, records without a key, and producers."""
    random = Random(seed)
    codec = random.choice((Compression.NONE, Compression.NONE, Compression.NONE, Compression.LZ4, Compression.GZIP))
    batches: list[Batch] = []
    offset = 0
    sequences = [0, 0, 0]
    for _ in range(random.randint(1, 25)):
        lines = [
            Line(
                None if random.random() < 0.05 else b"key-%d" % random.randrange(random.choice((3, 12))),
                None if random.random() < 0.25 else random.randbytes(random.randrange(200)),
                now_ms - random.randrange(10_000),
            )
            for _ in range(random.randint(1, 6))
        ]
        producer = random.randrange(6)
        if producer < len(sequences):
            made = batch(
                offset,
                lines,
                compression=codec,
                producer_id=producer,
                producer_epoch=0,
                base_sequence=sequences[producer],
            )
            sequences[producer] += len(lines)
        else:
            made = batch(offset, lines, compression=codec)
        batches.append(made)
        offset += len(lines) + random.choice((0, 0, 3))
    return batches


def clean_with_kafka(directories: Sequence[Path], now_ms: int, dirty_offset: int) -> None:
    arguments = [str(now_ms), str(DELETE_RETENTION_MS), str(dirty_offset), *map(str, directories)]
    subprocess.run([*kafka_peer.java_command(), str(PROGRAM), *arguments], check=True)


def clean_ourselves(batches: Sequence[Batch], now_ms: int, dirty_offset: int, log: Sequence[Batch]) -> list[Batch]:
    producers: dict[int, ProducerEntry] = {}
    for one in log:
        remember(producers, one.header)
    latest = latest_offsets(batches, Cleaning(dirty_offset, log[-1].header.next_offset))
    return list(
        clean(
            batches,
            latest,
            producers=last_offsets(producers.values()),
            delete_retention_ms=DELETE_RETENTION_MS,
            now_ms=now_ms,
        )
    )


def assert_same(ours: Sequence[Batch], theirs: bytes) -> None:
    if all(one.header.compression == Compression.NONE for one in ours):
        assert b"".join(bytes(one.data) for one in ours) == theirs
    for mine, kafkas in zip(ours, decode_batches(theirs), strict=True):
        same_bytes = {"length": 0, "crc": 0}
        assert mine.header._replace(**same_bytes) == kafkas.header._replace(**same_bytes)
        assert list(decode_records(mine.data)) == list(decode_records(kafkas.data))


@pytest.mark.kafka
def test_a_log_comes_out_of_our_cleaning_as_out_of_kafkas(tmp_path: Path) -> None:
    now_ms = int(time.time() * 1000)
    logs = [random_log(seed, now_ms) for seed in range(LOGS)]
    directories = [tmp_path / f"log-{seed}" for seed in range(LOGS)]
    for directory, batches in zip(directories, logs, strict=True):
        directory.mkdir()
        (directory / f"{0:020}.log").write_bytes(b"".join(bytes(one.data) for one in batches))
    cleaned = logs
    for later_ms in (0, DELETE_RETENTION_MS - 1, DELETE_RETENTION_MS):
        clean_with_kafka(directories, now_ms + later_ms, 0)
        cleaned = [clean_ourselves(batches, now_ms + later_ms, 0, log) for batches, log in zip(cleaned, logs)]
        for directory, ours in zip(directories, cleaned, strict=True):
            assert_same(ours, (directory / f"{0:020}.log").read_bytes())
