"""Record batches of every codec against Kafka's own classes, in both directions."""

import subprocess
from pathlib import Path

import pytest

from kohort.wire.record_batch import Compression, decode_header
from kohort.wire.records import NewRecord, Record, decode_records, encode_batch
from tests.kafka_peer import java_command

PROGRAM = Path(__file__).parent / "java" / "RecordBatches.java"

pytestmark = pytest.mark.kafka


def java(verb: str, lines: str = "") -> list[str]:
    finished = subprocess.run(
        [*java_command(), str(PROGRAM), verb], input=lines, capture_output=True, text=True, timeout=120, check=True
    )
    return finished.stdout.split("\n")[:-1]


def test_what_java_writes_is_read() -> None:
    batches = [bytes.fromhex(line) for line in java("write")]
    assert [decode_header(batch).compression for batch in batches] == list(Compression)
    for batch in batches:
        assert list(decode_records(batch)) == [
            Record(
                offset=17 + number,
                timestamp=1_000 + number * 7,
                key=b"key %d" % number,
                value=b"value %d" % number * 5 if number % 7 else None,
                headers=() if number % 3 else ((b"trace", None),),
            )
            for number in range(2_000)
        ]


def test_java_reads_what_is_written() -> None:
    records = [
        NewRecord(b"key", b"x" * number if number % 5 else None, 1_000 + number, ((b"h", b"v"),) * (number % 2))
        for number in range(600)
    ]
    batches = [encode_batch(records, base_offset=3, compression=codec) for codec in Compression]
    expected = [
        f"{3 + number} {1_000 + number} {number if number % 5 else -1} {number % 2}" for number in range(len(records))
    ]
    assert java("read", "\n".join(bytes(batch.data).hex() for batch in batches)) == expected * len(batches)
