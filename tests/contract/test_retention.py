"""What retention takes from a log, and what it leaves: the same for every store."""

from dataclasses import replace

import pytest

from kohort.store.log import Log, LogConfig, OffsetOutOfRangeError
from kohort.wire.record_batch import Batch
from tests.batches import values
from tests.contract.houses import House
from tests.contract.test_log import ORDERS, append, bounds, fill, read, read_all, trim

BATCH_BYTES = len(values(0, 2, size=100).data)
SMALL_SEGMENTS = LogConfig(segment_bytes=4 * BATCH_BYTES, retention_ms=-1)
NOW_MS = 1_000_000


def maintained(house: House, config: LogConfig, now_ms: int = NOW_MS) -> Log:
    """The log after a restart, which brings every byte to its place, and as much maintenance as it takes."""
    house.reopen()
    log = house.store.log(ORDERS, config)
    for _ in range(3):
        house.store.maintain(now_ms)
        house.rest()
    return log


def written(house: House, count: int = 20, timestamp: int = 1_000) -> list[Batch]:
    return fill(house, house.store.log(ORDERS, SMALL_SEGMENTS), count, size=100, timestamp=timestamp)


def test_without_a_limit_everything_stays(house: House) -> None:
    batches = written(house)
    log = maintained(house, SMALL_SEGMENTS)
    assert read_all(house, log) == batches


def test_segments_older_than_the_retention_time_go(house: House) -> None:
    old = written(house, 20, timestamp=1_000)
    young = written(house, 20, timestamp=900_000)
    log = maintained(house, replace(SMALL_SEGMENTS, retention_ms=500_000))
    assert 0 < log.start_offset <= young[0].header.base_offset
    assert log.start_offset > old[-5].header.base_offset
    assert read_all(house, log)[-20:] == young
    with pytest.raises(OffsetOutOfRangeError):
        read(house, log, 0)


def test_the_whole_log_may_be_too_old_and_still_keeps_its_end(house: House) -> None:
    written(house)
    log = maintained(house, replace(SMALL_SEGMENTS, retention_ms=10))
    assert bounds(log) == (40, 40, 40)
    assert log.size_bytes == 0
    append(house, log, values(40, 1))
    assert read_all(house, log) == [values(40, 1)]


def test_the_oldest_segments_go_until_the_size_is_kept(house: House) -> None:
    batches = written(house, 40)
    limit = 10 * BATCH_BYTES
    log = maintained(house, replace(SMALL_SEGMENTS, retention_bytes=limit))
    assert limit <= log.size_bytes < limit + SMALL_SEGMENTS.segment_bytes
    kept = read_all(house, log)
    assert kept == batches[-len(kept) :]
    assert log.start_offset == kept[0].header.base_offset


def test_a_log_that_is_only_compacted_keeps_what_is_old(house: House) -> None:
    batches = written(house)
    config = replace(SMALL_SEGMENTS, retention_ms=10, retention_bytes=1, delete=False)
    assert read_all(house, maintained(house, config)) == batches


def test_a_new_limit_counts_from_now_on(house: House) -> None:
    written(house)
    log = maintained(house, SMALL_SEGMENTS)
    log.configure(replace(SMALL_SEGMENTS, retention_ms=10))
    for _ in range(3):
        house.store.maintain(NOW_MS)
        house.rest()
    assert log.start_offset == 40


def test_the_start_stays_where_retention_moved_it_after_a_restart(house: House) -> None:
    written(house)
    log = maintained(house, replace(SMALL_SEGMENTS, retention_ms=10))
    start = log.start_offset
    house.reopen()
    assert house.store.log(ORDERS, SMALL_SEGMENTS).start_offset == start


def test_segments_wholly_before_the_start_give_their_bytes_back(house: House) -> None:
    batches = written(house, 40)
    log = maintained(house, SMALL_SEGMENTS)
    trim(house, log, 60)
    log = maintained(house, SMALL_SEGMENTS)
    assert log.start_offset == 60
    assert log.size_bytes < 10 * BATCH_BYTES + SMALL_SEGMENTS.segment_bytes
    assert read_all(house, log) == batches[30:]


def test_producers_are_remembered_when_their_batches_are_gone(house: House) -> None:
    log = house.store.log(ORDERS, SMALL_SEGMENTS)
    append(house, log, values(0, 2, size=100, producer_id=3, producer_epoch=0, base_sequence=0))
    fill(house, log, 20, size=100)
    log = maintained(house, replace(SMALL_SEGMENTS, retention_ms=10))
    assert [entry.producer_id for entry in log.producers()] == [3]
