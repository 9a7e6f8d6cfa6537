"""What every simulated client has: a connection that it makes again, requests that it waits for, and a life of its own.

A client is a process: it can be paused (and then finds everything that happened in the meantime at once), killed, or
end itself. It commits now and then what it owns. Subclasses speak one of the two protocols.

Next hop: network.py, by which it reaches the broker; consumer_member.py and classic_member.py.
"""

from collections import deque
from collections.abc import Callable, Set
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from kohort.model.commands.groups import (
    NO_TIMEOUT_MS,
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    TopicCommit,
    TopicOffsetsQuery,
)
from kohort.model.errors import ErrorCode
from kohort.model.ids import NO_TOPIC_ID
from kohort.model.topics import Topic
from tests.simulation.disk import Trace
from tests.simulation.groups.clock import Alarm, Callback, Clock
from tests.simulation.groups.network import Connection, Network
from tests.simulation.groups.oracle import Oracle
from tests.simulation.groups.projection import Partition
from tests.simulation.groups.software import Software

BACKOFF_MS = 100
UNKNOWN_TOPIC = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
COORDINATOR_IS_ELSEWHERE = frozenset(
    {ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
)
"""The client asks again."""


class Surroundings(Protocol):
    """What a client can reach and see."""

    clock: Clock
    network: Network
    oracle: Oracle
    trace: Trace
    topics: dict[str, Topic]
    has_faults: bool
    last_assigned: dict[str, dict[str, int]]
    """What the leader of each classic group assigned by: the partitions of each topic."""

    def next_offset(self) -> int:
        """One that nobody has committed."""

    def name_of(self, topic_id: UUID) -> str:
        """Of a topic that there is or was."""

    def id_of(self, name: str) -> UUID:
        """Of the latest topic of that name."""

    def ended(self, client: "Client") -> None:
        """A client's process is gone."""


@dataclass(frozen=True, slots=True)
class Character:
    """How a client is, drawn once."""

    group_id: str
    name: str
    software: Software
    topics: tuple[str, ...]
    regex: str | None = None
    instance_id: str | None = None
    session_timeout_ms: int = 6_000
    """Of the classic protocol: in the other one the coordinator says it."""
    rebalance_timeout_ms: int = 6_000
    heartbeat_interval_ms: int = 3_000
    revocation_ms: int = 20
    """How long its application takes to give partitions up."""
    commit_interval_ms: int = 0
    """0: never."""
    server_assignor: str | None = None
    """In the consumer protocol, the one that it votes for."""
    knows_topic_ids: bool = False
    """It commits and fetches by them."""
    lets_coordinator_choose_id: bool = False
    is_among_both: bool = False
    """Its group has members of both protocols, so that it may become one of the other at any time."""


@dataclass(eq=False, slots=True)
class Request:
    """One that is on its way."""

    on_answer: Callable[[Any], None]
    on_failure: Callback
    timeout: Alarm | None = None
    is_over: bool = False


class Client:
    speaks_classic = False

    def __init__(self, surroundings: Surroundings, character: Character, member_id: str) -> None:
        self.surroundings = surroundings
        self.character = character
        self.group_id = character.group_id
        self.member_id = member_id
        self.epoch = 0
        self.owned: Set[Partition] = frozenset()
        self.is_running = True
        self.is_leaving = False
        self.ended_by = ErrorCode.NONE
        """The error that it could not live with."""
        self.clock = surroundings.clock
        self.random = surroundings.network.random
        self._connection: Connection | None = None
        self._requests: list[Request] = []
        self._paused_until_ms = 0
        self._deferred: deque[Callback] = deque()

    # A process

    def start(self) -> None:
        self.trace("starts", self.character)
        self.surroundings.oracle.claims.add(self)
        self.join()
        if self.character.commit_interval_ms:
            self.after(self.character.commit_interval_ms, self._commit_now_and_then)

    def join(self) -> None:
        raise NotImplementedError

    def leave(self) -> None:
        """Gives everything up and goes, as a consumer that is closed."""
        raise NotImplementedError

    def is_settled(self) -> bool:
        """Whether it does nothing but wait."""
        raise NotImplementedError

    def crash(self, connection_ends: bool) -> None:
        """The process ends at once. Without an end of its connection: the machine, or the cable, is gone."""
        self.trace("crashes", "" if connection_ends else "silently")
        if self._connection is not None:
            self._connection.is_open = False
            self._connection.cut(self.surroundings.network.latency_ms() if connection_ends else None, None)
        self._end()

    def _die_of(self, code: int) -> None:
        self.ended_by = ErrorCode(code)
        self._exit()

    def _exit(self) -> None:
        self.trace("exits", self.ended_by)
        if self._connection is not None and self._connection.is_open:
            self._connection.close()
        self._end()

    def _end(self) -> None:
        if self.is_running:
            self.is_running = False
            self.owned = frozenset()
            self.surroundings.oracle.claims.remove(self)
            self.surroundings.ended(self)

    def pause(self, duration_ms: int) -> None:
        """Nothing runs in the process for so long."""
        if self.clock.now_ms >= self._paused_until_ms:
            self.trace("pauses for", duration_ms)
            self._paused_until_ms = self.clock.now_ms + duration_ms
            self.clock.at(self._paused_until_ms, self._resume)

    def resume_soon(self) -> None:
        self._paused_until_ms = self.clock.now_ms
        self._resume()

    def _resume(self) -> None:
        while self._deferred and self.is_running:
            self._deferred.popleft()()

    def run(self, callback: Callback) -> None:
        """Now, or when the process runs again, or never."""
        if not self.is_running:
            return
        if self.clock.now_ms < self._paused_until_ms or self._deferred:
            self._deferred.append(callback)
        else:
            callback()

    def after(self, delay_ms: int, callback: Callback) -> Alarm:
        return self.clock.after(delay_ms, partial(self.run, callback))

    # Requests

    def send(
        self, command: object, on_answer: Callable[[Any], None], on_failure: Callback, timeout_ms: int | None = None
    ) -> None:
        if self._connection is None:
            self._connection = self.surroundings.network.connect(
                self.character.name, self.character.software.name, self._on_lost
            )
        self.trace("sends", command)
        request = Request(on_answer, on_failure)
        self._requests.append(request)
        patience_ms = self.character.software.request_timeout_ms if timeout_ms is None else timeout_ms
        request.timeout = self.after(patience_ms, partial(self._on_timeout, request, command))
        self._connection.send(self._with_origin(command), partial(self._on_answer, request))

    def _with_origin(self, command: Any) -> object:
        assert self._connection is not None
        return command._replace(origin=self._connection.origin) if "origin" in command._fields else command

    def _on_answer(self, request: Request, answer: object) -> None:
        self.run(partial(self._take, request, answer))

    def _take(self, request: Request, answer: object) -> None:
        if not request.is_over:
            self.trace("hears", answer)
            self._close(request)
            request.on_answer(answer)

    def _close(self, request: Request) -> None:
        request.is_over = True
        self._requests.remove(request)
        if request.timeout is not None:
            request.timeout.cancel()

    def _on_timeout(self, request: Request, command: object) -> None:
        if not request.is_over:
            self.trace("gives up on its connection")
            self.surroundings.oracle.require(
                self.surroundings.has_faults, "was not answered in time, and nothing is wrong:", command
            )
            if self._connection is not None:
                self._connection.abandon()
            self._lose_connection()

    def _on_lost(self) -> None:
        self.run(self._lose_connection)

    def _lose_connection(self) -> None:
        self.trace("has lost its connection")
        self._connection = None
        failed, self._requests = self._requests, []
        for request in failed:
            request.is_over = True
            if request.timeout is not None:
                request.timeout.cancel()
        for request in failed:
            if self.is_running:
                request.on_failure()

    @property
    def connection(self) -> Connection | None:
        return self._connection

    # What is said of it

    def trace(self, *what: object) -> None:
        self.surroundings.trace(self.character.name, *what)

    def require_calm(self, code: int, *expected: ErrorCode) -> None:
        """Where nothing fails, no member hears of more than that the group goes on."""
        self.surroundings.oracle.require(
            self.surroundings.has_faults or code == 0 or code in expected,
            self.character.name,
            "is refused with",
            ErrorCode(code).name,
            "and nothing is wrong",
        )

    def gain(self, owned: Set[Partition]) -> None:
        self.owned = owned
        self.surroundings.oracle.check_claims(self.group_id)

    # Offsets

    def _commit_now_and_then(self) -> None:
        self.commit(self.owned)
        self.after(self.character.commit_interval_ms, self._commit_now_and_then)

    def may_commit(self) -> bool:
        raise NotImplementedError

    def commit(self, partitions: Set[Partition]) -> None:
        if not partitions or not self.may_commit():
            return
        command = OffsetCommit(
            self.group_id,
            tuple(self._commits_to(topic_id, indexes) for topic_id, indexes in by_topic(partitions).items()),
            self.member_id,
            self.epoch,
            self.character.instance_id if self.speaks_classic else None,
            NO_TIMEOUT_MS,
        )
        self.send(command, partial(self._on_committed, command), _give_up)

    def _named(self, topic_id: UUID) -> tuple[str, UUID]:
        if self.character.knows_topic_ids:
            return "", topic_id
        return self.surroundings.name_of(topic_id), NO_TOPIC_ID

    def _commits_to(self, topic_id: UUID, indexes: tuple[int, ...]) -> TopicCommit:
        offsets = tuple(self.surroundings.next_offset() for _ in indexes)
        metadata = (self.character.name,) * len(indexes)
        name, said_id = self._named(topic_id)
        return TopicCommit(name, indexes, offsets, (-1,) * len(indexes), metadata, said_id)

    def _on_committed(self, command: OffsetCommit, answer: OffsetCommitAnswer) -> None:
        self.surroundings.oracle.answered_commit(command, answer)
        for topic in answer.topics:
            for outcome in topic.partitions:
                self.require_calm(outcome.error_code, ErrorCode.REBALANCE_IN_PROGRESS, *UNKNOWN_TOPIC)

    def fetch_offsets(self, partitions: Set[Partition]) -> None:
        """What was committed for partitions that it was just given."""
        if partitions:
            queries = tuple(self._query(topic_id, indexes) for topic_id, indexes in by_topic(partitions).items())
            member_id, epoch = (None, -1) if self.speaks_classic else (self.member_id, self.epoch)
            self.send(OffsetFetch(self.group_id, queries, True, member_id, epoch), self._on_fetched, _give_up)

    def _query(self, topic_id: UUID, indexes: tuple[int, ...]) -> TopicOffsetsQuery:
        name, said_id = self._named(topic_id)
        return TopicOffsetsQuery(name, indexes, said_id)

    def _on_fetched(self, answer: OffsetFetchAnswer) -> None:
        self.require_calm(answer.error_code, ErrorCode.STALE_MEMBER_EPOCH)


def by_topic(partitions: Set[Partition]) -> dict[UUID, tuple[int, ...]]:
    topics: dict[UUID, tuple[int, ...]] = {}
    for topic_id, partition in sorted(partitions):
        topics[topic_id] = (*topics.get(topic_id, ()), partition)
    return topics


def _give_up() -> None:
    """What failed is not tried again."""
