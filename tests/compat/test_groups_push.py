"""What members notice of held heartbeats: that they hear of news at once, and nothing else. kohort's alone.

Each waits long enough beforehand that a heartbeat of every member is being held.
"""

import logging
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic, StartBroker
from tests.compat.group_members import (
    EVERY_KIND,
    JAVA,
    LIBRDKAFKA,
    StartMember,
    group_name,
    numbers,
    produce_evenly,
    require_protocol,
    wait_until,
    wait_until_shared,
)
from tests.compat.group_wire import JOIN_EPOCH, LEAVE_EPOCH, GroupConnection
from tests.compat.members.doomed import DoomedMembers
from tests.compat.members.java import JavaConsumers
from tests.compat.members.librdkafka import LibrdkafkaMember
from tests.compat.members.member import Wish

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("consumer_groups")]

CONSUMER = LIBRDKAFKA[3]
PUSH = "group.push.enable"
UNTIL_HELD_S = 3.2
"""A member of the classic protocol sends its next heartbeat up to 3 s after a rebalance."""


@pytest.fixture(autouse=True)
def _only_kohort(target: str, broker: BrokerProcess) -> None:
    if target == "kafka":
        pytest.skip("Kafka answers a heartbeat at once, and its members wait for the next")
    require_protocol(broker, CONSUMER)


@pytest.mark.slow
def test_a_member_hears_of_a_joiner_at_once(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember
) -> None:
    topic, group = make_topic(2), group_name()
    member = start_member(CONSUMER, broker, group, [topic])
    wait_until_shared([member], 2)
    waits_ms = []
    with GroupConnection(broker) as joiner:
        for trial in range(5):
            time.sleep(1 + trial * 0.2)  # at every moment between two heartbeats
            joiner_id, begun = str(uuid4()), time.monotonic()
            wish = {"rebalance_timeout_ms": 10_000, "topics": [topic], "owned": []}
            joined = joiner.consumer_heartbeat(group, joiner_id, JOIN_EPOCH, **wish)
            assert joined.error_code == 0
            wait_until(lambda: len(member.owned) == 1, "the member gave a partition up")
            waits_ms.append((time.monotonic() - begun) * 1000)
            joiner.consumer_heartbeat(group, joiner_id, LEAVE_EPOCH)
            wait_until(lambda: len(member.owned) == 2, "the member had it again")
    assert median(waits_ms) < 300, waits_ms
    assert max(waits_ms) < 1200, waits_ms


def test_every_client_closes_quickly_though_its_heartbeat_is_held(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember
) -> None:
    topic = make_topic(1)
    members = {
        (str(kind), instance_id): start_member(kind, broker, group_name(), [topic], instance_id=instance_id)
        for kind in EVERY_KIND
        for instance_id in (None, "i")
    }
    for member in members.values():
        wait_until_shared([member], 1)
    time.sleep(UNTIL_HELD_S)
    for member in members.values():
        member.close()
    took_s = {name: member.closing_took_s or 0 for name, member in members.items()}
    assert {name: took for name, took in took_s.items() if took > 1} == {}


@pytest.mark.slow
def test_idle_members_neither_time_out_nor_spin(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, java_consumers: JavaConsumers
) -> None:
    topic, logger, lines = make_topic(1), logging.getLogger("librdkafka"), _Lines()
    logger.addHandler(lines)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    wishes = [Wish(broker.bootstrap, group_name(), kind.strategy, (topic,)) for kind in LIBRDKAFKA]
    watched = [LibrdkafkaMember(wish, debug="cgrp,broker", logger=logger) for wish in wishes]
    try:
        others = [start_member(kind, broker, group_name(), [topic]) for kind in JAVA]
        for member in (*watched, *others):
            wait_until_shared([member], 1)
        time.sleep(UNTIL_HELD_S)
        changes = [member.changes for member in (*watched, *others)]
        lines.texts.clear()
        cpu_before_s, begun = java_consumers.cpu_s, time.monotonic()

        time.sleep(30)

        cpu_share = (java_consumers.cpu_s - cpu_before_s) / (time.monotonic() - begun)
        assert [member.changes for member in (*watched, *others)] == changes
    finally:
        for watched_member in watched:
            watched_member.close()
        logger.removeHandler(lines)
    heartbeats = [text for text in lines.texts if "Heartbeat" in text]
    assert len(heartbeats) > 30, "the log tells of the heartbeats"
    assert [text for text in lines.texts if "REQTMOUT" in text or "timed out" in text.lower()] == []
    assert [text for text in lines.texts if "Disconnected" in text] == []
    assert cpu_share < 0.15, f"{len(others)} idle Java consumers took {cpu_share:.0%} of a processor"


class _Lines(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


def test_commits_take_no_longer_behind_a_held_heartbeat(start_broker: StartBroker, tmp_path: Path) -> None:
    def median_ms(name: str, push: str) -> float:
        (tmp_path / name).mkdir()
        return _median_commit_ms(start_broker({PUSH: push}, tmp_path / name).bootstrap)

    held_ms, answered_ms = median_ms("held", "true"), median_ms("answered", "false")
    assert held_ms < 2 * answered_ms + 1, f"{held_ms:.1f} ms where heartbeats are held, {answered_ms:.1f} ms where not"


def _median_commit_ms(bootstrap: str) -> float:
    """Of a member that commits 40 times in a second."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic("t", 1, 1)])["t"].result(30)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "group.protocol": "consumer"})
    took_ms = []
    try:
        consumer.subscribe(["t"])
        while not consumer.assignment():
            consumer.poll(0.05)
        for _ in range(80):
            consumer.poll(0.025)
            begun = time.monotonic()
            consumer.commit(offsets=[TopicPartition("t", 0, 1)], asynchronous=False)
            took_ms.append((time.monotonic() - begun) * 1000)
    finally:
        consumer.close()
    return median(took_ms)


@pytest.fixture
def doomed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoomedMembers]:
    members = DoomedMembers(tmp_path_factory.mktemp("doomed"))
    yield members
    members.kill()


def test_what_killed_members_had_is_given_away_within_seconds(
    broker: BrokerProcess, make_topic: MakeTopic, start_member: StartMember, doomed: DoomedMembers
) -> None:
    topic = make_topic(1)
    produce_evenly(broker, topic, 1, numbers(0, 1))
    groups = {kind: group_name() for kind in (CONSUMER, JAVA[2])}
    static_group = group_name()
    for kind, group in groups.items():
        doomed.start(kind, Wish(broker.bootstrap, group, "consumer", (topic,)), count=1)
    static = Wish(broker.bootstrap, static_group, "consumer", (topic,), instance_id="i")
    doomed.start(JAVA[2], static, count=1)
    doomed.wait_until_committed()
    heirs = [start_member(kind, broker, group, [topic]) for kind, group in groups.items()]
    waiting = start_member(CONSUMER, broker, static_group, [topic])
    time.sleep(1)
    assert [member.owned for member in (*heirs, waiting)] == [set(), set(), set()]
    doomed.kill()
    for heir in heirs:
        wait_until_shared([heir], 1, timeout_s=5)
    time.sleep(3)
    assert waiting.owned == set(), "a static member may come back until its session ends"
