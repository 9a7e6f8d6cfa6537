"""Who owns which partitions of one group, as its members see it: when all is balanced, and what was owned twice.

Knows nothing of protocols. Members are numbers; a partition is anything hashable. Every step costs as much as what
changed, not as much as the group: the simulated groups have ten thousand members.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from typing import NamedTuple


class What(Enum):
    """What a member tells of itself."""

    JOINING = "joining"
    ASSIGNED = "assigned"
    REVOKED = "revoked"
    LOST = "lost"
    LEAVING = "leaving"
    CLOSED = "closed"
    KILLED = "killed"
    GAP = "gap"
    FAILED = "failed"


class Event(NamedTuple):
    """One thing that happened to one member, at a moment of the machine's monotonic clock."""

    moment_ns: int
    member: int
    what: What
    partitions: tuple[int, ...] = ()
    detail: str = ""


class Ownership:
    """The partitions that each member holds just now."""

    def __init__(self, partition_count: int) -> None:
        self.contested = 0
        """How many partitions more than one member holds."""
        self._partition_count = partition_count
        self._owned_once = 0
        self._holders: Counter[Hashable] = Counter()
        self._held: dict[int, set[Hashable]] = {}
        self._present: set[int] = set()
        self._sizes: Counter[int] = Counter()
        """How many of those present hold so many partitions."""

    def is_balanced(self) -> bool:
        """Every partition is owned, none twice, and nobody present owns two more than another."""
        sizes = [size for size, members in self._sizes.items() if members]
        return (
            self._owned_once == self._partition_count
            and not self.contested
            and bool(sizes)
            and max(sizes) - min(sizes) <= 1
        )

    def held_by(self, member: int) -> set[Hashable]:
        return set(self._held.get(member, ()))

    def enter(self, member: int) -> None:
        """From now on this one is to own its share."""
        self._present.add(member)
        self._sizes[len(self._held.setdefault(member, set()))] += 1

    def leave(self, member: int) -> None:
        """From now on this one is to own nothing; what it still holds is held until it gives it up."""
        if member in self._present:
            self._present.remove(member)
            self._sizes[len(self._held[member])] -= 1

    def gain(self, member: int, partitions: Iterable[Hashable]) -> None:
        self._hold(member, set(partitions) - self._held[member], 1)

    def give_up(self, member: int, partitions: Iterable[Hashable]) -> None:
        self._hold(member, set(partitions) & self._held[member], -1)

    def vanish(self, member: int) -> None:
        """This one is gone, and holds nothing any more."""
        self.leave(member)
        self.give_up(member, self.held_by(member))

    def apply(self, event: Event) -> None:
        match event.what:
            case What.JOINING:
                self.enter(event.member)
            case What.ASSIGNED:
                self.gain(event.member, event.partitions)
            case What.REVOKED | What.LOST:
                self.give_up(event.member, event.partitions)
            case What.LEAVING:
                self.leave(event.member)
            case What.CLOSED | What.KILLED:
                self.vanish(event.member)
            case What.GAP | What.FAILED:
                pass

    def _hold(self, member: int, partitions: set[Hashable], change: int) -> None:
        held = self._held[member]
        if member in self._present:
            self._sizes[len(held)] -= 1
            self._sizes[len(held) + change * len(partitions)] += 1
        for partition in partitions:
            self._count(self._holders[partition], -1)
            self._holders[partition] += change
            self._count(self._holders[partition], 1)
        held.symmetric_difference_update(partitions)

    def _count(self, holders: int, change: int) -> None:
        self._owned_once += change * (holders == 1)
        self.contested += change * (holders > 1)


def settled_seconds(events: Sequence[Event]) -> float:
    """From the first coming or going to the last change of ownership; infinite if it changed nothing."""
    began = [event.moment_ns for event in events if event.what in (What.JOINING, What.LEAVING, What.KILLED)]
    changed = [event.moment_ns for event in events if event.what in (What.ASSIGNED, What.REVOKED, What.LOST)]
    return (max(changed) - min(began)) / 1e9 if changed else math.inf


def owned_twice(events: Sequence[Event], partition_count: int) -> list[Event]:
    """The events that gave a member what another still held, had all been told in the order they happened."""
    ownership = Ownership(partition_count)
    found = []
    for event in sorted(events, key=lambda event: event.moment_ns):
        contested = ownership.contested
        ownership.apply(event)
        if ownership.contested > contested:
            found.append(event)
    return found


def unowned_seconds(events: Sequence[Event]) -> list[float]:
    """For each partition that moved: how long nobody owned it, from one member's callback to the other's."""
    given_up: dict[int, tuple[int, int]] = {}
    seconds = []
    for event in sorted(events, key=lambda event: event.moment_ns):
        for partition in event.partitions:
            if event.what in (What.REVOKED, What.LOST):
                given_up[partition] = event.moment_ns, event.member
            elif event.what is What.ASSIGNED and partition in given_up:
                since_ns, member = given_up.pop(partition)
                if member != event.member:
                    seconds.append((event.moment_ns - since_ns) / 1e9)
    return seconds
