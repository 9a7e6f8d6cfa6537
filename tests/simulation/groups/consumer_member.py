"""A consumer of the consumer protocol (KIP-848) as the real ones behave (GROUPS.md 2.2, 2.4, 2.7).

It sends a heartbeat each interval, one at a time; says all about itself when it joins and after every failure, else
only what changed. What it is told to give up it gives up in its own time, and says so at once; a newer assignment that
comes meanwhile is followed afterwards. When it is fenced it drops everything and joins again with the same id.

Next hop: client.py.
"""

from collections.abc import Set

from kohort.model.commands.groups import (
    NO_TIMEOUT_MS,
    AssignedTopic,
    ConsumerGroupHeartbeat,
    ConsumerGroupHeartbeatAnswer,
)
from kohort.model.errors import ErrorCode
from tests.simulation.groups.allowed_errors import partitions_of
from tests.simulation.groups.client import (
    BACKOFF_MS,
    COORDINATOR_IS_ELSEWHERE,
    Character,
    Client,
    Surroundings,
    by_topic,
)
from tests.simulation.groups.clock import Alarm
from tests.simulation.groups.projection import NO_PARTITIONS, Partition

JOINS = 0
LEAVES = -1
LEAVES_FOR_A_WHILE = -2
FATAL = frozenset(
    {
        ErrorCode.GROUP_ID_NOT_FOUND,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNRELEASED_INSTANCE_ID,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    }
)


class ConsumerMember(Client):
    def __init__(self, surroundings: Surroundings, character: Character, member_id: str) -> None:
        super().__init__(surroundings, character, member_id)
        self.topics = character.topics
        self.regex = character.regex
        self._interval_ms = 0
        self._is_in_flight = False
        self._says_all = True
        self._is_urgent = False
        """There is something to say as soon as the heartbeat that is on its way was answered."""
        self._is_overdue = False
        """Its time came while the last one was not answered."""
        self._told: Set[Partition] | None = None
        """What it last said that it owns."""
        self._target: Set[Partition] = NO_PARTITIONS
        self._is_revoking = False
        self._is_subscription_new = False
        self._is_subscribing = False
        """It wants other topics, and has no answer to that yet."""
        self._timer: Alarm | None = None

    def is_settled(self) -> bool:
        has_news = self._is_urgent or self._is_subscribing
        return self.epoch > 0 and not self._is_revoking and self.owned == self._target and not has_news

    def may_commit(self) -> bool:
        return self.epoch > 0 and not self.is_leaving

    # Joining and leaving

    def join(self) -> None:
        self.owned = NO_PARTITIONS
        self._target = NO_PARTITIONS
        self._told = None
        self.epoch = JOINS
        self._says_all = True
        self._heartbeat()

    def leave(self) -> None:
        """A leave is sent even behind a heartbeat that is not answered yet."""
        self.trace("leaves")
        self.is_leaving = True
        self.commit(self.owned)
        self.owned = NO_PARTITIONS
        if self._timer is not None:
            self._timer.cancel()
        if (self.epoch == JOINS and not self._is_in_flight) or not self.member_id:
            self._exit()
            return
        is_static = self.character.instance_id is not None
        self.epoch = LEAVES_FOR_A_WHILE if is_static else LEAVES
        command = ConsumerGroupHeartbeat(self.group_id, self.member_id, self.epoch, self.character.instance_id)
        self.send(command, self._on_left, self._exit)

    def _on_left(self, answer: ConsumerGroupHeartbeatAnswer) -> None:
        self.require_calm(answer.error_code)
        self._exit()

    def subscribe(self, topics: tuple[str, ...]) -> None:
        self.trace("subscribes to", topics)
        self.topics = topics
        self._is_subscription_new = self._is_subscribing = True
        self._say_soon()

    # Heartbeats

    def _say_soon(self) -> None:
        self._is_urgent = True
        if not self._is_in_flight:
            self._heartbeat()

    def _heartbeat(self) -> None:
        if self.is_leaving:
            return
        if self._is_in_flight:
            self._is_overdue = True
            return
        if self._timer is not None:
            self._timer.cancel()
        software = self.character.software
        says_all = self._says_all or (software.says_all_without_partitions and not self.owned)
        tells_owned = says_all or self._told != self.owned
        names = self.topics if says_all or self._is_subscription_new else None
        command = ConsumerGroupHeartbeat(
            self.group_id,
            self.member_id,
            self.epoch,
            self.character.instance_id,
            None,
            self.character.rebalance_timeout_ms if says_all else NO_TIMEOUT_MS,
            names,
            self._regex_to_say() if says_all else None,
            self.character.server_assignor if says_all else None,
            assigned_topics(self.owned) if tells_owned else None,
            not self.character.lets_coordinator_choose_id,
        )
        self._told = self.owned if tells_owned else self._told
        self._says_all = self._is_urgent = self._is_subscription_new = self._is_overdue = False
        self._is_in_flight = True
        patience_ms = self._interval_ms if software.waits_for_interval_only and self._interval_ms else None
        self.send(command, self._on_heartbeat, self._on_failure, patience_ms)
        self._beat_again_after(self._interval_ms or self.character.heartbeat_interval_ms)

    def _regex_to_say(self) -> str | None:
        """A static member might come after one that had an expression, and says that it has none."""
        return "" if self.regex is None and self.character.instance_id is not None else self.regex

    def _beat_again_after(self, delay_ms: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.after(delay_ms, self._heartbeat)

    def _on_failure(self) -> None:
        """Nobody knows what became of the request, so the next one says all."""
        self._is_in_flight = False
        self._says_all = True
        if not self.is_leaving:
            self._beat_again_after(BACKOFF_MS)

    def _on_heartbeat(self, answer: ConsumerGroupHeartbeatAnswer) -> None:
        self._is_in_flight = False
        if self.is_leaving:
            return
        code = answer.error_code
        self.require_calm(code)
        if code in COORDINATOR_IS_ELSEWHERE:
            self._on_failure()
        elif code in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH):
            self.join()
        elif code in FATAL:
            self._die_of(code)
        else:
            self._follow(answer)

    def _follow(self, answer: ConsumerGroupHeartbeatAnswer) -> None:
        is_first = self.epoch == JOINS
        self.member_id = answer.member_id or self.member_id
        self._is_subscribing = self._is_subscription_new
        self.epoch = answer.member_epoch
        self.surroundings.oracle.claims.told(self)
        interval_ms, self._interval_ms = self._interval_ms, answer.heartbeat_interval_ms
        self.surroundings.oracle.require(self._interval_ms > 0, "a live member is told no interval")
        if is_first or interval_ms != self._interval_ms or self.character.software.counts_from_answer:
            self._beat_again_after(self._interval_ms)
        if answer.assignment is not None:
            self._target = partitions_of(answer.assignment.topic_partitions)
            self._reconcile(is_first and self.character.software.acknowledges_nothing)
        if self._is_urgent or self._is_overdue:
            self._heartbeat()

    # Following the assignment

    def _reconcile(self, acknowledges_nothing: bool = False) -> None:
        if self._is_revoking:
            return
        if self.owned - self._target:
            self._is_revoking = True
            self.after(self.random.randint(0, self.character.revocation_ms), self._revoked)
        elif self._target != self.owned or acknowledges_nothing:
            self._take_up()

    def _revoked(self) -> None:
        """Its application has let go."""
        self._is_revoking = False
        if not self.is_leaving:
            self.commit(self.owned - self._target)
            self._take_up()

    def _take_up(self) -> None:
        """Owns what it is to own, and only then says what that is: it never says that it lacks what it will take."""
        gained = self._target - self.owned
        self.gain(self._target)
        self._say_soon()
        self.fetch_offsets(gained)


def assigned_topics(partitions: Set[Partition]) -> tuple[AssignedTopic, ...]:
    return tuple(AssignedTopic(topic_id, indexes) for topic_id, indexes in by_topic(partitions).items())
