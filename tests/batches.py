"""Batches for tests, made in one short call."""

from collections.abc import Sequence
from typing import NamedTuple

from kohort.wire.record_batch import Batch, Compression
from kohort.wire.records import NewRecord, encode_batch


class Line(NamedTuple):
    """One record of a test: its key, its value and its time."""

    key: bytes | None
    value: bytes | None
    timestamp: int = 1_000


def batch(
    base_offset: int,
    lines: Sequence[Line],
    *,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    compression: Compression = Compression.NONE,
    is_control: bool = False,
) -> Batch:
    """A batch whose first record has this offset."""
    return encode_batch(
        [NewRecord(line.key, line.value, line.timestamp) for line in lines],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        compression=compression,
        is_control=is_control,
    )


def values(
    base_offset: int,
    count: int,
    *,
    size: int = 10,
    timestamp: int = 1_000,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> Batch:
    """A batch of so many records without keys, each value of this size and different from all others."""
    lines = [Line(None, str(base_offset + n).encode().rjust(size, b"."), timestamp) for n in range(count)]
    return batch(
        base_offset, lines, producer_id=producer_id, producer_epoch=producer_epoch, base_sequence=base_sequence
    )
