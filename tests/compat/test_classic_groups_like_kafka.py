"""Random conversations of classic members with kohort and with Kafka: the same requests get the same answers.

What is known to differ (docs/kafka-differences.md) is not asked. A conversation ends where Kafka elects a leader of its
own choice, as its members have no order.
"""

import select
import shutil
import time
from collections.abc import Iterator
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from kohort.model.errors import ErrorCode
from tests import kafka_peer
from tests.compat import group_wire
from tests.compat.brokers import BrokerProcess, kafka_broker, kohort_broker
from tests.compat.group_wire import (
    FIND_COORDINATOR,
    HEARTBEAT,
    JOIN_GROUP,
    LEAVE_GROUP,
    SYNC_GROUP,
    GroupConnection,
    Protocols,
    subscription,
)

CONVERSATIONS = 10
STEPS = 25
MEMBERS = 4
STATIC_MEMBERS = (2, 3)
QUIET_S = 0.08
"""What is not answered after that waits for somebody else."""
PATIENCE_S = 5.0

RANGE, RANGE_OF_OTHER_TOPICS = ("range", subscription("orders")), ("range", subscription("bills"))
ROUND_ROBIN = ("roundrobin", subscription("orders"))


class Step(NamedTuple):
    """One request of one member."""

    api_key: int
    version: int
    member: int
    protocols: Protocols = (RANGE,)
    is_another: bool = False
    """It comes as if it had never been here."""
    generation: int = 0
    """Counted from that of the member."""
    protocol_name: str | None = "range"
    names_instance_only: bool = False


def random_step(random: Random) -> Step:
    member = random.randrange(MEMBERS)
    generation = random.choice((0, 0, 0, 0, 0, 0, -1, 1))
    match random.choices((JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP), (45, 28, 17, 10))[0]:
        case group_wire.JOIN_GROUP:
            odd: Protocols = random.choice(((RANGE, ROUND_ROBIN), (RANGE_OF_OTHER_TOPICS,), (ROUND_ROBIN,)))
            protocols = odd if random.random() < 0.15 else (RANGE,)
            version = random.choice((5, 8, 9) if member in STATIC_MEMBERS else (3, 5, 8, 9))
            return Step(JOIN_GROUP, version, member, protocols, is_another=random.random() < 0.1)
        case group_wire.SYNC_GROUP:
            name = random.choice(("range",) * 6 + ("roundrobin", None))
            return Step(SYNC_GROUP, 5, member, generation=generation, protocol_name=name)
        case group_wire.HEARTBEAT:
            return Step(HEARTBEAT, 4, member, generation=generation)
        case _:
            return Step(LEAVE_GROUP, 5, member, names_instance_only=random.random() < 0.3)


class Known:
    """What a member was last told of itself."""

    def __init__(self) -> None:
        self.member_id = ""
        self.generation_id = -1
        self.is_expected = False
        """It was given an id to come again with."""
        self.led: list[str] = []
        """The members that it is to assign to."""


class Side:
    """The conversation as one of the brokers hears it. Member ids are numbered in the order in which they come up."""

    def __init__(self, broker: BrokerProcess, group: str) -> None:
        self._group = group
        self._connections = [GroupConnection(broker) for _ in range(MEMBERS)]
        self._known = [Known() for _ in range(MEMBERS)]
        self._waiting: dict[int, Step] = {}
        self._names: dict[str, str] = {"": ""}

    def close(self) -> None:
        for connection in self._connections:
            connection.close()

    def may_say(self, step: Step) -> bool:
        gives_id_back = step.api_key == LEAVE_GROUP and self._known[step.member].is_expected
        return step.member not in self._waiting and not gives_id_back

    def say(self, step: Step) -> None:
        self._waiting[step.member] = step
        self._connections[step.member].send(step.api_key, step.version, **self._fields(step))

    def _fields(self, step: Step) -> dict[str, Any]:
        known = self._known[step.member]
        instance_id = f"instance-{step.member}" if step.member in STATIC_MEMBERS else None
        who = {"group_id": self._group, "member_id": known.member_id, "group_instance_id": instance_id}
        if step.api_key == JOIN_GROUP:
            return who | {
                "member_id": "" if step.is_another else known.member_id,
                "session_timeout_ms": 30_000,
                "rebalance_timeout_ms": 60_000,
                "protocol_type": "consumer",
                "protocols": [SimpleNamespace(name=name, metadata=metadata) for name, metadata in step.protocols],
                "reason": None,
            }
        if step.api_key == LEAVE_GROUP:
            member_id = "" if step.names_instance_only else known.member_id
            leaving = SimpleNamespace(member_id=member_id, group_instance_id=instance_id, reason=None)
            return {"group_id": self._group, "members": [leaving]}
        who["generation_id"] = known.generation_id + step.generation
        if step.api_key == SYNC_GROUP:
            assignments = [SimpleNamespace(member_id=each, assignment=self._name(each).encode()) for each in known.led]
            who |= {"protocol_type": "consumer", "protocol_name": step.protocol_name, "assignments": assignments}
        return who

    def answered(self) -> set[int]:
        """The members for whom there is an answer to be read."""
        connections = {self._connections[member]: member for member in self._waiting}
        return {connections[ready] for ready in select.select(connections, (), (), 0)[0]}

    def hear(self) -> dict[int, Any]:
        """By member, what is answered now, in a form that both brokers' answers have in common."""
        answers = {}
        for member in sorted(self.answered()):
            step = self._waiting.pop(member)
            answers[member] = step, self._connections[member].receive(step.api_key, step.version)
        for _, answer in answers.values():
            self._name(getattr(answer, "member_id", ""))
        return {member: self._take(member, *heard) for member, heard in answers.items()}

    def _take(self, member: int, step: Step, answer: Any) -> tuple[Any, ...]:
        code = ErrorCode(answer.error_code)
        if step.api_key == JOIN_GROUP:
            self._learn(self._known[member], code, answer)
            told = sorted((self._name(each.member_id), each.metadata) for each in answer.members)
            names = self._name(answer.leader), self._name(answer.member_id)
            skips = getattr(answer, "skip_assignment", False)
            return code, *names, answer.generation_id, answer.protocol_name, told, skips
        if step.api_key == SYNC_GROUP:
            return code, answer.assignment, answer.protocol_type, answer.protocol_name
        if step.api_key == LEAVE_GROUP:
            return code, *((self._name(each.member_id), ErrorCode(each.error_code)) for each in answer.members)
        return (code,)

    def _learn(self, known: Known, code: ErrorCode, answer: Any) -> None:
        known.is_expected = code is ErrorCode.MEMBER_ID_REQUIRED
        if code in (ErrorCode.NONE, ErrorCode.MEMBER_ID_REQUIRED):
            known.member_id = answer.member_id
        if code is ErrorCode.NONE:
            known.generation_id = answer.generation_id
            known.led = [each.member_id for each in answer.members]
        if code is ErrorCode.UNKNOWN_MEMBER_ID:
            known.member_id = ""

    def _name(self, member_id: str) -> str:
        return self._names.setdefault(member_id, f"member {len(self._names)}")


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    if not kafka_peer.SCRIPT.exists():
        pytest.skip(kafka_peer.ABSENT)
    at_once = {"group.initial.rebalance.delay.ms": "0"}
    directory = tmp_path_factory.mktemp("like-kafka")
    (directory / "kohort").mkdir()
    (directory / "kafka").mkdir()
    both = kohort_broker(directory / "kohort", at_once), kafka_broker(directory / "kafka", at_once)
    for broker in both:
        broker.start()
        wait_for_coordinator(broker)
    yield both
    for broker in both:
        broker.discard()
    shutil.rmtree(directory, ignore_errors=True)


def wait_for_coordinator(broker: BrokerProcess) -> None:
    with GroupConnection(broker) as connection:
        connection.ask(FIND_COORDINATOR, 4, key_type=0, coordinator_keys=["first"])
        while connection.join("first").error_code != ErrorCode.MEMBER_ID_REQUIRED:
            time.sleep(0.1)


def wait_for_answers(here: Side, there: Side) -> None:
    """Until it is quiet, and both have answered the same ones; whoever does not in time has not."""
    give_up_at = time.monotonic() + PATIENCE_S
    time.sleep(QUIET_S)
    while here.answered() != there.answered() and time.monotonic() < give_up_at:
        time.sleep(QUIET_S)


@pytest.mark.parametrize("seed", range(CONVERSATIONS))
def test_the_same_requests_get_the_same_answers(brokers: tuple[BrokerProcess, BrokerProcess], seed: int) -> None:
    random = Random(seed)
    kohort, kafka = (Side(broker, f"conversation-{seed}") for broker in brokers)
    said = []
    for _ in range(STEPS):
        step = random_step(random)
        if not kohort.may_say(step):
            continue
        for side in (kohort, kafka):
            side.say(step)
        wait_for_answers(kohort, kafka)
        ours, theirs = kohort.hear(), kafka.hear()
        said.append((step, ours, theirs))
        story = "\n".join(map(str, said))
        assert codes(ours) == codes(theirs), story
        if leaders(ours) != leaders(theirs):
            break
        assert ours == theirs, story
    kohort.close(), kafka.close()


def codes(heard: dict[int, Any]) -> dict[int, ErrorCode]:
    return {member: answer[0] for member, answer in heard.items()}


def leaders(heard: dict[int, Any]) -> set[str]:
    return {answer[1] for answer in heard.values() if len(answer) == 7 and answer[1]}
