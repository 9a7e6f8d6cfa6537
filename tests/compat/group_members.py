"""Which kinds of members there are, and what tests of groups do and look for again and again.

Decides nothing about what is right. Next hop: members/, a client a file.
"""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, Protocol

import pytest

from tests.compat.brokers import BrokerProcess, advertised_apis
from tests.compat.librdkafka import make_producer, produce_all
from tests.compat.members.aiokafka import AiokafkaMember
from tests.compat.members.java import JavaConsumers
from tests.compat.members.kafka_python import KafkaPythonMember
from tests.compat.members.librdkafka import LibrdkafkaMember
from tests.compat.members.member import Member, Wish

WAIT_S = 60.0
CONSUMER_GROUP_HEARTBEAT = 68


class Kind(NamedTuple):
    """A client, and how it takes part in a group: a strategy of the classic protocol, or KIP-848 ("consumer")."""

    client: str
    strategy: str

    def __str__(self) -> str:
        return f"{self.client}-{self.strategy}"


LIBRDKAFKA = [Kind("librdkafka", each) for each in ("range", "roundrobin", "cooperative-sticky", "consumer")]
JAVA = [Kind("java", each) for each in ("range", "cooperative-sticky", "consumer")]
KAFKA_PYTHON = [Kind("kafka-python", each) for each in ("range", "cooperative-sticky")]
AIOKAFKA = [Kind("aiokafka", "roundrobin")]


def each_of(*kinds: Kind) -> pytest.MarkDecorator:
    """Runs a test once for each kind of member."""
    marks = {"java": [pytest.mark.kafka]}
    parameters = [pytest.param(kind, id=str(kind), marks=marks.get(kind.client, [])) for kind in kinds]
    return pytest.mark.parametrize("kind", parameters)


EVERY_KIND = [*LIBRDKAFKA, *JAVA, *KAFKA_PYTHON, *AIOKAFKA]
every_kind = each_of(*EVERY_KIND)
every_client = each_of(LIBRDKAFKA[2], LIBRDKAFKA[3], JAVA[1], JAVA[2], KAFKA_PYTHON[0], AIOKAFKA[0])
"""Each client in each protocol that it has."""


class StartMember(Protocol):
    def __call__(
        self, kind: Kind, broker: BrokerProcess, group: str, topics: Sequence[str] = (), **wish: object
    ) -> Member:
        """A member that consumes from now on; what else may be wished is in members/member.py."""


def member_starter(java: Callable[[], JavaConsumers]) -> Iterator[StartMember]:
    """One starter; afterwards none of its members may have seen an error, and all are closed."""
    started: list[tuple[Kind, Member]] = []

    def start(kind: Kind, broker: BrokerProcess, group: str, topics: Sequence[str] = (), **wish: object) -> Member:
        require_protocol(broker, kind)
        wanted = Wish(broker.bootstrap, group, kind.strategy, tuple(topics), **wish)  # type: ignore[arg-type]
        member = java().start(wanted) if kind.client == "java" else make_python_member(kind, wanted)
        started.append((kind, member))
        return member

    yield start
    errors = [f"{kind}: {error}" for kind, member in started for error in member.errors]
    # All at once: a commit may then be refused because the others' leaving began a rebalance. That is no error.
    with ThreadPoolExecutor(max(len(started), 1)) as closers:
        list(closers.map(lambda each: each[1].close(), started))
    assert not errors, errors


def make_python_member(kind: Kind, wish: Wish) -> Member:
    match kind.client:
        case "librdkafka":
            return LibrdkafkaMember(wish)
        case "kafka-python":
            return KafkaPythonMember(wish)
        case "aiokafka":
            return AiokafkaMember(wish)
    raise ValueError(f"{kind} is no client of Python's")


def require_protocol(broker: BrokerProcess, kind: Kind) -> None:
    """Skips the test on a broker that does not say it has the protocol."""
    if kind.strategy == "consumer" and CONSUMER_GROUP_HEARTBEAT not in advertised_apis(broker):
        pytest.skip("the broker does not advertise ConsumerGroupHeartbeat")


def wait_until(condition: Callable[[], bool], what: str, timeout_s: float = WAIT_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"in {timeout_s:.0f} s it did not happen that {what}"
        time.sleep(0.02)


def wait_until_shared(members: Sequence[Member], partitions: int, timeout_s: float = WAIT_S) -> None:
    """Until every partition of a topic is owned once, and nobody has more than one more than another."""

    def is_shared() -> bool:
        owned = [partition for member in members for partition in member.owned]
        counts = [len(member.owned) for member in members]
        return len(owned) == len(set(owned)) == partitions and max(counts) - min(counts) <= 1

    try:
        wait_until(is_shared, f"{len(members)} members shared {partitions} partitions", timeout_s)
    except AssertionError as failure:
        raise AssertionError("\n".join((f"{failure}:", *map(str, members)))) from None


def wait_until_read(members: Sequence[Member], count: int, timeout_s: float = WAIT_S) -> None:
    def is_read() -> bool:
        return sum(len(member.values) for member in members) >= count

    try:
        wait_until(is_read, f"{count} records were read", timeout_s)
    except AssertionError as failure:
        raise AssertionError("\n".join((f"{failure}:", *map(str, members)))) from None


def all_values(*members: Member) -> list[bytes]:
    return sorted(value for member in members for value in member.values)


def group_name() -> str:
    return f"group-{uuid.uuid4().hex[:12]}"


def numbers(first: int, count: int) -> list[bytes]:
    return [b"%06d" % number for number in range(first, first + count)]


def produce_evenly(broker: BrokerProcess, topic: str, partitions: int, values: list[bytes]) -> None:
    producer = make_producer(broker.bootstrap)
    for partition in range(partitions):
        produce_all(producer, topic, values[partition::partitions], partition=partition)


class RecordStream:
    """Records that keep coming until it is stopped."""

    def __init__(self, broker: BrokerProcess, topic: str, partitions: int) -> None:
        self.values: list[bytes] = []
        self._producer = make_producer(broker.bootstrap)
        self._place = (topic, partitions)
        self._is_stopping = threading.Event()
        self._thread = threading.Thread(target=self._flow)

    def __enter__(self) -> "RecordStream":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopping.set()
        self._thread.join()
        assert self._producer.flush(30) == 0

    def _flow(self) -> None:
        topic, partitions = self._place
        while not self._is_stopping.wait(0.002):
            number = len(self.values)
            self.values.append(b"%06d" % number)
            self._producer.produce(topic, self.values[-1], partition=number % partitions)
            self._producer.poll(0)
