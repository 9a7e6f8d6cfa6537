"""A group of the consumer protocol to talk to: members that send what real ones do, and topics that they share."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from kohort.machines.contract import Token
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.consumer.member import Member
from kohort.machines.groups.machine import GroupsMachine
from kohort.machines.groups.push.push import Push
from kohort.model.commands.groups import (
    AssignedTopic,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
    GroupConfigsChanged,
    Origin,
    TopicsChanged,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import DEFAULT_ORG
from kohort.model.settings import BrokerSettings
from kohort.model.topics import Topic
from kohort.wire import consumer_protocol
from tests.playbook import UNANSWERED, Playbook

GROUP = "g"
ORDERS, BILLS, MAIL = UUID(int=0xA), UUID(int=0xB), UUID(int=0xC)
ORIGIN = Origin("client", "/127.0.0.1", "", 1)
PATIENT = Origin("client", "/127.0.0.1", "patient", 2)
"""A client whose heartbeats are held."""
INTERVAL_MS = 1000
HOLD_MS = 850
QUIET_MS = 250
"""Longer than changes are gathered for a new target."""


def topic(name: str, topic_id: UUID, partitions: int) -> Topic:
    return Topic(DEFAULT_ORG, name, topic_id, partitions, {})


class HoldsThePatient(Push):
    """Holds the heartbeats of clients that say they are patient, joins of those that are too patient to ask again."""

    def consumer_hold_ms(self, origin: Origin, told_interval_ms: int) -> int:
        return max(told_interval_ms - 150, 0) if origin.software_name in ("patient", "joins-held") else 0

    def join_hold_ms(self, origin: Origin) -> int:
        return 700 if origin.software_name == "joins-held" else 0


class GroupBook(Playbook):
    """A conversation that tells the machine of topics whenever it was loaded, as the broker does."""

    def __init__(self, make_machine: Callable[[], GroupsMachine], *topics: Topic) -> None:
        self.topics = {each.name: each for each in topics}
        self.another_machine = make_machine
        super().__init__(make_machine)
        self.tell_topics()

    def tell_topics(self) -> None:
        self.say(TopicsChanged(dict(self.topics)))

    def configure_group(self, **configs: str) -> None:
        """The config names have "_" where Kafka has "."."""
        texts = {name.replace("_", "."): text for name, text in configs.items()}
        self.say(GroupConfigsChanged({GROUP: texts} if texts else {}))

    def set_topics(self, *topics: Topic) -> None:
        removed = tuple(each for each in self.topics.values() if each not in topics)
        self.topics = {each.name: each for each in topics}
        self.say(TopicsChanged(dict(self.topics), removed))

    def _load(self, records: list[object]) -> None:
        super()._load(records)
        self.tell_topics()

    @property
    def group(self) -> ConsumerGroup:
        group = self.machine.state.groups[GROUP]  # type: ignore[attr-defined]
        assert isinstance(group, ConsumerGroup)
        return group

    def member(self, member_id: str) -> Member:
        return self.group.members[member_id]

    def settle(self) -> None:
        """Lets all be said that changes were gathered for."""
        self.wait(QUIET_MS)


def group_book(*topics: Topic, settings: BrokerSettings | None = None) -> GroupBook:
    """By default of one topic with four partitions."""

    def make_machine() -> GroupsMachine:
        machine = GroupsMachine(settings or BrokerSettings(), consumer_protocol)
        machine.state.push = HoldsThePatient(settings or BrokerSettings())  # type: ignore[misc]
        return machine

    return GroupBook(make_machine, *(topics or (topic("orders", ORDERS, 4),)))


Owned = dict[UUID, tuple[int, ...]]


def topics_of(owned: Owned | None) -> tuple[AssignedTopic, ...] | None:
    return None if owned is None else tuple(AssignedTopic(each, partitions) for each, partitions in owned.items())


class Consumer:
    """A member that does what it is told: it takes up and gives up partitions at once, but says so only when asked."""

    def __init__(self, book: GroupBook, member_id: str, *, origin: Origin = ORIGIN, **fields: Any) -> None:
        self.book = book
        self.member_id = member_id
        self.origin = origin
        self.instance_id: str | None = fields.pop("instance_id", None)
        self.fields: dict[str, Any] = {
            "rebalance_timeout_ms": 60_000,
            "subscribed_topic_names": ("orders",),
            **fields,
        }
        self.epoch = 0
        self.owned: Owned = {}
        self.interval_ms = 0
        self.token: Token | None = None
        """Of a heartbeat that is held."""

    def join(self) -> Any:
        self.owned = {}
        return self.send(0, owned={}, **self.fields)

    def heartbeat(self, **fields: Any) -> Any:
        """Only that it is there."""
        return self.send(self.epoch, **fields)

    def acknowledge(self) -> Any:
        """That, and what it owns."""
        return self.send(self.epoch, owned=self.owned)

    def ask_for_all(self) -> Any:
        """A full request, as after an error."""
        return self.send(self.epoch, owned=self.owned, **self.fields)

    def leave(self, epoch: int = -1) -> Any:
        return self.send(epoch)

    def send(self, epoch: int, owned: Owned | None = None, **fields: Any) -> Any:
        command = ConsumerGroupHeartbeat(
            GROUP,
            self.member_id,
            epoch,
            instance_id=self.instance_id,
            topic_partitions=topics_of(owned),
            origin=self.origin,
            **fields,
        )
        answer = self.book.say(command)
        self.token = None
        if answer is UNANSWERED:
            self.token = self.book.last_token
        else:
            self.take(answer)
        return answer

    def hear(self) -> Any:
        """The answer to the heartbeat that was held, if it came."""
        assert self.token is not None, "no heartbeat of this member is held"
        answer = self.book.answers.get(self.token, UNANSWERED)
        if answer is not UNANSWERED:
            self.token = None
            self.take(answer)
        return answer

    def take(self, answer: ConsumerGroupHeartbeatAnswer) -> None:
        self.epoch, self.interval_ms = answer.member_epoch, answer.heartbeat_interval_ms
        if answer.assignment is not None:
            self.owned = {each.topic_id: each.partitions for each in answer.assignment.topic_partitions}

    @property
    def partitions(self) -> int:
        return sum(map(len, self.owned.values()))


def converge(*consumers: Consumer, rounds: int = 6) -> None:
    """Everybody sends heartbeats until nobody has news."""
    for _ in range(rounds):
        for each in consumers:
            if each.token is not None and each.hear() is UNANSWERED:
                continue
            each.acknowledge()
        consumers[0].book.settle()


def refusal(book: GroupBook, command: ConsumerGroupHeartbeat) -> tuple[ErrorCode, str | None]:
    """How a command is refused, which must leave everything as it was."""
    before = list(book.machine.snapshot())
    count = len(book.records)
    try:
        answer = book.say(command)
    except ProtocolError as error:
        assert len(book.records) == count
        assert list(book.machine.snapshot()) == before
        return error.code, error.message
    raise AssertionError(f"it was not refused but answered {answer}")
