"""How a machine's snapshot lies in its log: batches of records between two control batches, as in Kafka's snapshots.

Next hop: wire/records.py.
"""

from enum import IntEnum
from struct import Struct
from typing import Final

from kohort.wire.record_batch import Batch, Buffer
from kohort.wire.records import NewRecord, decode_records, encode_batch

_KEY: Final = Struct(">hh")
_CONTROL_VERSION: Final = 0
# SnapshotHeaderRecord and SnapshotFooterRecord: version 0, the header's last contained timestamp, no tags.
_HEADER_VALUE: Final = Struct(">hqB")
_FOOTER_VALUE: Final = Struct(">hB")


class SnapshotMark(IntEnum):
    """The types of Kafka's control records between which a snapshot lies."""

    HEADER = 3
    FOOTER = 4


def header_batch(base_offset: int, now_ms: int) -> Batch:
    """What a snapshot begins with."""
    return _control_batch(SnapshotMark.HEADER, _HEADER_VALUE.pack(0, now_ms, 0), base_offset, now_ms)


def footer_batch(base_offset: int, now_ms: int) -> Batch:
    """What a snapshot ends with: one without it is none."""
    return _control_batch(SnapshotMark.FOOTER, _FOOTER_VALUE.pack(0, 0), base_offset, now_ms)


def snapshot_mark(control_batch: Buffer) -> SnapshotMark:
    """Which end of a snapshot a control batch of a machine's log stands for."""
    key = next(decode_records(control_batch)).key
    return SnapshotMark(_KEY.unpack(key or b"")[1])


def _control_batch(mark: SnapshotMark, value: bytes, base_offset: int, now_ms: int) -> Batch:
    key = _KEY.pack(_CONTROL_VERSION, mark)
    return encode_batch([NewRecord(key, value, now_ms)], base_offset=base_offset, is_control=True)
