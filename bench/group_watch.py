"""A group of real consumers, watched from outside: steps that change it, and how long until it is balanced again.

A step is over when every partition is owned and the group balanced, as the clients see it, and nothing has changed for
a while after. Several groups are watched at once, so that their waits are one.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Final

from bench.brokers import Broker, Subject
from bench.connection import LoadError
from bench.group_calls import wait_for_coordinator
from bench.group_crew import Crew, Kind
from bench.group_ownership import Event, Ownership, What, owned_twice, settled_seconds

_BALANCED_WITHIN_S: Final = 90.0
_CLOSED_WITHIN_S: Final = 30.0
_READ_S: Final = 0.05
PARTITIONS_EACH: Final = 2
QUIET_S: Final = 1.2
"""Longer than the second within which Kafka computes no second assignment."""
INTERVAL_S: Final = {Subject.KOHORT: 1.0, Subject.KAFKA: 5.0}
"""What each broker tells KIP-848 members to leave between two heartbeats."""
CLASSIC_INTERVAL_S: Final = 3.0
"""What Java and librdkafka leave between two of classic members when nobody asks for anything else."""
Act = Callable[["WatchedGroup"], None]


class WatchedGroup:
    """One group: who is in it, and what its members told."""

    def __init__(self, crew: Crew, broker: Broker, name: str, topic: str, partition_count: int, kind: Kind) -> None:
        self.members: list[int] = []
        self.step: list[Event] = []
        """What was told since the step began."""
        self._crew = crew
        self._port = broker.port
        self._name = name
        self._topic = topic
        self._partition_count = partition_count
        self._kind = kind
        self._ownership = Ownership(partition_count)
        self._events: list[Event] = []
        self._all_members: set[int] = set()
        self._leavers: set[int] = set()
        wait_for_coordinator(broker.port, [name])

    def join(self, count: int = 1, process: int | None = None) -> None:
        for _ in range(count):
            member = self._crew.join(self._port, self._name, self._topic, self._kind, process)
            self.members.append(member)
            self._all_members.add(member)

    def leave(self, member: int) -> None:
        self.members.remove(member)
        self._leavers.add(member)
        self._crew.leave(member)

    def kill(self, member: int) -> None:
        self.members.remove(member)
        moment_ns = time.monotonic_ns()
        self._crew.kill(member)
        self.note(Event(moment_ns, member, What.KILLED))

    def knows(self, event: Event) -> bool:
        return event.member in self._all_members

    def note(self, event: Event) -> None:
        self.step.append(event)
        self._events.append(event)
        self._ownership.apply(event)

    def begin_step(self) -> None:
        self.step = []

    def is_balanced(self) -> bool:
        """All who were asked to come or go have begun to, and everything is owned evenly."""
        begun = Counter(event.what for event in self._events)
        all_began = begun[What.JOINING] == len(self._all_members) and begun[What.LEAVING] == len(self._leavers)
        return all_began and self._ownership.is_balanced()

    def changes(self) -> int:
        return sum(event.what in (What.ASSIGNED, What.REVOKED, What.LOST) for event in self.step)

    def has_closed(self) -> bool:
        gone = {event.member for event in self._events if event.what in (What.CLOSED, What.KILLED)}
        return gone == self._all_members

    def check(self) -> None:
        """Nothing measured of a group counts in which a partition was ever owned by two members."""
        twice = owned_twice(self._events, self._partition_count)
        if twice:
            raise LoadError(f"group {self._name}: owned by two members at once: {twice[:3]}")


def join_one(group: WatchedGroup) -> None:
    group.join()


def leave_one(group: WatchedGroup) -> None:
    """Neither the first, which leads a classic group, nor the last."""
    group.leave(group.members[len(group.members) // 2])


def leave_newest(group: WatchedGroup) -> None:
    group.leave(group.members[-1])


def kill_newest(group: WatchedGroup) -> None:
    group.kill(group.members[-1])


def act_at(crew: Crew, groups: Sequence[WatchedGroup], moments_s: Sequence[float], act: Act) -> list[float]:
    """A step: acts on each group at its moment from now on, and settles; the seconds each group took from its own."""
    began = time.monotonic()
    for group in groups:
        group.begin_step()
    for moment_s, group in sorted(zip(moments_s, groups), key=itemgetter(0)):
        _read_until(crew, groups, began + moment_s)
        act(group)
    return settle(crew, groups)


def settle(crew: Crew, groups: Sequence[WatchedGroup]) -> list[float]:
    """Waits until all groups are balanced and stay so; the seconds until each was, since its step began."""
    deadline = time.monotonic() + _BALANCED_WITHIN_S
    while True:
        if _are_balanced(groups):
            _stay_quiet(crew, groups)
            if _are_balanced(groups):
                return [settled_seconds(group.step) for group in groups]
        if time.monotonic() > deadline:
            unbalanced = [group.step[-5:] for group in groups if not group.is_balanced()]
            raise LoadError(f"not balanced within {_BALANCED_WITHIN_S:.0f} s; told last: {unbalanced}")
        _read(crew, groups)


def gaps(crew: Crew, group: WatchedGroup, from_ns: int, until_ns: int) -> dict[int, float]:
    """Of each member that has not left: the longest time between two messages within this span, in ms."""
    crew.ask_gaps(from_ns, until_ns)
    asked_ns = time.monotonic_ns()
    found: dict[int, float] = {}
    while len(found) < len(group.members):
        for event in crew.events(_READ_S):
            if event.what is What.GAP:
                found[event.member] = int(event.detail) / 1e6
            else:
                group.note(event)
        if time.monotonic_ns() - asked_ns > _CLOSED_WITHIN_S * 1e9:
            raise LoadError(f"only {len(found)} members told how long they had no message")
    return found


def close(crew: Crew, groups: Sequence[WatchedGroup]) -> None:
    """All leave; then what each group told is checked."""
    for group in groups:
        for member in list(group.members):
            group.leave(member)
    deadline = time.monotonic() + _CLOSED_WITHIN_S
    while not all(group.has_closed() for group in groups):
        _read(crew, groups)
        if time.monotonic() > deadline:
            raise LoadError(f"members did not close within {_CLOSED_WITHIN_S:.0f} s")
    for group in groups:
        group.check()


def _are_balanced(groups: Sequence[WatchedGroup]) -> bool:
    return all(group.is_balanced() for group in groups)


def _stay_quiet(crew: Crew, groups: Sequence[WatchedGroup]) -> None:
    """Until nothing has changed for long enough."""
    changes = -1
    while changes != (changes := sum(group.changes() for group in groups)):
        _read_until(crew, groups, time.monotonic() + QUIET_S)


def _read_until(crew: Crew, groups: Sequence[WatchedGroup], moment: float) -> None:
    while (left := moment - time.monotonic()) > 0:
        _read(crew, groups, min(left, _READ_S))


def _read(crew: Crew, groups: Sequence[WatchedGroup], timeout_s: float = _READ_S) -> None:
    for event in crew.events(timeout_s):
        for group in groups:
            if group.knows(event):
                group.note(event)
