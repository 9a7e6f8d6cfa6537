"""A consumer of the classic protocol as the real ones behave (GROUPS.md 2.3, 2.5, 5.6), eager or cooperative.

    UNJOINED ──gives up what it must──▶ JOINING ──JoinGroup answered──▶ SYNCING ──SyncGroup answered──▶ STABLE
        ▲                                                                                                 │
        └──────── 27 on a heartbeat, more topics than the leader knew of, a cooperative revocation ───────┘

It sends heartbeats from the answer to its JoinGroup on. An eager member gives up everything before it joins again, a
cooperative one only what its next assignment lacks, and then joins once more. A member that loses its generation or its
id has lost its partitions too.

Next hop: client.py; classic_assignors.py, for the leader.
"""

from collections.abc import Set
from enum import Enum
from functools import partial
from uuid import UUID

from kohort.model.commands.groups import (
    Heartbeat,
    HeartbeatAnswer,
    JoinGroup,
    JoinGroupAnswer,
    LeaveGroup,
    LeaveGroupAnswer,
    LeavingMember,
    Protocol,
    SyncAssignment,
    SyncGroup,
    SyncGroupAnswer,
)
from kohort.model.consumer_protocol import CONSUMER_PROTOCOL_TYPE, Subscription
from kohort.model.errors import ErrorCode
from kohort.wire import consumer_protocol
from tests.simulation.groups.classic_assignors import COOPERATIVE, assign, encode_subscription, wanted_topics
from tests.simulation.groups.client import BACKOFF_MS, COORDINATOR_IS_ELSEWHERE, Character, Client, Surroundings
from tests.simulation.groups.clock import Alarm
from tests.simulation.groups.projection import NO_PARTITIONS, Partition

NO_GENERATION = -1
FATAL = frozenset(
    {
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)
LOST = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


class State(Enum):
    UNJOINED = "unjoined"
    JOINING = "joining"
    SYNCING = "syncing"
    STABLE = "stable"


class ClassicMember(Client):
    speaks_classic = True

    def __init__(
        self, surroundings: Surroundings, character: Character, protocol: str, subscription_version: int
    ) -> None:
        super().__init__(surroundings, character, "")
        self._protocol = protocol
        self._subscription_version = subscription_version
        self._is_cooperative = protocol == COOPERATIVE
        self._state = State.UNJOINED
        self._generation = NO_GENERATION
        self._is_giving_up = False
        self._attempt = 0
        """Of joining: what an older one still brings is not heard."""
        self._is_leader = False
        self._wanted: tuple[str, ...] = ()
        self._leader_saw: dict[str, int] = {}
        """The partitions of each topic when it last assigned."""
        self._timer: Alarm | None = None
        self._is_in_flight = False
        self.accepts_id = True
        self.supports_skip_assignment = True

    def require_calm(self, code: int, *expected: ErrorCode) -> None:
        """A member that was not heard while its group changed the protocol twice is a generation behind."""
        behind = (ErrorCode.ILLEGAL_GENERATION,) if self.character.is_among_both else ()
        super().require_calm(code, *expected, *behind)

    def is_settled(self) -> bool:
        return self._state is State.STABLE and not self._is_giving_up and not self._misses_topics()

    def may_commit(self) -> bool:
        return self._generation >= 0 and self._state in (State.STABLE, State.UNJOINED)

    # Joining

    def join(self) -> None:
        self._rejoin()

    def _rejoin(self) -> None:
        """Gives up what it must, and joins."""
        if self.is_leaving:
            return
        self._state = State.UNJOINED
        self._attempt += 1
        if self._generation == NO_GENERATION:
            self.owned = NO_PARTITIONS
        if self.owned and not self._is_cooperative:
            self.after(self.random.randint(0, self.character.revocation_ms), partial(self._given_up_all, self._attempt))
        else:
            self._send_join()

    def _given_up_all(self, attempt: int) -> None:
        if attempt == self._attempt and not self.is_leaving:
            self.commit(self.owned)
            self.owned = NO_PARTITIONS
            self._send_join()

    def _send_join(self) -> None:
        self._state = State.JOINING
        self._stop_heartbeats()
        owned: dict[str, tuple[int, ...]] = {}
        for topic_id, index in sorted(self.owned):
            name = self.surroundings.name_of(topic_id)
            owned[name] = (*owned.get(name, ()), index)
        subscription = Subscription(
            self._subscription_version, self.character.topics, None, owned, max(self._generation, NO_GENERATION)
        )
        command = JoinGroup(
            self.group_id,
            self.member_id,
            CONSUMER_PROTOCOL_TYPE,
            self.character.session_timeout_ms,
            (Protocol(self._protocol, encode_subscription(subscription)),),
            self.character.rebalance_timeout_ms,
            self.character.instance_id,
            requires_known_member_id=self.accepts_id,
            supports_skip_assignment=self.supports_skip_assignment,
        )
        attempt = self._attempt
        timeout_ms = self.character.rebalance_timeout_ms + 5_000
        self.send(command, partial(self._on_joined, attempt), partial(self._rejoin_later, attempt), timeout_ms)

    def _rejoin_later(self, attempt: int | None = None) -> None:
        self.after(BACKOFF_MS, partial(self._rejoin_if_still, self._attempt if attempt is None else attempt))

    def _rejoin_if_still(self, attempt: int) -> None:
        if attempt == self._attempt:
            self._rejoin()

    def _on_joined(self, attempt: int, answer: JoinGroupAnswer) -> None:
        if attempt != self._attempt or self.is_leaving:
            return
        code = answer.error_code
        self.require_calm(code, ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS)
        if code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
            self._send_join()
        elif code in COORDINATOR_IS_ELSEWHERE or code == ErrorCode.REBALANCE_IN_PROGRESS:
            self._rejoin_later()
        elif code in FATAL:
            self._die_of(code)
        elif code in LOST:
            self._lose(code)
            self._rejoin_later()
        else:
            self.member_id = answer.member_id
            self._generation = self.epoch = answer.generation_id
            self._is_leader = answer.leader == answer.member_id
            self._state = State.SYNCING
            self._beat_again()
            self._sync(answer)

    def _sync(self, joined: JoinGroupAnswer) -> None:
        assignments: tuple[SyncAssignment, ...] = ()
        if self._is_leader:
            self._wanted = wanted_topics(joined.members)
            if not joined.skip_assignment:
                self._leader_saw = self._see_topics()
                self.surroundings.last_assigned[self.group_id] = self._leader_saw
                assignments = assign(self._protocol, joined.members, self._leader_saw)
            else:
                self._leader_saw = self.surroundings.last_assigned.get(self.group_id, {})
        command = SyncGroup(
            self.group_id,
            self.member_id,
            self._generation,
            assignments,
            self.character.instance_id,
            joined.protocol_type,
            joined.protocol_name,
        )
        attempt = self._attempt
        timeout_ms = self.character.rebalance_timeout_ms + 5_000
        self.send(command, partial(self._on_synced, attempt), partial(self._rejoin_later, attempt), timeout_ms)

    def _see_topics(self) -> dict[str, int]:
        """The partitions of each topic that the group wants and that there is."""
        topics = self.surroundings.topics
        return {name: topics[name].partitions for name in self._wanted if name in topics}

    def _misses_topics(self) -> bool:
        """Whether it is the leader, and would assign otherwise now."""
        return self._is_leader and self._see_topics() != self._leader_saw

    def _on_synced(self, attempt: int, answer: SyncGroupAnswer) -> None:
        if attempt != self._attempt or self.is_leaving:
            return
        code = answer.error_code
        self.require_calm(code, ErrorCode.REBALANCE_IN_PROGRESS)
        if code == 0:
            self.surroundings.oracle.claims.told(self)
            self._state = State.STABLE
            self._follow(answer.assignment)
        elif code in FATAL:
            self._die_of(code)
        else:
            if code in LOST:
                self._lose(code)
            self._rejoin_later()

    def _follow(self, assignment: bytes) -> None:
        decoded = consumer_protocol.decode_assignment(assignment) if assignment else None
        assigned = frozenset(
            (self._id_of(topic), index)
            for topic, indexes in (decoded.partitions if decoded else {}).items()
            for index in indexes
        )
        given_up = self.owned - assigned
        gained = assigned - self.owned
        self.gain(self.owned | assigned)
        self.fetch_offsets(gained)
        self._is_giving_up = bool(given_up)
        if given_up:
            self.after(
                self.random.randint(0, self.character.revocation_ms),
                partial(self._given_up_some, self._attempt, given_up),
            )

    def _given_up_some(self, attempt: int, given_up: Set[Partition]) -> None:
        """What others wait for; then everybody joins once more."""
        if self.is_leaving:
            return
        if attempt == self._attempt:
            self.commit(given_up)
            self.owned = self.owned - given_up
            self._rejoin()

    def _id_of(self, topic: str) -> UUID:
        return self.surroundings.id_of(topic)

    def _lose(self, code: int) -> None:
        """Its generation is over, and its partitions are others'. Without an id it begins anew."""
        self._generation = NO_GENERATION
        self.owned = NO_PARTITIONS
        if code == ErrorCode.UNKNOWN_MEMBER_ID:
            self.member_id = ""
            self.epoch = 0

    # Heartbeats

    def _stop_heartbeats(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _beat_again(self) -> None:
        self._stop_heartbeats()
        self._timer = self.after(self.character.heartbeat_interval_ms, self._heartbeat)

    def _heartbeat(self) -> None:
        if self.is_leaving or self._state is State.JOINING or self._generation == NO_GENERATION:
            return
        self._beat_again()
        if self._is_in_flight and not self.character.software.pipelines_heartbeats:
            return
        if self._state is State.STABLE and self._misses_topics():
            self._rejoin()
            return
        self._is_in_flight = True
        command = Heartbeat(self.group_id, self.member_id, self._generation, self.character.instance_id)
        self.send(command, partial(self._on_heartbeat, self._generation), self._on_failure)

    def _on_failure(self) -> None:
        self._is_in_flight = False

    def _on_heartbeat(self, generation: int, answer: HeartbeatAnswer) -> None:
        self._is_in_flight = False
        if self.is_leaving or self._state in (State.UNJOINED, State.JOINING) or generation != self._generation:
            return
        code = answer.error_code
        self.require_calm(code, ErrorCode.REBALANCE_IN_PROGRESS)
        if code in FATAL:
            self._die_of(code)
        elif code in LOST:
            self._lose(code)
            self._rejoin()
        elif code == ErrorCode.REBALANCE_IN_PROGRESS and self._state is State.STABLE:
            self._rejoin()

    # Leaving

    def leave(self) -> None:
        """A static member only goes silent: its place is kept for its session timeout."""
        self.trace("leaves")
        self.is_leaving = True
        self._stop_heartbeats()
        if self.may_commit():
            self.commit(self.owned)
        self.owned = NO_PARTITIONS
        if self.character.instance_id is not None or not self.member_id:
            self._exit()
            return
        command = LeaveGroup(self.group_id, (LeavingMember(self.member_id),))
        self.send(command, self._on_left, self._exit)

    def _on_left(self, answer: LeaveGroupAnswer) -> None:
        for member in answer.members:
            self.require_calm(member.error_code)
        self._exit()
