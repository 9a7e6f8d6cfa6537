"""Producing to several partitions at once, and as durably as was asked for."""

from uuid import uuid4

import pytest

from kohort.broker.partitions import Partitions
from kohort.broker.produce import Produces
from kohort.model.commands.data import PartitionProduce, Produce, TopicProduce
from kohort.model.errors import ErrorCode
from kohort.model.ids import DEFAULT_ORG, NO_TOPIC_ID
from kohort.model.topics import Topic, TopicConfig
from kohort.store.log import AppendDone, Durability, LogConfig, LogId
from tests.broker.broker_in_memory import BrokerInMemory, Sent, batch_of, produce, produced
from tests.broker.held_log import HeldLog

NOW_MS = 1_000_000


class Store:
    """Logs that remember how durable their appends were to be."""

    def __init__(self) -> None:
        self.opened: list[HeldLog] = []
        self.asked: list[Durability] = []

    def log(self, log_id: LogId, config: LogConfig) -> HeldLog:
        store = self

        class RememberingLog(HeldLog):
            def append(self, batches: object, durability: Durability, done: AppendDone) -> None:
                store.asked.append(durability)
                super().append(batches, durability, done)  # type: ignore[arg-type]

        self.opened.append(RememberingLog(log_id, config))
        return self.opened[-1]


class Bench:
    """A topic of two partitions on logs that are held."""

    def __init__(self, durability: Durability = Durability.FSYNC) -> None:
        self.store = Store()
        partitions = Partitions(self.store)  # type: ignore[arg-type]
        partitions.put(Topic(DEFAULT_ORG, "orders", uuid4(), 2, {}), TopicConfig())
        self._produces = Produces(partitions, durability=durability, now_ms=lambda: NOW_MS)

    def send(self, command: Produce) -> Sent:
        sent = Sent()
        sent.pending = self._produces.handle(DEFAULT_ORG, command, sent.answers.append)
        return sent


def batch() -> bytes:
    return bytes(batch_of(["a"], NOW_MS))


@pytest.mark.parametrize("acks", [0, 1])
def test_who_does_not_ask_for_all_replicas_does_not_wait_for_the_disk(acks: int) -> None:
    bench = Bench()
    bench.send(produce("orders", batch(), acks=acks))
    assert bench.store.asked == [Durability.OS]


@pytest.mark.parametrize("durability", Durability)
def test_who_asks_for_all_replicas_waits_for_what_the_broker_is_set_to(durability: Durability) -> None:
    bench = Bench(durability)
    bench.send(produce("orders", batch(), acks=-1))
    assert bench.store.asked == [durability]


def test_acks_there_are_not_are_refused_and_nothing_is_written() -> None:
    bench = Bench()
    assert produced(bench.send(produce("orders", batch(), acks=2)).answer).error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert bench.store.asked == []


def test_one_answer_comes_when_the_last_partition_has_its_outcome_in_the_order_of_the_request() -> None:
    bench = Bench()
    first, second = bench.store.opened
    sent = bench.send(Produce(_of(1, 7, 0), -1, 1000))
    assert sent.pending is not None
    first.finish()
    assert not sent.is_answered
    second.finish()
    (topic,) = sent.answer.responses
    outcomes = [(each.index, each.error_code) for each in topic.partition_responses]
    assert outcomes == [(1, 0), (7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), (0, 0)]


def test_what_is_refused_is_answered_at_once_and_nothing_stays_pending() -> None:
    bench = Bench()
    for command in (produce("orders", None), produce("orders", None, None), Produce((), -1, 1000)):
        sent = bench.send(command)
        assert sent.is_answered
        assert sent.pending is None


def test_what_is_under_way_cannot_be_taken_back() -> None:
    bench = Bench()
    sent = bench.send(produce("orders", batch()))
    assert sent.pending is not None
    sent.pending.hurry()
    sent.pending.forget()
    bench.store.opened[0].finish()
    assert produced(sent.answer).base_offset == 0


def test_topics_are_produced_to_by_id() -> None:
    broker = BrokerInMemory()
    topic_id = broker.create("orders")
    records = batch_of(["a"], broker.now_ms())
    by_id = Produce((TopicProduce("", topic_id, (PartitionProduce(0, records),)),), -1, 1000)
    assert produced(broker.ask(by_id)).error_code == 0
    unknown = Produce((TopicProduce("", uuid4(), (PartitionProduce(0, records),)),), -1, 1000)
    assert produced(broker.ask(unknown)).error_code == ErrorCode.UNKNOWN_TOPIC_ID


def _of(*partitions: int) -> tuple[TopicProduce, ...]:
    return (TopicProduce("orders", NO_TOPIC_ID, tuple(PartitionProduce(index, batch()) for index in partitions)),)
