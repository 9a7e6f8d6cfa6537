"""Consumer groups through librdkafka, in the classic protocol and in KIP-848: who owns what, and who goes on where."""

import signal
import subprocess
import sys
import textwrap
import uuid

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic, StartBroker
from tests.compat.group_members import PROTOCOLS, GroupMember, require_protocol, share_evenly, wait_until
from tests.compat.librdkafka import make_producer, produce_all

pytestmark = pytest.mark.usefixtures("consumer_groups")

every_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)
each_kind = pytest.mark.parametrize("protocol", ["cooperative-sticky", "consumer"])


def group_name() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


def numbers(first: int, count: int) -> list[bytes]:
    return [b"%d" % number for number in range(first, first + count)]


def produce_evenly(bootstrap: str, topic: str, partitions: int, values: list[bytes]) -> None:
    producer = make_producer(bootstrap)
    for partition in range(partitions):
        produce_all(producer, topic, values[partition::partitions], partition=partition)


@every_protocol
def test_a_lone_member_is_given_everything_and_reads_it(
    broker: BrokerProcess, make_topic: MakeTopic, protocol: str
) -> None:
    require_protocol(broker, protocol)
    topic, values = make_topic(3), numbers(0, 60)
    produce_evenly(broker.bootstrap, topic, 3, values)
    with GroupMember(broker.bootstrap, group_name(), [topic], protocol) as member:
        wait_until(lambda: len(member.values) >= len(values), "the member read everything")
        assert member.owned == {(topic, 0), (topic, 1), (topic, 2)}
    assert sorted(member.values) == sorted(values)
    assert member.errors == []


@every_protocol
def test_members_come_and_go_while_all_is_read_once(
    broker: BrokerProcess, make_topic: MakeTopic, protocol: str
) -> None:
    require_protocol(broker, protocol)
    topic, group = make_topic(6), group_name()
    values = numbers(0, 600)
    produce_evenly(broker.bootstrap, topic, 6, values[:200])
    first = GroupMember(broker.bootstrap, group, [topic], protocol)
    members = [first]
    try:
        wait_until(lambda: len(first.values) == 200, "the first member read what there was")
        members += [GroupMember(broker.bootstrap, group, [topic], protocol) for _ in range(2)]
        wait_until(lambda: share_evenly(members, 6), "three members had two partitions each")
        produce_evenly(broker.bootstrap, topic, 6, values[200:400])
        wait_until(lambda: sum(len(each.values) for each in members) >= 400, "the three read what came then")
        first.close()
        wait_until(lambda: share_evenly(members[1:], 6), "those who stayed had all of it")
        produce_evenly(broker.bootstrap, topic, 6, values[400:])
        wait_until(lambda: sum(len(each.values) for each in members) >= 600, "the two read the rest")
    finally:
        for each in members:
            each.close()
    assert sorted(value for each in members for value in each.values) == sorted(values)


@each_kind
def test_a_group_goes_on_where_it_left_off(broker: BrokerProcess, make_topic: MakeTopic, protocol: str) -> None:
    require_protocol(broker, protocol)
    topic, group = make_topic(2), group_name()
    produce_evenly(broker.bootstrap, topic, 2, numbers(0, 40))
    with GroupMember(broker.bootstrap, group, [topic], protocol) as before:
        wait_until(lambda: len(before.values) == 40, "the first read what there was")
    produce_evenly(broker.bootstrap, topic, 2, numbers(40, 40))
    with GroupMember(broker.bootstrap, group, [topic], protocol) as after:
        wait_until(lambda: len(after.values) >= 40, "the second read the rest")
    assert sorted(after.values) == sorted(numbers(40, 40))


@each_kind
def test_groups_do_not_meet(broker: BrokerProcess, make_topic: MakeTopic, protocol: str) -> None:
    require_protocol(broker, protocol)
    topic = make_topic(2)
    produce_evenly(broker.bootstrap, topic, 2, numbers(0, 20))
    with (
        GroupMember(broker.bootstrap, group_name(), [topic], protocol) as one,
        GroupMember(broker.bootstrap, group_name(), [topic], "range") as other,
    ):
        wait_until(lambda: len(one.values) == len(other.values) == 20, "both groups read everything")
        assert one.owned == other.owned


def test_offsets_are_committed_and_told_with_epoch_and_metadata(broker: BrokerProcess, topic: str) -> None:
    group = group_name()
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    try:
        assert [each.offset for each in consumer.committed([TopicPartition(topic, 0)], timeout=30)] == [-1001]
        consumer.commit(
            offsets=[TopicPartition(topic, 0, 7, metadata="where I was", leader_epoch=0)], asynchronous=False
        )
        (told,) = consumer.committed([TopicPartition(topic, 0)], timeout=30)
        assert (told.offset, told.metadata, told.leader_epoch) == (7, "where I was", 0)
    finally:
        consumer.close()


def test_a_commit_to_a_partition_that_is_not_there_is_refused(broker: BrokerProcess, topic: str) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group_name()})
    try:
        with pytest.raises(KafkaException, match="UNKNOWN_TOPIC_OR_PART"):
            consumer.commit(offsets=[TopicPartition(topic, 9, 7)], asynchronous=False)
    finally:
        consumer.close()


@each_kind
def test_a_new_partition_is_given_to_somebody(broker: BrokerProcess, make_topic: MakeTopic, protocol: str) -> None:
    require_protocol(broker, protocol)
    topic = make_topic(1)
    settings = {"topic.metadata.refresh.interval.ms": 500}
    with GroupMember(broker.bootstrap, group_name(), [topic], protocol, **settings) as member:
        wait_until(lambda: member.owned == {(topic, 0)}, "the member had the one partition")
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.create_partitions([NewPartitions(topic, 3)])[topic].result(30)
        wait_until(lambda: len(member.owned) == 3, "it had all three")


@each_kind
def test_a_pattern_finds_topics_that_are_made_later(
    broker: BrokerProcess, make_topic: MakeTopic, protocol: str
) -> None:
    require_protocol(broker, protocol)
    prefix = f"pattern-{uuid.uuid4().hex[:8]}"
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(f"{prefix}-a", 1, 1)])[f"{prefix}-a"].result(30)
    settings = {"topic.metadata.refresh.interval.ms": 500}
    with GroupMember(broker.bootstrap, group_name(), [f"^{prefix}-.*"], protocol, **settings) as member:
        wait_until(lambda: member.owned == {(f"{prefix}-a", 0)}, "the member had the topic that was there")
        admin.create_topics([NewTopic(f"{prefix}-b", 1, 1)])[f"{prefix}-b"].result(30)
        wait_until(lambda: len(member.owned) == 2, "it had the new one too")


@each_kind
def test_a_static_member_that_comes_back_has_what_it_had_and_disturbs_nobody(
    broker: BrokerProcess, make_topic: MakeTopic, protocol: str
) -> None:
    require_protocol(broker, protocol)
    topic, group = make_topic(4), group_name()
    with GroupMember(broker.bootstrap, group, [topic], protocol, group_instance_id="stays") as stays:
        returning = GroupMember(broker.bootstrap, group, [topic], protocol, group_instance_id="returns")
        wait_until(lambda: share_evenly([stays, returning], 4), "both had two partitions")
        owned, changes = set(returning.owned), stays.changes
        returning.close()
        with GroupMember(broker.bootstrap, group, [topic], protocol, group_instance_id="returns") as again:
            wait_until(lambda: again.owned == owned, "it had the same partitions again")
            assert stays.changes == changes


CONSUME_UNTIL_KILLED = """
    import sys
    from confluent_kafka import Consumer

    bootstrap, group, topic, *settings = sys.argv[1:]
    config = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer(config | dict(setting.split("=") for setting in settings))
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(1)
        if message is not None and message.error() is None:
            consumer.commit(message, asynchronous=False)
            print("committed", flush=True)
"""


def test_what_a_killed_member_had_is_given_to_another(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic, group = make_topic(1), group_name()
    produce_evenly(broker.bootstrap, topic, 1, numbers(0, 5))
    settings = ["session.timeout.ms=6000", "heartbeat.interval.ms=500"]
    command = [sys.executable, "-c", textwrap.dedent(CONSUME_UNTIL_KILLED), broker.bootstrap, group, topic, *settings]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as victim:
        assert victim.stdout is not None
        for _ in range(5):
            assert victim.stdout.readline() == b"committed\n"
        victim.send_signal(signal.SIGKILL)
    with GroupMember(broker.bootstrap, group, [topic], session_timeout_ms=6000) as heir:
        wait_until(lambda: heir.owned == {(topic, 0)}, "the partition of the dead member was given away")
        produce_evenly(broker.bootstrap, topic, 1, numbers(5, 5))
        wait_until(lambda: len(heir.values) >= 5, "the other read on")
        assert heir.values == numbers(5, 5)


@each_kind
def test_nobody_rebalances_because_the_broker_was_killed(start_broker: StartBroker, protocol: str) -> None:
    broker = start_broker()
    require_protocol(broker, protocol)
    AdminClient({"bootstrap.servers": broker.bootstrap}).create_topics([NewTopic("t", 4, 1)])["t"].result(30)
    produce_evenly(broker.bootstrap, "t", 4, numbers(0, 40))
    with (
        GroupMember(broker.bootstrap, "group", ["t"], protocol) as one,
        GroupMember(broker.bootstrap, "group", ["t"], protocol) as other,
    ):
        members = [one, other]
        wait_until(lambda: share_evenly(members, 4), "both had two partitions")
        wait_until(lambda: sum(len(each.values) for each in members) == 40, "they read what there was")
        before = [(set(each.owned), each.changes, each.member_id) for each in members]
        broker.kill()
        broker.start()
        produce_evenly(broker.bootstrap, "t", 4, numbers(40, 40))
        wait_until(lambda: sum(len(each.values) for each in members) >= 80, "they read on after the restart")
        assert [(set(each.owned), each.changes, each.member_id) for each in members] == before
        assert sorted(one.values + other.values) == sorted(numbers(0, 80))
