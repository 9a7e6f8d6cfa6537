"""What compaction leaves of a log, seen from outside: the same for every store."""

from dataclasses import replace

from kohort.store.log import Log, LogConfig
from kohort.wire.record_batch import HEADER_SIZE
from kohort.wire.records import decode_records
from tests.batches import Line, batch
from tests.contract.houses import House
from tests.contract.test_log import ORDERS, append, bounds, read_all

COMPACTED = LogConfig(
    compact=True, delete=False, segment_bytes=400, min_cleanable_dirty_ratio=0.1, delete_retention_ms=10_000
)
NOW_MS = 1_000_000
Written = tuple[int, bytes | None, bytes | None]


def write(
    house: House, *lines: tuple[bytes, bytes | None], timestamp: int = 1_000, config: LogConfig = COMPACTED
) -> None:
    """One batch for each line, then enough other batches that all of them lie in closed segments."""
    log = house.store.log(ORDERS, config)
    for key, value in lines:
        append(house, log, batch(log.end_offset, [Line(key, value, timestamp)]))


def write_fillers(house: House, config: LogConfig = COMPACTED) -> None:
    """A segment's worth of other keys, so that nothing written before lies in the active segment."""
    write(house, *((b"filler-%d" % n, b"." * 60) for n in range(8)), config=config)


def compacted(house: House, now_ms: int = NOW_MS, config: LogConfig = COMPACTED) -> Log:
    """The log after a restart, which brings every byte to its place, and as much maintenance as it takes."""
    house.reopen()
    log = house.store.log(ORDERS, config)
    for _ in range(3):
        house.store.maintain(now_ms)
        house.rest()
    return log


def contents(house: House, log: Log) -> list[Written]:
    """Offset, key and value of every record, without the fillers."""
    return [
        (record.offset, record.key and bytes(record.key), record.value and bytes(record.value))
        for one in read_all(house, log)
        for record in decode_records(one.data)
        if not (record.key or b"").startswith(b"filler")
    ]


def test_the_last_value_of_each_key_survives_at_its_offset(house: House) -> None:
    write(house, (b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4"), (b"b", b"5"))
    write_fillers(house)
    log = compacted(house)
    assert contents(house, log) == [(2, b"a", b"3"), (3, b"c", b"4"), (4, b"b", b"5")]
    assert bounds(log) == (0, 13, 13)


def test_what_survived_is_still_there_after_a_restart_and_replaced_by_later_values(house: House) -> None:
    write(house, (b"a", b"1"), (b"a", b"2"), (b"b", b"3"))
    write_fillers(house)
    compacted(house)
    write(house, (b"a", b"4"))
    write_fillers(house)
    assert contents(house, compacted(house)) == [(2, b"b", b"3"), (11, b"a", b"4")]


def test_the_active_segment_is_not_compacted(house: House) -> None:
    write_fillers(house)
    write(house, (b"a", b"1"), (b"a", b"2"))
    log = compacted(house)
    assert contents(house, log)[-2:] == [(8, b"a", b"1"), (9, b"a", b"2")]


def test_a_tombstone_stays_for_a_while_and_then_goes(house: House) -> None:
    write(house, (b"a", b"1"), (b"a", None))
    write_fillers(house)
    assert contents(house, compacted(house)) == [(1, b"a", None)]
    write_fillers(house)
    assert contents(house, compacted(house, NOW_MS + 9_000)) == [(1, b"a", None)]
    write_fillers(house)
    assert contents(house, compacted(house, NOW_MS + 20_000)) == []


def test_records_younger_than_the_lag_are_not_compacted(house: House) -> None:
    config = replace(COMPACTED, min_compaction_lag_ms=5_000)
    write(house, (b"a", b"1"), (b"a", b"2"), timestamp=NOW_MS, config=config)
    write_fillers(house, config)
    assert len(contents(house, compacted(house, NOW_MS + 1_000, config))) == 2
    assert len(contents(house, compacted(house, NOW_MS + 9_000, config))) == 1


def test_a_producers_last_batch_leaves_its_header(house: House) -> None:
    log = house.store.log(ORDERS, COMPACTED)
    append(house, log, batch(0, [Line(b"a", b"1")], producer_id=5, producer_epoch=0, base_sequence=0))
    append(house, log, batch(1, [Line(b"a", b"2")], producer_id=5, producer_epoch=0, base_sequence=1))
    write(house, (b"a", b"3"))
    write_fillers(house)
    log = compacted(house)
    assert contents(house, log) == [(2, b"a", b"3")]
    empty = read_all(house, log)[0]
    assert (empty.header.base_offset, empty.header.base_sequence, empty.header.record_count) == (1, 1, 0)
    assert len(empty.data) == HEADER_SIZE
    assert [entry.batches[-1].last_sequence for entry in log.producers()] == [1]


def test_a_log_without_compaction_keeps_every_value(house: House) -> None:
    config = replace(COMPACTED, compact=False)
    write(house, (b"a", b"1"), (b"a", b"2"), config=config)
    write_fillers(house, config)
    assert len(contents(house, compacted(house, config=config))) == 2
