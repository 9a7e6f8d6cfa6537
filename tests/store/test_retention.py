"""Which segments have outlived their log's retention."""

from kohort.store.log import LogConfig
from kohort.store.retention import SegmentSummary, expired_segments, roll_after_ms

NOW_MS = 10_000
SEGMENTS = [
    SegmentSummary(0, 100, 1_000, 1_900),
    SegmentSummary(10, 100, 2_000, 2_900),
    SegmentSummary(20, 100, 3_000, 3_900),
]


def expired(config: LogConfig, *, start_offset: int = 0, segments: list[SegmentSummary] = SEGMENTS) -> int:
    return expired_segments(segments, start_offset=start_offset, config=config, now_ms=NOW_MS)


def test_without_limits_nothing_goes() -> None:
    assert expired(LogConfig(retention_ms=-1, retention_bytes=-1)) == 0


def test_a_segment_goes_when_its_youngest_batch_is_too_old() -> None:
    assert expired(LogConfig(retention_ms=8_100)) == 0
    assert expired(LogConfig(retention_ms=8_099)) == 1
    assert expired(LogConfig(retention_ms=7_000)) == 2


def test_a_younger_segment_keeps_all_behind_it() -> None:
    out_of_order = [SegmentSummary(0, 100, 1_000, 3_900), *SEGMENTS[1:]]
    assert expired(LogConfig(retention_ms=7_000), segments=out_of_order) == 0


def test_even_the_active_segment_may_be_too_old() -> None:
    assert expired(LogConfig(retention_ms=0)) == 3


def test_an_empty_active_segment_stays() -> None:
    assert expired(LogConfig(retention_ms=0), segments=[*SEGMENTS, SegmentSummary(30, 0, 0, 0)]) == 3


def test_no_more_goes_than_leaves_the_retention_size() -> None:
    assert expired(LogConfig(retention_ms=-1, retention_bytes=201)) == 0
    assert expired(LogConfig(retention_ms=-1, retention_bytes=200)) == 1
    assert expired(LogConfig(retention_ms=-1, retention_bytes=99)) == 2


def test_a_log_that_is_not_deleted_from_keeps_what_is_old_and_large() -> None:
    assert expired(LogConfig(delete=False, compact=True, retention_ms=0, retention_bytes=1)) == 0


def test_what_lies_wholly_before_the_start_goes_in_any_case() -> None:
    config = LogConfig(delete=False, compact=True)
    assert expired(config, start_offset=19) == 1
    assert expired(config, start_offset=20) == 2
    assert expired(config, start_offset=1_000) == 2


def test_a_segment_stays_active_for_segment_ms() -> None:
    assert roll_after_ms(LogConfig(segment_ms=50, max_compaction_lag_ms=10)) == 50


def test_a_compacted_log_rolls_in_time_for_its_greatest_lag() -> None:
    assert roll_after_ms(LogConfig(segment_ms=50, max_compaction_lag_ms=10, compact=True)) == 10
