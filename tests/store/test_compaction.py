"""Kafka's log cleaner, rule by rule."""

from collections.abc import Mapping, Sequence

import pytest

from kohort.store.compaction import Cleaning, clean, due, group, last_offsets, latest_offsets
from kohort.store.log import LogConfig, ProducerBatch, ProducerEntry
from kohort.store.retention import SegmentSummary
from kohort.wire.record_batch import Batch, Compression, decode_header
from kohort.wire.records import Record, decode_records
from tests.batches import Line, batch

NOW_MS = 1_000_000
RETENTION_MS = 500
NOBODY: Mapping[int, int] = {}


def cleaned(
    batches: Sequence[Batch],
    *,
    dirty: int = 0,
    end: int | None = None,
    producers: Mapping[int, int] = NOBODY,
    now_ms: int = NOW_MS,
    keys: int = 1_000,
) -> list[Batch]:
    cleaning = Cleaning(dirty, batches[-1].header.next_offset if end is None else end)
    latest = latest_offsets(batches, cleaning, keys)
    return list(clean(batches, latest, producers=producers, delete_retention_ms=RETENTION_MS, now_ms=now_ms))


def records(batches: Sequence[Batch]) -> list[Record]:
    return [record for one in batches for record in decode_records(one.data)]


def kept(batches: Sequence[Batch]) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in records(batches)]


def log(*lines: tuple[bytes, bytes | None]) -> list[Batch]:
    """One batch a line, and a last one that nobody's key is in."""
    batches = [batch(offset, [Line(*line)]) for offset, line in enumerate(lines)]
    return [*batches, batch(len(lines), [Line(b"last", b"end")])]


class TestWhatSurvives:
    def test_the_last_value_of_each_key(self) -> None:
        batches = log((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
        assert kept(cleaned(batches)) == [(1, b"2"), (2, b"3"), (3, b"end")]

    def test_a_record_of_a_batch_keeps_its_offset_and_time(self) -> None:
        first = batch(10, [Line(b"a", b"1", 500), Line(b"b", b"2", 700), Line(b"a", b"3", 600)])
        survivor = cleaned([first])[0]
        assert records([survivor]) == [Record(11, 700, b"b", b"2"), Record(12, 600, b"a", b"3")]
        assert (survivor.header.base_offset, survivor.header.last_offset) == (10, 12)

    def test_the_batch_keeps_its_offsets_producer_and_compression_and_has_a_true_header(self) -> None:
        first = batch(
            10,
            [Line(b"a", b"1", 900), Line(b"b", b"2"), Line(b"a", b"3")],
            producer_id=4,
            producer_epoch=2,
            base_sequence=30,
            compression=Compression.ZSTD,
        )
        survivor = cleaned([first, batch(13, [Line(b"a", b"4")])])[0]
        header = survivor.header
        assert header == decode_header(survivor.data)
        assert header.size == len(survivor.data)
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (4, 2, 30)
        assert (header.base_offset, header.last_offset, header.record_count) == (10, 12, 1)
        assert (header.compression, header.max_timestamp) == (Compression.ZSTD, 1_000)

    def test_a_batch_that_loses_nothing_stays_as_it_is(self) -> None:
        batches = log((b"a", b"1"), (b"b", b"2"))
        assert all(after is before for after, before in zip(cleaned(batches), batches, strict=True))

    def test_records_without_a_key_go(self) -> None:
        assert kept(cleaned([batch(0, [Line(None, b"1"), Line(b"a", b"2")])])) == [(1, b"2")]

    def test_control_batches_stay(self) -> None:
        marker = batch(1, [Line(b"\0\0\0\1", b"")], producer_id=3, producer_epoch=0, is_control=True)
        batches = [batch(0, [Line(b"a", b"1")]), marker, batch(2, [Line(b"a", b"2")])]
        assert cleaned(batches)[0] is marker

    def test_a_key_in_the_clean_part_is_replaced_by_one_in_the_dirty_part(self) -> None:
        batches = log((b"a", b"1"), (b"b", b"2"), (b"a", b"3"))
        assert kept(cleaned(batches, dirty=2)) == [(1, b"2"), (2, b"3"), (3, b"end")]

    def test_what_lies_beyond_the_end_of_the_cleaning_stays(self) -> None:
        batches = log((b"a", b"1"), (b"a", b"2"), (b"a", b"3"))
        assert kept(cleaned(batches, end=2)) == [(1, b"2"), (2, b"3"), (3, b"end")]


class TestTombstones:
    def test_a_tombstone_survives_its_first_cleaning_and_gets_a_horizon(self) -> None:
        survivor = cleaned(log((b"a", b"1"), (b"a", None)))[0]
        assert kept([survivor]) == [(1, None)]
        assert survivor.header.delete_horizon_ms == NOW_MS + RETENTION_MS
        assert records([survivor])[0].timestamp == 1_000

    def test_it_stays_until_the_horizon_is_reached_and_the_horizon_stays_too(self) -> None:
        first = cleaned(log((b"a", b"1"), (b"a", None)))
        second = cleaned(first, now_ms=NOW_MS + RETENTION_MS - 1)
        assert second[0] is first[0]

    def test_it_goes_when_the_horizon_is_reached(self) -> None:
        first = cleaned(log((b"a", b"1"), (b"a", None)))
        assert kept(cleaned(first, now_ms=NOW_MS + RETENTION_MS)) == [(2, b"end")]

    def test_a_horizon_survives_the_loss_of_a_neighbour(self) -> None:
        first = cleaned([batch(0, [Line(b"a", None), Line(b"b", b"1")]), batch(2, [Line(b"c", b"end")])])
        again = cleaned([*first, batch(3, [Line(b"b", b"2")])], dirty=3, now_ms=NOW_MS + 100)
        assert kept(again) == [(0, None), (2, b"end"), (3, b"2")]
        assert again[0].header.delete_horizon_ms == NOW_MS + RETENTION_MS

    def test_a_later_value_replaces_a_tombstone(self) -> None:
        assert kept(cleaned(log((b"a", None), (b"a", b"2")))) == [(1, b"2"), (2, b"end")]


class TestEmptyBatches:
    def test_a_batch_without_records_goes(self) -> None:
        assert [one.header.base_offset for one in cleaned(log((b"a", b"1"), (b"a", b"2")))] == [1, 2]

    def test_the_last_batch_of_a_producer_keeps_its_header(self) -> None:
        first = batch(0, [Line(b"a", b"1")], producer_id=9, producer_epoch=1, base_sequence=5)
        survivor = cleaned([first, *log((b"x", b"x"), (b"a", b"2"))[1:]], producers={9: 0})[0]
        assert kept([survivor]) == []
        header = survivor.header
        assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 1, 5)
        assert (header.base_offset, header.last_offset, header.record_count, header.size) == (0, 0, 0, 61)

    def test_an_empty_batch_goes_when_its_producer_went_on(self) -> None:
        first = batch(0, [Line(b"a", b"1")], producer_id=9, producer_epoch=1, base_sequence=5)
        rest = log((b"x", b"x"), (b"a", b"2"))[1:]
        emptied = cleaned([first, *rest], producers={9: 0})
        assert [one.header.base_offset for one in cleaned(emptied, producers={9: 77})] == [1, 2]

    def test_the_last_batch_of_a_cleaning_keeps_its_header(self) -> None:
        batches = [batch(0, [Line(b"a", b"1")]), batch(1, [Line(None, b"keyless")])]
        assert [(one.header.last_offset, one.header.record_count) for one in cleaned(batches)] == [(0, 1), (1, 0)]

    def test_the_last_offsets_are_those_of_the_producers_last_batches(self) -> None:
        entries = [
            ProducerEntry(1, 0, (ProducerBatch(0, 1, 11, 0), ProducerBatch(2, 3, 14, 0))),
            ProducerEntry(2, 0, ()),
        ]
        assert last_offsets(entries) == {1: 14}


class TestMemory:
    def test_a_cleaning_ends_where_it_can_remember_no_more_keys(self) -> None:
        batches = log((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4"), (b"a", b"5"))
        latest = latest_offsets(batches, Cleaning(0, 6), 2)
        assert latest.end_offset == 3
        assert kept(cleaned(batches, keys=2)) == [(1, b"2"), (2, b"3"), (3, b"4"), (4, b"5"), (5, b"end")]

    def test_it_may_end_inside_a_batch(self) -> None:
        batches = [batch(0, [Line(b"a", b"1"), Line(b"a", b"2"), Line(b"b", b"3"), Line(b"a", b"4")])]
        assert kept(cleaned(batches, keys=1)) == [(1, b"2"), (2, b"3"), (3, b"4")]

    def test_the_next_cleaning_goes_on_from_there(self) -> None:
        batches = log((b"a", b"1"), (b"b", b"2"), (b"a", b"3"), (b"c", b"4"), (b"a", b"5"))
        offset = 0
        for _ in range(10):
            latest = latest_offsets(batches, Cleaning(offset, 6), 1)
            offset = latest.end_offset
            batches = list(clean(batches, latest, producers=NOBODY, delete_retention_ms=0, now_ms=0))
        assert offset == 6
        assert kept(batches) == [(1, b"2"), (3, b"4"), (4, b"5"), (5, b"end")]


SEGMENTS = [
    SegmentSummary(0, 100, 1_000, 1_900),
    SegmentSummary(10, 100, 2_000, 2_900),
    SegmentSummary(20, 200, 3_000, 3_900),
]
END = 30


class TestDue:
    def due(self, config: LogConfig, *, clean_offset: int = 0, now_ms: int = 10_000) -> Cleaning | None:
        return due(SEGMENTS, start_offset=0, clean_offset=clean_offset, end_offset=END, config=config, now_ms=now_ms)

    def test_a_log_that_was_never_cleaned_is_dirty_from_its_start(self) -> None:
        assert self.due(LogConfig()) == Cleaning(0, END)

    def test_a_log_without_closed_segments_is_not_due(self) -> None:
        assert due([], start_offset=0, clean_offset=0, end_offset=0, config=LogConfig(), now_ms=1) is None

    def test_the_dirty_share_has_to_exceed_the_ratio(self) -> None:
        assert self.due(LogConfig(min_cleanable_dirty_ratio=0.5), clean_offset=20) is None
        assert self.due(LogConfig(min_cleanable_dirty_ratio=0.49), clean_offset=20) == Cleaning(20, END)

    def test_a_clean_log_is_not_due_even_with_a_ratio_of_zero(self) -> None:
        assert self.due(LogConfig(min_cleanable_dirty_ratio=0.0), clean_offset=END) is None

    def test_the_greatest_lag_makes_a_log_due_whatever_its_ratio(self) -> None:
        lazy = LogConfig(min_cleanable_dirty_ratio=1.0, max_compaction_lag_ms=6_999)
        assert self.due(lazy, clean_offset=20) == Cleaning(20, END)
        assert self.due(lazy, clean_offset=20, now_ms=9_999) is None

    def test_a_segment_younger_than_the_least_lag_ends_the_cleaning(self) -> None:
        assert self.due(LogConfig(min_compaction_lag_ms=7_000)) == Cleaning(0, 20)
        assert self.due(LogConfig(min_compaction_lag_ms=9_000)) is None

    @pytest.mark.parametrize("clean_offset", [-1, 31])
    def test_a_clean_offset_outside_of_the_log_counts_for_nothing(self, clean_offset: int) -> None:
        assert self.due(LogConfig(), clean_offset=clean_offset) == Cleaning(0, END)


class TestGroups:
    def test_neighbours_are_grouped_while_they_fit_into_one_segment(self) -> None:
        assert group(SEGMENTS, END, 200) == [SEGMENTS[:2], SEGMENTS[2:]]
        assert group(SEGMENTS, END, 400) == [SEGMENTS]
        assert group(SEGMENTS, END, 10) == [[one] for one in SEGMENTS]

    def test_a_group_never_spans_more_offsets_than_an_index_can_tell_apart(self) -> None:
        far = [SegmentSummary(0, 1, 0, 0), SegmentSummary(10, 1, 0, 0), SegmentSummary(1 << 31, 1, 0, 0)]
        assert group(far, (1 << 31) + 1, 1_000) == [far[:2], far[2:]]

    def test_nothing_makes_no_group(self) -> None:
        assert group([], 0, 100) == []
