"""Ten times kill -9 under idempotent producers: at the end every acknowledged record is there, in order, once.

The producers never hear of a failure: what a kill interrupts they send again, and the broker must know what it has.
"""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, Message, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests import kafka_peer
from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import StartBroker
from tests.compat.librdkafka import make_consumer, make_producer, produce_all, read_partition, read_to_end

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

KILLS = 10
ACKNOWLEDGED_BETWEEN_KILLS = 1000
NUMBERS = (KILLS + 2) * ACKNOWLEDGED_BETWEEN_KILLS
PARTITIONS = 3


class LibrdkafkaLoad:
    """Numbers produced to a topic's partitions in turn, from a thread of its own, few ahead of what is acknowledged."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.acknowledged: list[tuple[int, int, int]] = []  # partition, offset, number
        self.errors: list[KafkaError] = []
        self._producer = make_producer(
            bootstrap,
            enable_idempotence=True,
            message_timeout_ms=0,
            reconnect_backoff_max_ms=200,
            batch_num_messages=50,
            queue_buffering_max_messages=500,
            compression_type="lz4",
        )
        self._topic = topic
        self._thread = threading.Thread(target=self._produce)

    def __enter__(self) -> "LibrdkafkaLoad":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.join(120)
        assert not self._thread.is_alive(), "not everything was acknowledged within two minutes of the last kill"

    def _produce(self) -> None:
        for number in range(NUMBERS):
            while len(self._producer) >= 400:
                self._producer.poll(0.1)
            self._producer.produce(
                self._topic, b"%d" % number, partition=number % PARTITIONS, on_delivery=self._on_delivery
            )
        self._producer.flush(100)

    def _on_delivery(self, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self.errors.append(error)
        else:
            self.acknowledged.append((message.partition(), message.offset(), int(message.value())))


def test_librdkafka_loses_and_repeats_nothing(start_broker: StartBroker) -> None:
    broker = start_broker()
    _create_topic(broker, "numbers", PARTITIONS)

    with LibrdkafkaLoad(broker.bootstrap, "numbers") as load:
        _kill_again_and_again(broker, acknowledged=lambda: len(load.acknowledged))

    assert load.errors == []
    assert len(load.acknowledged) == NUMBERS
    partitions = [TopicPartition("numbers", each, 0) for each in range(PARTITIONS)]
    messages = read_to_end(make_consumer(broker.bootstrap), partitions)
    for partition in range(PARTITIONS):
        numbers = [int(each.value()) for each in messages if each.partition() == partition]
        assert numbers == list(range(partition, NUMBERS, PARTITIONS))
    found = {(each.partition(), each.offset()): int(each.value()) for each in messages}
    assert found == {(partition, offset): number for partition, offset, number in load.acknowledged}


@pytest.mark.kafka
def test_the_java_producer_loses_and_repeats_nothing(start_broker: StartBroker, tmp_path: Path) -> None:
    broker = start_broker()
    _create_topic(broker, "numbers", 1)

    with _VerifiableProducer(broker.bootstrap, "numbers", tmp_path) as load:
        _kill_again_and_again(broker, acknowledged=lambda: len(load.acknowledged))

    assert load.failed == []
    assert sorted(load.acknowledged) == [(number, number) for number in range(NUMBERS)]
    messages = read_partition(broker.bootstrap, "numbers")
    assert [int(each.value()) for each in messages] == list(range(NUMBERS))


def test_topics_configs_and_the_clusters_identity_outlive_a_kill(start_broker: StartBroker) -> None:
    broker = start_broker()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    before = admin.describe_cluster().result(10).cluster_id
    names = [f"kept-{number}" for number in range(20)]
    for future in admin.create_topics([NewTopic(name, 2, config={"retention.ms": "-1"}) for name in names]).values():
        future.result(30)
    for future in admin.delete_topics(names[:5]).values():
        future.result(30)

    broker.kill()
    broker.start()

    after = AdminClient({"bootstrap.servers": broker.bootstrap})
    assert after.describe_cluster().result(30).cluster_id == before
    topics = {name: len(each.partitions) for name, each in after.list_topics(timeout=10).topics.items()}
    assert topics == dict.fromkeys(names[5:], 2)


def test_what_was_acknowledged_right_before_a_kill_is_there(start_broker: StartBroker) -> None:
    broker = start_broker()
    _create_topic(broker, "records", 1)
    expected = []
    for round_number in range(5):
        values = [b"%d-%d" % (round_number, number) for number in range(50)]
        produce_all(make_producer(broker.bootstrap, acks="all"), "records", values)
        broker.kill()
        broker.start()
        expected += values

    assert [each.value() for each in read_partition(broker.bootstrap, "records")] == expected


class _VerifiableProducer:
    """Kafka's VerifiableProducer as an idempotent producer that never gives up, and what it says of each record."""

    def __init__(self, bootstrap: str, topic: str, directory: Path) -> None:
        config_file = directory / "producer.properties"
        config_file.write_text(
            "enable.idempotence=true\nretries=2147483647\ndelivery.timeout.ms=2147483647\nmax.block.ms=600000\n"
            "reconnect.backoff.max.ms=200\nlinger.ms=5\nbatch.size=2048\nbuffer.memory=32768\n"
        )
        self._command = [*kafka_peer.java_command(), "org.apache.kafka.tools.VerifiableProducer"]
        self._command += ["--bootstrap-server", bootstrap, "--topic", topic, "--max-messages", str(NUMBERS)]
        self._command += ["--command-config", str(config_file)]
        self.acknowledged: list[tuple[int, int]] = []  # offset, number
        self.failed: list[object] = []

    def __enter__(self) -> "_VerifiableProducer":
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self._reader = threading.Thread(target=self._read)
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._process.wait(120)
        finally:
            self._process.kill()
            self._reader.join()

    def _read(self) -> None:
        for event in self._events():
            if event["name"] == "producer_send_success":
                self.acknowledged.append((int(str(event["offset"])), int(str(event["value"]))))
            elif event["name"] == "producer_send_error":
                self.failed.append(event)

    def _events(self) -> Iterator[dict[str, object]]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            yield json.loads(line)


def _create_topic(broker: BrokerProcess, name: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result(30)


def _kill_again_and_again(broker: BrokerProcess, acknowledged: Callable[[], int]) -> None:
    """Kills the broker ten times, each time in the middle of records that are being acknowledged."""
    for kill in range(KILLS):
        goal = (kill + 1) * ACKNOWLEDGED_BETWEEN_KILLS
        deadline = time.monotonic() + 120
        while acknowledged() < goal:
            assert time.monotonic() < deadline, f"no progress: {acknowledged()} acknowledged of {goal}"
            time.sleep(0.001)
        assert acknowledged() < NUMBERS, "the load was over before the last kill"
        broker.kill()
        broker.start()
