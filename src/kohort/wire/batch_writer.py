"""Writes the records of a machine's log: at one time, in as few batches as are not too large.

Next hop: records.py, which knows how a record lies in a batch.
"""

from typing import Final

from kohort.wire.record_batch import Batch
from kohort.wire.records import NewRecord, batch_of_written, write_record

LARGE_BATCH: Final = 1 << 20
"""A batch that has reached this size is closed: none is larger than this and its last record."""


class BatchWriter:
    __slots__ = ("_base_offset", "_batches", "_timestamp", "count", "payload")

    def __init__(self, base_offset: int, timestamp: int) -> None:
        self._base_offset = base_offset
        self._timestamp: Final = timestamp
        self._batches: Final[list[Batch]] = []
        self.payload = bytearray()
        """The records of the batch that is being written, for who writes many at once and counts them."""
        self.count = 0

    def write(self, key: bytes | None, value: bytes | None) -> None:
        write_record(self.payload, NewRecord(key, value, self._timestamp), 0, self.count)
        self.count += 1
        if len(self.payload) >= LARGE_BATCH:
            self.close_batch()

    def close_batch(self) -> None:
        if self.count:
            batch = batch_of_written(self.payload, self.count, self._base_offset, self._timestamp)
            self._batches.append(batch)
            self._base_offset += self.count
            self.payload = bytearray()
            self.count = 0

    def batches(self) -> list[Batch]:
        """All that was written."""
        self.close_batch()
        return self._batches
