"""Groups that change their protocol to talk to: classic members that really are consumers, beside those of the new one.

A classic consumer does what a real one does: it says in its protocols what it subscribes to and what it owns, assigns
if it is told to lead, and gives up what it must, everything before it joins again (eager) or what it was not given
again after it (cooperative).
"""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any

from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.consumer.group import ConsumerGroup
from kohort.machines.groups.machine import GroupsMachine
from kohort.machines.groups.push.push import Push
from kohort.model.commands.groups import (
    ConsumerGroupHeartbeat,
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    OffsetCommit,
    OffsetFetch,
    Origin,
    Protocol,
    SyncAssignment,
    SyncGroup,
    TopicCommit,
)
from kohort.model.consumer_protocol import ConsumerAssignment, Subscription
from kohort.model.errors import ErrorCode, ProtocolError, Refused
from kohort.model.settings import BrokerSettings
from kohort.model.topics import Topic
from kohort.wire import consumer_protocol
from kohort.wire.primitives import Writer
from tests.machines.groups.classic.conversation import Asked
from tests.machines.groups.consumer.conversation import GROUP, ORDERS, Consumer, GroupBook, refusal, topic

CLASSIC_SESSION_MS = 10_000
REBALANCE_MS = 60_000
INITIAL_DELAY_MS = 3_000
PATIENT = "patient"
"""The software of clients whose heartbeats are held."""
HOLD_MS = 2_000
VERSION = 3
"""Of what classic consumers say inside their protocols, if nothing else is said."""

_connections = count(1)


def subscription_bytes(said: Subscription) -> bytes:
    writer = Writer()
    writer.fixed("h", said.version)
    writer.count(len(said.topics))
    for name in said.topics:
        writer.string(name)
    writer.sized_bytes(said.user_data)
    if said.version >= 1:
        owned = said.owned_partitions or {}
        writer.count(len(owned))
        for name, partitions in owned.items():
            writer.string(name)
            writer.count(len(partitions))
            writer.fixed(f"{len(partitions)}i", *partitions)
    if said.version >= 2:
        writer.fixed("i", said.generation_id)
    if said.version >= 3:
        writer.string(said.rack_id)
    return writer.data()


class HoldsThePatient(Push):
    def consumer_hold_ms(self, origin: Origin, told_interval_ms: int) -> int:
        return max(told_interval_ms - 150, 0) if origin.software_name == PATIENT else 0

    def classic_hold_ms(self, origin: Origin, session_timeout_ms: int, is_static: bool) -> int:
        return HOLD_MS if origin.software_name == PATIENT else 0


class MixedBook(GroupBook):
    """A conversation in which groups may be of either kind, with settings that may be others after a restart."""

    def __init__(self, settings: BrokerSettings, *topics: Topic) -> None:
        self.settings = settings
        super().__init__(self._new_machine, *topics)

    def _new_machine(self) -> GroupsMachine:
        machine = GroupsMachine(self.settings, consumer_protocol)
        machine.state.push = HoldsThePatient(self.settings)  # type: ignore[misc]
        return machine

    def ask(self, command: object) -> Asked:
        """A refusal must leave everything as it was."""
        before, written = list(self.machine.snapshot()), len(self.records)
        try:
            self.say(command)
        except ProtocolError as refusal:
            assert (list(self.machine.snapshot()), len(self.records)) == (before, written)
            self.answers[self.last_token] = Refused(refusal.code, refusal.message)
        return Asked(self, self.last_token)

    @property
    def any_group(self) -> ClassicGroup | ConsumerGroup:
        state: Any = self.machine.state  # type: ignore[attr-defined]
        group: ClassicGroup | ConsumerGroup = state.groups[GROUP]
        return group

    @property
    def classic_group(self) -> ClassicGroup:
        assert isinstance(self.any_group, ClassicGroup), "the group follows the consumer protocol"
        return self.any_group

    @property
    def kind(self) -> str:
        return self.any_group.listed().group_type

    @property
    def identity(self) -> str:
        state: Any = self.machine.state  # type: ignore[attr-defined]
        identity: str = state.identities[GROUP]
        return identity

    def remove(self, *members: LeavingMember) -> list[ErrorCode]:
        """As an administrator does, or a classic client of itself."""
        answer = self.ask(LeaveGroup(GROUP, members)).answer
        return [ErrorCode(each.error_code) for each in answer.members]

    def commit(self, member_id: str, epoch: int, offset: int, *, partition: int = 0) -> ErrorCode:
        command = OffsetCommit(GROUP, (TopicCommit("orders", (partition,), (offset,), (-1,)),), member_id, epoch)
        answer = self.ask(command).answer
        refused = isinstance(answer, Refused)
        return ErrorCode(answer.error_code if refused else answer.topics[0].partitions[0].error_code)

    def committed(self) -> int:
        """Of the first partition."""
        answer = self.say(OffsetFetch(GROUP, None))
        offset: int = answer.topics[0].partitions[0].committed_offset
        return offset

    def heartbeats_of(self, *members: "ClassicConsumer") -> list[ErrorCode]:
        return [member.heartbeat().code for member in members]


def mixed_book(*, partitions: int = 4, **settings: Any) -> MixedBook:
    """One topic, orders."""
    return MixedBook(BrokerSettings(**settings), topic("orders", ORDERS, partitions))


class ClassicConsumer:
    def __init__(
        self,
        book: MixedBook,
        name: str,
        *,
        protocols: tuple[str, ...] = ("range",),
        is_cooperative: bool = False,
        instance_id: str | None = None,
        **fields: Any,
    ) -> None:
        self.book = book
        self.name = name
        self.protocols = protocols
        self.is_cooperative = is_cooperative
        self.instance_id = instance_id
        self.topics: tuple[str, ...] = fields.pop("topics", ("orders",))
        self.version: int = fields.pop("version", VERSION)
        self.assignment_user_data: bytes | None = fields.pop("assignment_user_data", None)
        self.fields = {"requires_known_member_id": True, "supports_skip_assignment": True} | fields
        self.origin = Origin(name, "/127.0.0.1", "", next(_connections))
        self.member_id = ""
        self.generation_id = -1
        self.protocol_name: str | None = None
        self.owned: tuple[int, ...] = ()
        """Of orders, the only topic that is consumed here."""
        self.joined: Asked | None = None
        self.learned_of: Asked | None = None
        """The JoinGroup whose answer it has read."""
        self.synced: Asked | None = None
        self.held: Asked | None = None

    # Single requests

    def subscription(self) -> bytes:
        owned = {"orders": self.owned} if self.owned else {}
        return subscription_bytes(Subscription(self.version, self.topics, None, owned, self.generation_id))

    def ask_to_join(self, **changes: Any) -> Asked:
        """One JoinGroup, whatever becomes of it."""
        said = self.subscription()
        fields = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "protocol_type": "consumer",
            "session_timeout_ms": CLASSIC_SESSION_MS,
            "protocols": tuple(Protocol(name, said) for name in self.protocols),
            "rebalance_timeout_ms": REBALANCE_MS,
            "group_instance_id": self.instance_id,
            "origin": self.origin,
        }
        return self.book.ask(JoinGroup(**(fields | self.fields | changes)))

    def join(self) -> Asked:
        """As a client does: it gives up first what it must, and comes again with the id that it is told."""
        if not self.is_cooperative:
            self.owned = ()
        asked = self.ask_to_join()
        if asked.is_answered and asked.code is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = asked.answer.member_id
            asked = self.ask_to_join()
        self.joined = asked
        return asked

    def learn(self) -> ErrorCode:
        """What the answer to its JoinGroup says."""
        assert self.joined is not None
        self.learned_of = self.joined
        if self.joined.code is ErrorCode.NONE:
            answer = self.joined.answer
            self.member_id, self.generation_id = answer.member_id, answer.generation_id
            self.protocol_name = answer.protocol_name
        return self.joined.code

    @property
    def leads(self) -> bool:
        assert self.joined is not None
        return bool(self.joined.answer.members)

    def sync(self, given: Mapping[str, Iterable[int]] = {}, **changes: Any) -> Asked:
        """given: as a leader, the partitions of each member by its id."""
        assignments = tuple(
            SyncAssignment(member_id, self._assignment_bytes(tuple(partitions)))
            for member_id, partitions in given.items()
        )
        fields = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "generation_id": self.generation_id,
            "assignments": assignments,
            "group_instance_id": self.instance_id,
            "protocol_type": "consumer",
            "protocol_name": self.protocol_name,
            "origin": self.origin,
        }
        self.synced = self.book.ask(SyncGroup(**(fields | changes)))
        return self.synced

    def _assignment_bytes(self, partitions: tuple[int, ...]) -> bytes:
        by_name = {"orders": partitions} if partitions else {}
        assignment = ConsumerAssignment(by_name, self.assignment_user_data)
        return consumer_protocol.encode_assignment(self.version, assignment)

    def heartbeat(self, **changes: Any) -> Asked:
        fields = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "generation_id": self.generation_id,
            "group_instance_id": self.instance_id,
            "origin": self.origin,
        }
        return self.book.ask(Heartbeat(**(fields | changes)))

    def wait_in_heartbeat(self) -> None:
        """From now on it is a client whose heartbeats are held."""
        self.origin = self.origin._replace(software_name=PATIENT)
        self.held = self.heartbeat()
        assert not self.held.is_answered, "it was not held"

    def leave(self) -> ErrorCode:
        (code,) = self.book.remove(LeavingMember(self.member_id, self.instance_id))
        return code

    # What a client makes of them

    def assigned(self) -> tuple[int, ...]:
        """What the answer to its SyncGroup says."""
        assert self.synced is not None
        assert self.synced.code is ErrorCode.NONE
        assignment = consumer_protocol.decode_assignment(self.synced.answer.assignment)
        assert assignment is not None
        return tuple(assignment.partitions.get("orders", ()))

    @property
    def is_joining(self) -> bool:
        return self.joined is not None and not self.joined.is_answered

    def rejoin(self) -> None:
        """Into a group of the consumer protocol, however long that takes."""
        self.begin_to_rejoin()
        while self.is_joining:
            self.book.wait(50)
            if not self.is_joining:
                self.take_up()

    def begin_to_rejoin(self) -> None:
        self.join()
        if not self.is_joining:
            self.take_up()

    def wait_to_join(self) -> Any:
        """What its JoinGroup is answered, when it is."""
        self.join()
        while self.is_joining:
            self.book.wait(50)
        assert self.learn() is ErrorCode.NONE
        assert self.joined is not None
        return self.joined.answer

    def take_up(self) -> None:
        """What it is told is its own; if it has to give something up, it does and comes again."""
        code = self.learn()
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self.begin_to_rejoin()
            return
        assert code is ErrorCode.NONE
        self.sync()
        if self.synced is not None and self.synced.code is ErrorCode.NONE:
            before, self.owned = set(self.owned), self.assigned()
            if not before <= set(self.owned):
                self.begin_to_rejoin()

    def follow(self) -> bool:
        """What it does from time to time: it looks whether it has joined, or sends a heartbeat and does what it is
        told. Whether it has done more than that."""
        if self.is_joining:
            return True
        if self.joined is not self.learned_of:
            self.take_up()
            return True
        code = self.heartbeat().code
        if code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION):
            self.owned, self.generation_id = (), -1
            self.member_id = "" if code is ErrorCode.UNKNOWN_MEMBER_ID else self.member_id
        if code is ErrorCode.NONE:
            return False
        self.begin_to_rejoin()
        return True


def refused(consumer: Consumer, epoch: int = 0) -> tuple[ErrorCode, str | None]:
    """How a heartbeat of the consumer is refused; with epoch 0, its join."""
    said: dict[str, Any] = {"topic_partitions": (), **consumer.fields} if epoch == 0 else {}
    command = ConsumerGroupHeartbeat(
        GROUP, consumer.member_id, epoch, instance_id=consumer.instance_id, origin=consumer.origin, **said
    )
    return refusal(consumer.book, command)


def agree(*members: ClassicConsumer, ask: bool = True) -> None:
    """The members of a classic group join, and whoever leads assigns the partitions to them in turn."""
    book = members[0].book
    if ask:
        for member in members:
            member.join()
    while book.classic_group.state.value == "PreparingRebalance":
        book.wait(100)
    for member in members:
        assert member.learn() is ErrorCode.NONE
    order = [member.member_id for member in members]
    partitions = book.topics["orders"].partitions
    given = {member_id: range(place, partitions, len(order)) for place, member_id in enumerate(order)}
    leader = next(member for member in members if member.leads)
    for member in (*(each for each in members if each is not leader), leader):
        member.sync(given if member is leader else {})
    for member in members:
        member.owned = member.assigned()


def converge_mixed(*members: ClassicConsumer | Consumer, rounds: int = 12) -> None:
    """Everybody sends heartbeats and does what it is told, until nobody has news. Nothing has two owners on the way."""
    book = members[0].book
    for _ in range(rounds):
        is_quiet = True
        for member in members:
            if isinstance(member, ClassicConsumer):
                is_quiet &= not member.follow()
            else:
                before = member.owned, member.epoch
                member.acknowledge()
                is_quiet &= before == (member.owned, member.epoch)
            check_owners(*members)
        book.settle()
        if is_quiet:
            return
    raise AssertionError("the group does not come to rest")


def stay_alive(milliseconds: int, *members: ClassicConsumer | Consumer) -> None:
    """Time passes, in which the members send heartbeats and do nothing else, whatever they are told."""
    book, step_ms = members[0].book, 2_000
    for _ in range(milliseconds // step_ms):
        book.wait(step_ms)
        for member in members:
            member.heartbeat()
    book.wait(milliseconds % step_ms)


def owned_by(member: ClassicConsumer | Consumer) -> tuple[int, ...]:
    return member.owned if isinstance(member, ClassicConsumer) else member.owned.get(ORDERS, ())


def check_owners(*members: ClassicConsumer | Consumer) -> None:
    owned = [partition for member in members for partition in owned_by(member)]
    assert len(owned) == len(set(owned)), f"a partition has two owners: {[owned_by(member) for member in members]}"


def all_owned(*members: ClassicConsumer | Consumer) -> list[int]:
    return sorted(partition for member in members for partition in owned_by(member))
