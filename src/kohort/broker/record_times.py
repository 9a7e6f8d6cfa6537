"""Finding the very record that a time stands for: the log finds the batch, the records in it say which one.

Decides nothing durable and keeps nothing. Records before the log's start or beyond what may be read do not count.

Next hop: store/log.py.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from kohort.store.log import Chunk, Log, StoreError, TimestampOffset
from kohort.wire.errors import DecodeError
from kohort.wire.record_batch import whole_batches
from kohort.wire.records import decode_timestamps

READ_BYTES: Final = 1 << 16


class RecordTime(NamedTuple):
    """A record by where it is and when."""

    offset: int
    timestamp: int


Found = Callable[[RecordTime | StoreError | DecodeError | None], None]


def find_record_at(log: Log, timestamp: int, until_offset: int, done: Found) -> None:
    """The first record whose timestamp is at least this; None if there is none before until_offset."""

    def found(batch: TimestampOffset | StoreError | None) -> None:
        if isinstance(batch, TimestampOffset):
            _find_in_batches(log, batch.base_offset, timestamp, until_offset, done)
        else:
            done(batch)

    log.find_time(timestamp, found)


def find_latest_record(log: Log, until_offset: int, done: Found) -> None:
    """The first record that has the greatest timestamp of all; None if the log is empty."""

    def found(batch: TimestampOffset | StoreError | None) -> None:
        if isinstance(batch, TimestampOffset):
            _find_in_batches(log, batch.base_offset, batch.max_timestamp, until_offset, done)
        else:
            done(batch)

    log.find_max_timestamp(found)


def _find_in_batches(log: Log, offset: int, timestamp: int, until_offset: int, done: Found) -> None:
    """Mostly the first batch has the record; it has not if that record was before the log's start."""
    start = max(offset, log.start_offset)
    if start >= until_offset:
        done(None)
        return

    def read(chunk: Chunk | StoreError) -> None:
        if isinstance(chunk, StoreError):
            done(chunk)
            return
        next_offset = until_offset
        try:
            for batch in whole_batches(b"".join(chunk.buffers)):
                next_offset = batch.header.next_offset
                if batch.header.max_timestamp < timestamp:
                    continue
                for record_offset, record_timestamp in decode_timestamps(batch):
                    if record_timestamp >= timestamp and start <= record_offset < until_offset:
                        done(RecordTime(record_offset, record_timestamp))
                        return
        except DecodeError as error:
            done(error)
            return
        _find_in_batches(log, next_offset, timestamp, until_offset, done)

    log.read(start, READ_BYTES, until_offset, read)
