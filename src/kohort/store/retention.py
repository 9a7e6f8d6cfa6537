"""When a segment is full, and when it has outlived its log's retention: Kafka's rules, for every store.

Pure functions over summaries of segments. They decide; the store that asked rolls and deletes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from kohort.store.log import LogConfig


class SegmentSummary(NamedTuple):
    """A segment of a log as retention and compaction see it.

    Both timestamps are of batches' greatest; where no batch has one, the time the segment was written last.
    """

    base_offset: int
    size_bytes: int
    first_timestamp: int
    max_timestamp: int


def roll_after_ms(config: LogConfig) -> int:
    """How long a segment stays the active one: a compacted log's must close in time to be compacted."""
    if config.compact and config.max_compaction_lag_ms > 0:
        return min(config.segment_ms, config.max_compaction_lag_ms)
    return config.segment_ms


def expired_segments(segments: Sequence[SegmentSummary], *, start_offset: int, config: LogConfig, now_ms: int) -> int:
    """How many segments, from the oldest on, are to be deleted. `segments` are all of the log, the active one last.

    Time and size count only where cleanup.policy has delete; what lies wholly before the log's start always goes.
    When the active segment is among them, the store rolls first: a log keeps its end.
    """
    surplus_bytes = sum(segment.size_bytes for segment in segments) - config.retention_bytes
    expired = 0
    for position, segment in enumerate(segments):
        is_active = position + 1 == len(segments)
        if is_active and not segment.size_bytes:
            break
        is_before_start = not is_active and segments[position + 1].base_offset <= start_offset
        is_too_old = config.delete and config.retention_ms >= 0 and now_ms - segment.max_timestamp > config.retention_ms
        is_surplus = config.delete and config.retention_bytes >= 0 and surplus_bytes >= segment.size_bytes
        if not (is_before_start or is_too_old or is_surplus):
            break
        surplus_bytes -= segment.size_bytes
        expired += 1
    return expired
