"""How a machine's snapshot lies in its log: batches of records between two control batches, as in Kafka's snapshots.

Next hop: wire/records.py.
"""

from collections.abc import Iterable
from enum import IntEnum
from itertools import islice
from struct import Struct
from typing import Final

from kohort.wire.record_batch import Batch, Buffer
from kohort.wire.records import NewRecord, decode_records, encode_batch

RECORDS_PER_BATCH: Final = 5000

_KEY: Final = Struct(">hh")
_CONTROL_VERSION: Final = 0
# SnapshotHeaderRecord and SnapshotFooterRecord: version 0, the header's last contained timestamp, no tags.
_HEADER_VALUE: Final = Struct(">hqB")
_FOOTER_VALUE: Final = Struct(">hB")


class SnapshotMark(IntEnum):
    """The types of Kafka's control records between which a snapshot lies."""

    HEADER = 3
    FOOTER = 4


def encode_snapshot(
    records: Iterable[tuple[bytes | None, bytes | None]], base_offset: int, now_ms: int
) -> tuple[Batch, ...]:
    """The batches of a snapshot whose records have these keys and values."""
    batches = [_control_batch(SnapshotMark.HEADER, _HEADER_VALUE.pack(0, now_ms, 0), base_offset, now_ms)]
    remaining = iter(records)
    while some := [NewRecord(key, value, now_ms) for key, value in islice(remaining, RECORDS_PER_BATCH)]:
        batches.append(encode_batch(some, base_offset=batches[-1].header.next_offset))
    end = batches[-1].header.next_offset
    batches.append(_control_batch(SnapshotMark.FOOTER, _FOOTER_VALUE.pack(0, 0), end, now_ms))
    return tuple(batches)


def snapshot_mark(control_batch: Buffer) -> SnapshotMark:
    """Which end of a snapshot a control batch of a machine's log stands for."""
    key = next(decode_records(control_batch)).key
    return SnapshotMark(_KEY.unpack(key or b"")[1])


def _control_batch(mark: SnapshotMark, value: bytes, base_offset: int, now_ms: int) -> Batch:
    key = _KEY.pack(_CONTROL_VERSION, mark)
    return encode_batch([NewRecord(key, value, now_ms)], base_offset=base_offset, is_control=True)
