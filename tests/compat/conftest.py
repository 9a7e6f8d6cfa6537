"""The broker under test for real clients: kohort, or Apache Kafka itself with KOHORT_COMPAT_TARGET=kafka.

A test here states what Kafka does, proven against Kafka first; what fails on kohort is then kohort's fault.
Most tests share one broker and keep to topics of their own; those that kill or configure it start one for themselves.
"""

import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests import kafka_peer
from tests.compat.brokers import BrokerProcess, advertised_apis, kafka_broker, kohort_broker
from tests.compat.group_members import StartMember, member_starter, wait_until
from tests.compat.group_wire import GroupConnection
from tests.compat.kafka_tools import KafkaTools
from tests.compat.members.java import JavaConsumers

GROUP_APIS = {8: "OffsetCommit", 9: "OffsetFetch", 11: "JoinGroup", 12: "Heartbeat", 14: "SyncGroup"}
TARGETS = {"kohort": kohort_broker, "kafka": kafka_broker}

IMPATIENCE = {
    "kohort": {},
    "kafka": {
        # As kohort's. Without any delay, kafka-python 3.0.12 now and then misses the answer to its first join.
        "group.initial.rebalance.delay.ms": "300",
        "group.consumer.assignment.interval.ms": "0",
        "group.consumer.min.heartbeat.interval.ms": "500",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.consumer.min.session.timeout.ms": "6000",
        "group.consumer.session.timeout.ms": "6000",
    },
}
"""What makes the shared broker wait less, so that proving a test of groups against Kafka does not take an hour."""


class MakeTopic(Protocol):
    def __call__(self, partitions: int = 1, **configs: str) -> str:
        """A new topic's name; the config names have "_" where Kafka has "."."""


StartBroker = Callable[..., BrokerProcess]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.compat)


@pytest.fixture(scope="session")
def target() -> str:
    name = os.environ.get("KOHORT_COMPAT_TARGET", "kohort")
    assert name in TARGETS, f"KOHORT_COMPAT_TARGET is {name!r}; it may be one of {sorted(TARGETS)}"
    if name == "kafka" and not kafka_peer.SCRIPT.exists():
        pytest.skip(kafka_peer.ABSENT)
    return name


@pytest.fixture(scope="session")
def shared_broker(target: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    directory = tmp_path_factory.mktemp("shared-broker")
    broker = TARGETS[target](directory, IMPATIENCE[target])
    broker.start()
    yield broker
    broker.discard()
    shutil.rmtree(directory / "data", ignore_errors=True)


@pytest.fixture
def broker(shared_broker: BrokerProcess) -> Iterator[BrokerProcess]:
    """The shared broker; the test also fails when it made the broker stumble, whatever the client was told."""
    log_before = len(shared_broker.log_text())
    yield shared_broker
    log_of_test = shared_broker.log_text()[log_before:]
    assert shared_broker.is_running, f"the broker ended:\n{log_of_test[-4000:]}"
    assert "Traceback" not in log_of_test, f"an error that the broker did not expect:\n{log_of_test[-4000:]}"


@pytest.fixture(scope="session")
def consumer_groups(shared_broker: BrokerProcess) -> None:
    """Skips the test on a broker that does not say it has consumer groups; waits until it does serve them."""
    missing = [name for key, name in GROUP_APIS.items() if key not in advertised_apis(shared_broker)]
    if missing:
        pytest.skip(f"the broker does not advertise {', '.join(missing)}")
    with GroupConnection(shared_broker) as connection:
        wait_until(connection.has_coordinator, "there was a coordinator of groups")


@pytest.fixture
def start_broker(target: str, tmp_path: Path) -> Iterator[StartBroker]:
    """Starts a broker for this test alone, in `directory` if one is given: start_broker({"num.partitions": "3"})."""
    started: list[BrokerProcess] = []

    def start(settings: dict[str, str] | None = None, directory: Path = tmp_path) -> BrokerProcess:
        broker = TARGETS[target](directory, settings or {})
        started.append(broker)
        broker.start()
        return broker

    yield start
    for broker in started:
        broker.discard()
    shutil.rmtree(tmp_path / "data", ignore_errors=True)


@pytest.fixture(scope="session")
def java_consumers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaConsumers]:
    """The JVM that hosts the Java members of all tests."""
    consumers = JavaConsumers(tmp_path_factory.mktemp("java-consumers") / "consumers.log")
    yield consumers
    consumers.kill()


@pytest.fixture
def start_member(request: pytest.FixtureRequest) -> Iterator[StartMember]:
    """Starts members of groups: start_member(kind, broker, group, [topic]). They are closed when the test ends."""
    yield from member_starter(lambda: request.getfixturevalue("java_consumers"))


@pytest.fixture
def admin(broker: BrokerProcess) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def make_topic(admin: AdminClient) -> MakeTopic:
    def make(partitions: int = 1, **configs: str) -> str:
        name = f"topic-{uuid.uuid4().hex[:12]}"
        kafka_configs = {key.replace("_", "."): value for key, value in configs.items()}
        futures = admin.create_topics([NewTopic(name, partitions, 1, config=kafka_configs)])
        futures[name].result(30)
        return name

    return make


@pytest.fixture
def topic(make_topic: MakeTopic) -> str:
    """A new topic of one partition, which keeps even the records that tests date back to 1970."""
    return make_topic(retention_ms="-1")


@pytest.fixture
def kafka_tools(broker: BrokerProcess, tmp_path: Path) -> KafkaTools:
    return KafkaTools(broker.bootstrap, tmp_path)
