"""Groups of the classic protocol to talk to, and members that send what real ones do.

A request is kept as what was Asked: its answer may come later, and a refusal is an answer like any other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kohort.machines.groups.classic.group import ClassicGroup
from kohort.machines.groups.machine import GroupsMachine
from kohort.model.commands.groups import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    LeavingMember,
    OffsetCommit,
    Origin,
    Protocol,
    SyncAssignment,
    SyncGroup,
    TopicCommit,
    TopicsChanged,
)
from kohort.model.consumer_protocol import ConsumerAssignment
from kohort.model.errors import ErrorCode, ProtocolError, Refused
from kohort.model.ids import DEFAULT_ORG
from kohort.model.settings import BrokerSettings
from kohort.model.topics import Topic
from kohort.wire import consumer_protocol
from tests.playbook import Playbook

GROUP = "orders-workers"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
INITIAL_DELAY_MS = 300
RANGE = Protocol("range", b"what range is told")
ROUND_ROBIN = Protocol("roundrobin", b"what roundrobin is told")


def assignment(**partitions: tuple[int, ...]) -> bytes:
    """What a leader of consumers assigns, by topic."""
    return consumer_protocol.encode_assignment(3, ConsumerAssignment(partitions))


@dataclass(frozen=True)
class Asked:
    """A request, and its answer if that has come."""

    book: Playbook
    token: int

    @property
    def is_answered(self) -> bool:
        return self.token in self.book.answers

    @property
    def answer(self) -> Any:
        assert self.is_answered, "it still waits"
        return self.book.answers[self.token]

    @property
    def code(self) -> ErrorCode:
        return ErrorCode(self.answer.error_code)


class ClassicBook(Playbook):
    """Everything is asked of one shard."""

    def ask(self, command: object) -> Asked:
        """A refusal must leave what is durable as it was."""
        before = list(self.machine.snapshot())
        try:
            self.say(command)
        except ProtocolError as refusal:
            assert list(self.machine.snapshot()) == before
            self.answers[self.last_token] = Refused(refusal.code, refusal.message)
        return Asked(self, self.last_token)

    @property
    def state(self) -> Any:
        machine: Any = self.machine
        return machine.state

    @property
    def group(self) -> ClassicGroup:
        group = self.state.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    @property
    def group_state(self) -> str:
        return self.group.state.value

    def commit(self, *, member_id: str = "", generation_id: int = -1) -> None:
        """Of an offset of a topic that there is."""
        self.say(TopicsChanged({"orders": Topic(DEFAULT_ORG, "orders", UUID(int=1), 4, {})}))
        answer = self.say(OffsetCommit(GROUP, (TopicCommit("orders", (0,), (5,), (-1,)),), member_id, generation_id))
        assert answer.topics[0].partitions[0].error_code is ErrorCode.NONE

    def leave(self, *members: LeavingMember, group_id: str = GROUP) -> list[ErrorCode]:
        answer = self.ask(LeaveGroup(group_id, members)).answer
        assert answer.error_code is ErrorCode.NONE
        return [ErrorCode(each.error_code) for each in answer.members]

    def stable_group(self, *members: "Member") -> None:
        """The members join, the first one leads, and each is assigned the partition of its place."""
        self.joined_group(*members)
        self.sync_all(*members)

    def joined_group(self, *members: "Member") -> None:
        """The members know of their generation, since this very moment, and nobody of the assignment."""
        for member in members:
            member.join()
        while self.group_state == "PreparingRebalance":
            self.wait(1)

    def sync_all(self, *members: "Member") -> None:
        """Each of these is assigned the partition of its place."""
        leader = next(member for member in members if member.leads)
        given = {member.member_id: assignment(orders=(place,)) for place, member in enumerate(members)}
        for member in members:
            member.sync(given if member is leader else {})
        assert self.group_state == "Stable"


def classic_book(**settings: Any) -> ClassicBook:
    return ClassicBook(lambda: GroupsMachine(BrokerSettings(**settings), consumer_protocol))


class Member:
    """A client: it knows the id and the generation that it was last told."""

    def __init__(
        self,
        book: ClassicBook,
        name: str = "worker",
        *,
        instance_id: str | None = None,
        protocols: tuple[Protocol, ...] = (RANGE,),
        software: str = "",
        connection_id: int = 0,
        **fields: Any,
    ) -> None:
        self.book = book
        self.instance_id = instance_id
        self.protocols = protocols
        self.origin = Origin(name, "/127.0.0.1", software, connection_id)
        self.fields: dict[str, Any] = {"requires_known_member_id": True, "supports_skip_assignment": True} | fields
        self.given_id = ""
        self.joined: Asked | None = None

    @property
    def member_id(self) -> str:
        """That of its last successful JoinGroup, or else what it was told to come again with."""
        joined = self.joined
        has_joined = joined is not None and joined.is_answered and joined.code is ErrorCode.NONE
        return joined.answer.member_id if joined is not None and has_joined else self.given_id

    def ask_to_join(self, **changes: Any) -> Asked:
        """One JoinGroup, whatever becomes of it."""
        fields = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "protocol_type": "consumer",
            "session_timeout_ms": SESSION_MS,
            "protocols": self.protocols,
            "rebalance_timeout_ms": REBALANCE_MS,
            "group_instance_id": self.instance_id,
            "origin": self.origin,
        }
        return self.book.ask(JoinGroup(**(fields | self.fields | changes)))

    def join(self) -> Asked:
        """As a client does: it comes again with the id that it is told."""
        asked = self.ask_to_join()
        if asked.is_answered and asked.code is ErrorCode.MEMBER_ID_REQUIRED:
            self.given_id = asked.answer.member_id
            asked = self.ask_to_join()
        self.joined = asked
        return asked

    @property
    def generation_id(self) -> int:
        return -1 if self.joined is None else self.joined.answer.generation_id

    @property
    def leads(self) -> bool:
        return self.joined is not None and self.joined.answer.leader == self.member_id

    def sync(self, given: Mapping[str, bytes] = {}, **changes: Any) -> Asked:
        assignments = tuple(SyncAssignment(member_id, data) for member_id, data in given.items())
        fields = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "generation_id": self.generation_id,
            "assignments": assignments,
            "group_instance_id": self.instance_id,
        }
        return self.book.ask(SyncGroup(**(fields | changes)))

    def heartbeat(self, **changes: Any) -> Asked:
        fields = {
            "group_id": GROUP,
            "member_id": self.member_id,
            "generation_id": self.generation_id,
            "group_instance_id": self.instance_id,
            "origin": self.origin,
        }
        return self.book.ask(Heartbeat(**(fields | changes)))

    def leave(self) -> ErrorCode:
        (code,) = self.book.leave(LeavingMember(self.member_id, self.instance_id))
        return code
