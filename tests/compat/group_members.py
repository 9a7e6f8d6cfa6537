"""A librdkafka consumer in a group, polled by a thread of its own: what it owns, what it read, how often that changed.

Decides nothing about what is right: the tests look at several of them at once.
"""

import threading
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from tests.compat.brokers import BrokerProcess, advertised_apis

WAIT_S = 60.0
CONSUMER_GROUP_HEARTBEAT = 68

PROTOCOLS = {
    "range": {"group.protocol": "classic", "partition.assignment.strategy": "range"},
    "roundrobin": {"group.protocol": "classic", "partition.assignment.strategy": "roundrobin"},
    "cooperative-sticky": {"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky"},
    "consumer": {"group.protocol": "consumer"},
}
"""How a librdkafka consumer takes part in a group: three ways of the classic protocol, and KIP-848's."""


def require_protocol(broker: BrokerProcess, protocol: str) -> None:
    """Skips the test on a broker that does not say it has the protocol."""
    if PROTOCOLS[protocol]["group.protocol"] == "consumer" and CONSUMER_GROUP_HEARTBEAT not in advertised_apis(broker):
        pytest.skip("the broker does not advertise ConsumerGroupHeartbeat")


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = WAIT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"in {timeout_s:.0f} s it did not happen that {what}"
        time.sleep(0.02)


class GroupMember:
    """Consumes until it is closed. What it owned when it was asked to give it up is committed then."""

    def __init__(
        self, bootstrap: str, group: str, topics: list[str], protocol: str = "range", **settings: object
    ) -> None:
        self.values: list[bytes] = []
        self.errors: list[KafkaError] = []
        self.owned: set[tuple[str, int]] = set()
        self.changes = 0
        """How often it was given something or had something taken away."""
        config: dict[str, object] = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.max.ms": 500,
            **PROTOCOLS[protocol],
        }
        self.consumer = Consumer(config | {name.replace("_", "."): value for name, value in settings.items()})
        self.consumer.subscribe(topics, on_assign=self._on_assign, on_revoke=self._on_revoke, on_lost=self._on_lost)
        self._is_closing = False
        self._thread = threading.Thread(target=self._consume)
        self._thread.start()

    def __enter__(self) -> "GroupMember":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Leaves the group."""
        self._is_closing = True
        self._thread.join(WAIT_S)
        assert not self._thread.is_alive(), "the consumer did not close"

    @property
    def member_id(self) -> str:
        return str(self.consumer.memberid())

    def _consume(self) -> None:
        while not self._is_closing:
            message = self.consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self.values.append(message.value() or b"")
            else:
                self.errors.append(error)
        self.consumer.close()

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.changes += 1
        self.owned |= {(each.topic, each.partition) for each in partitions}

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as failure:
            if failure.args[0].code() != KafkaError._NO_OFFSET:
                self.errors.append(failure.args[0])
        self._on_lost(consumer, partitions)

    def _on_lost(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.changes += 1
        self.owned -= {(each.topic, each.partition) for each in partitions}


def share_evenly(members: list[GroupMember], partitions: int) -> bool:
    """Whether every partition of a topic is owned once, and nobody has more than one more than another."""
    owned = [partition for member in members for partition in member.owned]
    counts = [len(member.owned) for member in members]
    return len(owned) == len(set(owned)) == partitions and max(counts) - min(counts) <= 1
