"""Fetching: how an answer is shared out, and how long a client waits for it."""

from typing import Any
from uuid import UUID, uuid4

import pytest

from kohort.broker.fetch import Fetches
from kohort.broker.fetch_sessions import FetchSessions
from kohort.broker.partitions import Partitions
from kohort.model.commands.data import DeleteRecords, Fetch, PartitionFetch, PartitionTrim, TopicFetch, TopicTrims
from kohort.model.errors import ErrorCode
from kohort.model.ids import DEFAULT_ORG, NO_TOPIC_ID
from kohort.model.settings import BrokerSettings
from kohort.model.topics import Topic, TopicConfig
from kohort.store.log import Durability, LogConfig, LogId
from tests.broker.broker_in_memory import (
    BrokerInMemory,
    JumpingLoop,
    Sent,
    batch_of,
    fetch,
    fetched,
    produce,
    values_of,
)
from tests.broker.held_log import HeldLog


@pytest.fixture
def broker() -> BrokerInMemory:
    broker = BrokerInMemory()
    broker.create("orders", 3)
    return broker


def batch_size(broker: BrokerInMemory) -> int:
    """Of a batch of one value of 100 bytes."""
    return len(batch_of(["x" * 100], broker.now_ms()))


# Sharing out


def test_the_first_batch_comes_whole_however_small_the_bounds(broker: BrokerInMemory) -> None:
    for partition in (0, 1):
        broker.produce("orders", "x" * 100, partition=partition)
    asked = {("orders", 0): 0, ("orders", 1): 0}
    for bounds in ({"max_bytes": 0}, {"max_bytes": 1, "partition_max_bytes": 1}):
        found = fetched(broker.ask(fetch(asked, **bounds)))
        assert [len(found["orders", index].records) for index in (0, 1)] == [1, 0]


def test_an_empty_partition_does_not_use_up_the_right_to_a_batch(broker: BrokerInMemory) -> None:
    broker.produce("orders", "x" * 100, partition=1)
    found = fetched(broker.ask(fetch({("orders", 0): 0, ("orders", 1): 0}, max_bytes=1)))
    assert len(found["orders", 1].records) == 1


def test_a_partition_gives_no_more_than_its_share_and_all_no_more_than_the_whole(broker: BrokerInMemory) -> None:
    for partition in (0, 1, 2):
        for _ in range(5):
            broker.produce("orders", "x" * 100, partition=partition)
    size = batch_size(broker)
    asked = {("orders", index): 0 for index in range(3)}
    found = fetched(broker.ask(fetch(asked, partition_max_bytes=2 * size, max_bytes=5 * size)))
    assert [len(found["orders", index].records) for index in range(3)] == [2, 2, 1]


def test_in_a_session_a_partition_that_gave_comes_behind_those_that_did_not(broker: BrokerInMemory) -> None:
    for partition in (0, 1):
        for _ in range(2):
            broker.produce("orders", "x" * 100, partition=partition)
    first = broker.ask(fetch({("orders", 0): 0, ("orders", 1): 0}, max_bytes=1, session=(0, 0)))
    assert [index for (_, index), each in fetched(first).items() if each.records] == [0]
    seen = []
    for epoch in range(1, 5):
        answer = broker.ask(fetch({}, max_bytes=1, session=(first.session_id, epoch)))
        seen += [index for (_, index), each in fetched(answer).items() if each.records]
    assert seen == [0, 1, 0, 1]


def test_the_whole_is_bounded_by_the_broker_too() -> None:
    broker = BrokerInMemory(settings=BrokerSettings(fetch_max_bytes=1024))
    broker.create("orders")
    for _ in range(20):
        broker.produce("orders", "x" * 100)
    (found,) = fetched(broker.ask(fetch({("orders", 0): 0}))).values()
    assert sum(map(len, found.records)) <= 1024


# Refusals


def test_a_partition_that_is_not_there_is_told_by_name_and_by_id(broker: BrokerInMemory) -> None:
    found = fetched(broker.ask(fetch({("orders", 9): 0, ("nobody", 0): 0})))
    assert {each.error_code for each in found.values()} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    for topic_id in (uuid4(), NO_TOPIC_ID):
        asked = Fetch((TopicFetch("", topic_id, (PartitionFetch(0, 0, 100),)),), 0, 1, 100, by_topic_id=True)
        (topic,) = broker.ask(asked).responses
        assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_an_offset_out_of_range_is_told_at_once(broker: BrokerInMemory) -> None:
    sent = broker.send(fetch({("orders", 0): 1, ("orders", 1): 0}, max_wait_ms=60_000))
    assert fetched(sent.answer)["orders", 0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_an_unknown_topic_waits_with_those_that_are_known_and_not_alone(broker: BrokerInMemory) -> None:
    assert broker.send(fetch({("nobody", 0): 0}, max_wait_ms=60_000)).is_answered
    sent = broker.send(fetch({("nobody", 0): 0, ("orders", 0): 0}, max_wait_ms=500))
    assert not sent.is_answered
    broker.advance(501)
    assert fetched(sent.answer)["nobody", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# Waiting


def test_a_fetch_that_finds_nothing_is_answered_when_its_time_is_up(broker: BrokerInMemory) -> None:
    sent = broker.send(fetch({("orders", 0): 0}, max_wait_ms=500))
    broker.advance(499)
    assert not sent.is_answered
    broker.advance(2)
    assert fetched(sent.answer)["orders", 0].records == ()


def test_a_fetch_for_no_partitions_is_answered_at_once(broker: BrokerInMemory) -> None:
    assert broker.send(fetch({}, max_wait_ms=60_000)).answer.responses == ()


def test_appends_that_became_readable_together_wake_a_fetch_once_and_at_once(broker: BrokerInMemory) -> None:
    waiting = broker.send(fetch({("orders", 1): 0}, max_wait_ms=60_000))
    for value in ("a", "b"):
        written = broker.send(produce("orders", batch_of([value], broker.now_ms()), partition=1))
    assert not waiting.is_answered
    while not written.is_answered:
        broker.turn()
    broker.turn()
    assert values_of(fetched(waiting.answer)["orders", 1]) == ["a", "b"]


def test_an_append_elsewhere_wakes_nobody(broker: BrokerInMemory) -> None:
    waiting = broker.send(fetch({("orders", 1): 0}, max_wait_ms=60_000))
    broker.produce("orders", "a", partition=0)
    assert not waiting.is_answered


def test_a_fetch_waits_until_there_are_as_many_bytes_as_it_asked_for(broker: BrokerInMemory) -> None:
    broker.produce("orders", "x" * 100, partition=0)
    least = 3 * batch_size(broker)
    sent = broker.send(fetch({("orders", 0): 0, ("orders", 1): 0}, min_bytes=least, max_wait_ms=60_000))
    broker.produce("orders", "x" * 100, partition=1)
    assert not sent.is_answered
    broker.produce("orders", "x" * 100, partition=0)
    broker.turn()
    assert [len(each.records) for each in fetched(sent.answer).values()] == [2, 1]


def test_more_bytes_than_a_broker_ever_gives_are_not_waited_for(broker: BrokerInMemory) -> None:
    broker = BrokerInMemory(settings=BrokerSettings(fetch_max_bytes=1024))
    broker.create("orders")
    for _ in range(20):
        broker.produce("orders", "x" * 100)
    assert broker.send(fetch({("orders", 0): 0}, min_bytes=1 << 30, max_wait_ms=60_000)).is_answered


def test_what_came_before_its_time_was_up_is_given_even_if_it_is_little(broker: BrokerInMemory) -> None:
    sent = broker.send(fetch({("orders", 0): 0}, min_bytes=100_000, max_wait_ms=500))
    broker.produce("orders", "a")
    broker.advance(501)
    assert values_of(fetched(sent.answer)["orders", 0]) == ["a"]


def test_a_fetch_in_a_session_waits_for_bytes_and_not_for_other_news(broker: BrokerInMemory) -> None:
    first = broker.ask(fetch({("orders", 0): 0}, session=(0, 0)))
    sent = broker.send(fetch({}, session=(first.session_id, 1), max_wait_ms=60_000))
    assert not sent.is_answered
    broker.produce("orders", "a")
    broker.turn()
    assert values_of(fetched(sent.answer)["orders", 0]) == ["a"]


def test_a_session_is_told_of_a_start_that_moved_though_nothing_is_to_be_read(broker: BrokerInMemory) -> None:
    broker.produce("orders", "a")
    first = broker.ask(fetch({("orders", 0): 1, ("orders", 1): 0}, session=(0, 0)))
    assert fetched(broker.ask(fetch({}, session=(first.session_id, 1)))) == {}
    broker.ask(DeleteRecords((TopicTrims("orders", (PartitionTrim(0, 1),)),), 1000))
    told = fetched(broker.ask(fetch({}, session=(first.session_id, 2))))
    assert {key: each.log_start_offset for key, each in told.items()} == {("orders", 0): 1}


def test_a_session_that_comes_to_believe_in_another_leader_is_told(broker: BrokerInMemory) -> None:
    first = broker.ask(fetch({("orders", 0): 0}, session=(0, 0)))
    believer = (TopicFetch("orders", NO_TOPIC_ID, (PartitionFetch(0, 0, 100, current_leader_epoch=5),)),)
    again = broker.ask(fetch({}, session=(first.session_id, 1))._replace(topics=believer))
    assert fetched(again)["orders", 0].error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


def test_a_forgotten_fetch_is_never_answered_and_leaves_nothing_behind(broker: BrokerInMemory) -> None:
    sent = broker.send(fetch({("orders", 0): 0}, max_wait_ms=500))
    assert sent.pending is not None
    sent.pending.forget()
    broker.produce("orders", "a")
    broker.advance(1000)
    assert not sent.is_answered


def test_a_fetch_is_not_hurried(broker: BrokerInMemory) -> None:
    sent = broker.send(fetch({("orders", 0): 0}, max_wait_ms=500))
    assert sent.pending is not None
    sent.pending.hurry()
    assert not sent.is_answered


# From disk


class ColdStore:
    """Logs whose reads come when the test says so."""

    def __init__(self) -> None:
        self.opened: list[HeldLog] = []

    def log(self, log_id: LogId, config: LogConfig) -> HeldLog:
        self.opened.append(HeldLog(log_id, config))
        return self.opened[-1]


class ColdBench:
    """Two partitions with a batch each, on a disk that takes its time."""

    def __init__(self) -> None:
        self.store = ColdStore()
        partitions = Partitions(self.store)  # type: ignore[arg-type]
        partitions.put(Topic(DEFAULT_ORG, "orders", UUID(int=7), 2, {}), TopicConfig())
        sessions = FetchSessions(0, lambda: 1)
        self.fetches = Fetches(partitions, sessions, max_bytes=1 << 20, loop=JumpingLoop(), now_ms=lambda: 0)
        for index, log in enumerate(self.store.opened):
            partition = partitions.named(DEFAULT_ORG, "orders", index)
            partition.append(batch_of([f"value-{index}"], 0), Durability.FSYNC, 0, lambda outcome: None)
            log.finish()
            log.reads_are_late = True

    def send(self, **bounds: Any) -> Sent:
        sent = Sent()
        command = fetch({("orders", 0): 0, ("orders", 1): 0}, **bounds)
        sent.pending = self.fetches.handle(DEFAULT_ORG, command, sent.answers.append)
        return sent


def test_bytes_from_disk_are_waited_for_one_partition_after_the_other() -> None:
    bench = ColdBench()
    sent = bench.send()
    first, second = bench.store.opened
    first.bring_reads()
    assert not sent.is_answered
    second.bring_reads()
    assert [values_of(each) for each in fetched(sent.answer).values()] == [["value-0"], ["value-1"]]


def test_bytes_from_disk_count_against_the_bounds_of_what_follows() -> None:
    bench = ColdBench()
    sent = bench.send(max_bytes=1)
    for log in bench.store.opened:
        log.bring_reads()
    assert [len(each.records) for each in fetched(sent.answer).values()] == [1, 0]


def test_a_disk_that_fails_is_told_for_its_partition_alone() -> None:
    bench = ColdBench()
    sent = bench.send()
    first, second = bench.store.opened
    first.fail_reads()
    second.bring_reads()
    codes = [each.error_code for each in fetched(sent.answer).values()]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR, 0]


def test_bytes_that_come_for_a_client_that_is_gone_go_nowhere() -> None:
    bench = ColdBench()
    sent = bench.send()
    assert sent.pending is not None
    sent.pending.forget()
    for log in bench.store.opened:
        log.bring_reads()
    assert not sent.is_answered
