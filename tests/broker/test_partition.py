"""A partition whose log is done, or fails, when the test says so."""

from typing import Any
from uuid import UUID

import pytest

from kohort.broker.partition import Partition
from kohort.model.commands.data import PartitionFetched, PartitionProduced
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import DEFAULT_ORG
from kohort.model.topics import TimestampType, Topic, TopicConfig
from kohort.store.log import Durability
from kohort.wire.record_batch import Buffer
from tests.broker.broker_in_memory import batch_of, values_of
from tests.broker.held_log import HeldLog

NOW_MS = 1_000_000
TOPIC = Topic(DEFAULT_ORG, "orders", UUID(int=7), 1, {})


class Waiting:
    def __init__(self) -> None:
        self.heard: list[int | str] = []

    def on_readable(self, size: int) -> None:
        self.heard.append(size)

    def on_changed(self) -> None:
        self.heard.append("changed")


class Bench:
    """A partition, its log, and what became of each append, in order."""

    def __init__(self, config: TopicConfig | None = None) -> None:
        self.log = HeldLog()
        self.partition = Partition(TOPIC, 0, config or TopicConfig(), self.log)  # type: ignore[arg-type]
        self.outcomes: list[PartitionProduced] = []

    def append(self, *values: str, now_ms: int = NOW_MS, **fields: Any) -> bool:
        return self.append_batch(batch_of(values, NOW_MS, **fields), now_ms)

    def append_batch(self, batch: Buffer, now_ms: int = NOW_MS) -> bool:
        return self.partition.append(batch, Durability.FSYNC, now_ms, self.outcomes.append)

    def send(self, sequence: int, *values: str, epoch: int = 0) -> bool:
        """A batch of an idempotent producer."""
        return self.append(*values, producer_id=7, producer_epoch=epoch, base_sequence=sequence)

    def fetch(self, offset: int, **asked: Any) -> PartitionFetched:
        found: list[PartitionFetched] = []
        settings = {"read_committed": False, "at_least_one": True} | asked
        self.partition.fetch(offset, settings.pop("max_bytes", 1 << 20), found.append, **settings)
        (fetched,) = found
        return fetched

    @property
    def codes(self) -> list[int]:
        return [outcome.error_code for outcome in self.outcomes]


def test_an_append_is_acknowledged_when_its_log_says_so_and_not_before() -> None:
    bench = Bench()
    assert bench.append("a", "b")
    assert bench.append("c")
    assert bench.outcomes == []
    bench.log.finish()
    assert [outcome.base_offset for outcome in bench.outcomes] == [0, 2]


def test_what_is_not_durable_is_not_read() -> None:
    bench = Bench()
    bench.append("a")
    assert bench.fetch(0).records == ()
    assert bench.fetch(0).high_watermark == 0
    bench.log.finish()
    assert values_of(bench.fetch(0)) == ["a"]


def test_a_refusal_is_told_at_once_and_appends_nothing() -> None:
    bench = Bench()
    assert not bench.append_batch(b"no batch")
    assert bench.codes == [ErrorCode.INVALID_RECORD]
    assert bench.log.waiting == []


def test_a_log_that_fails_is_told_with_its_reason() -> None:
    bench = Bench()
    bench.append("a")
    bench.log.fail()
    (outcome,) = bench.outcomes
    assert (outcome.error_code, outcome.error_message) == (ErrorCode.KAFKA_STORAGE_ERROR, "No space left.")


def test_the_brokers_time_is_told_to_the_producer() -> None:
    bench = Bench(TopicConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME))
    bench.append("a", now_ms=NOW_MS + 77)
    bench.log.finish()
    assert bench.outcomes[0].log_append_time_ms == NOW_MS + 77


# Idempotent producers


def test_a_pipelining_producer_is_judged_by_what_is_still_on_its_way() -> None:
    bench = Bench()
    bench.send(0, "a", "b")
    bench.send(2, "c")
    bench.send(4, "e")
    assert bench.codes == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    bench.log.finish()
    assert bench.codes[1:] == [0, 0]


def test_a_repeated_batch_is_answered_with_its_first_offset_and_time_and_appended_once() -> None:
    bench = Bench()
    bench.send(0, "a", "b")
    bench.log.finish()
    assert not bench.send(0, "a", "b")
    assert (bench.outcomes[1].base_offset, bench.outcomes[1].log_append_time_ms) == (0, NOW_MS)
    assert bench.log.waiting == []


def test_a_repetition_that_overtakes_its_original_waits_until_that_is_durable() -> None:
    bench = Bench()
    bench.append("before")
    bench.send(0, "a")
    assert bench.send(0, "a")
    bench.log.finish(1)
    assert len(bench.outcomes) == 1
    bench.log.finish(1)
    assert [(outcome.error_code, outcome.base_offset) for outcome in bench.outcomes[1:]] == [(0, 1), (0, 1)]


def test_a_repetition_fails_with_its_original() -> None:
    bench = Bench()
    bench.send(0, "a")
    bench.send(0, "a")
    bench.log.fail()
    assert bench.codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 2


def test_after_a_failed_append_the_producer_may_send_the_same_batch_again() -> None:
    bench = Bench()
    bench.send(0, "a")
    bench.log.finish()
    bench.send(1, "b")
    bench.send(2, "c")
    bench.log.fail()
    bench.send(1, "b")
    bench.log.finish()
    assert bench.codes == [0, ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR, 0]
    assert values_of(bench.fetch(0)) == ["a", "b"]


# Reading


def test_a_fetch_outside_the_log_is_refused() -> None:
    bench = Bench()
    bench.append("a", "b")
    bench.log.finish()
    bench.partition.log.trim(1, lambda error: None)
    for offset in (-1, 0, 3):
        with pytest.raises(ProtocolError) as refusal:
            bench.fetch(offset)
        assert refusal.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_fetch_of_what_is_still_on_its_way_finds_nothing_yet() -> None:
    bench = Bench()
    bench.append("a", "b")
    assert bench.fetch(2).error_code == 0


def test_a_client_that_believes_in_another_leader_is_told() -> None:
    bench = Bench()
    assert bench.fetch(0, leader_epoch=0).error_code == 0
    for epoch, code in ((1, ErrorCode.UNKNOWN_LEADER_EPOCH), (-2, ErrorCode.FENCED_LEADER_EPOCH)):
        with pytest.raises(ProtocolError) as refusal:
            bench.fetch(0, leader_epoch=epoch)
        assert refusal.value.code is code


def test_a_reader_from_an_epoch_that_never_was_has_no_place_here() -> None:
    bench = Bench()
    assert bench.fetch(0, last_fetched_epoch=0).diverging_epoch.epoch == -1
    with pytest.raises(ProtocolError) as refusal:
        bench.fetch(0, last_fetched_epoch=5)
    assert refusal.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_the_end_of_an_epoch_is_known_of_the_current_one_alone() -> None:
    bench = Bench()
    bench.append("a", "b")
    bench.log.finish()
    assert bench.partition.end_of_epoch(0) == (0, 2)
    assert bench.partition.end_of_epoch(1) == (-1, -1)
    assert bench.partition.end_of_epoch(-1) == (-1, -1)


# Waiting


def test_who_waits_hears_of_each_append_that_became_readable_until_it_leaves() -> None:
    bench = Bench()
    waiting = Waiting()
    bench.partition.add_waiter(waiting)
    bench.append("a")
    assert waiting.heard == []
    size = len(bench.log.waiting[0][0][0].data)
    bench.log.finish()
    assert waiting.heard == [size]
    bench.append("b")
    bench.log.fail()
    assert waiting.heard == [size]
    bench.partition.remove_waiter(waiting)
    bench.append("c")
    bench.log.finish()
    assert waiting.heard == [size]


def test_who_waits_hears_of_the_end() -> None:
    bench = Bench()
    waiting = Waiting()
    bench.partition.add_waiter(waiting)
    bench.partition.close()
    assert waiting.heard == ["changed"]
