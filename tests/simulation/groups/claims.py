"""What members believe to own, and which of them still count.

A member that the group has let go of (it was silent for too long, its instance has another member) may believe what it
likes until it hears of that: its partitions are somebody else's by right. All others own no more than they were given.

Next hop: back to oracle.py.
"""

from collections.abc import Iterator, Set
from typing import Protocol
from uuid import UUID

from tests.simulation.groups.network import Require
from tests.simulation.groups.projection import GroupView, Partition


class Claimant(Protocol):
    """A member as it sees itself."""

    group_id: str
    member_id: str
    epoch: int
    """Or its generation."""
    owned: Set[Partition]
    speaks_classic: bool


class Claims:
    def __init__(self, require: Require) -> None:
        self._require = require
        self._members: dict[str, list[Claimant]] = {}
        self._told: dict[tuple[str, str], int] = {}
        self._removed: set[tuple[str, str]] = set()

    def add(self, member: Claimant) -> None:
        self._members.setdefault(member.group_id, []).append(member)

    def remove(self, member: Claimant) -> None:
        """Its process is gone, and it owns nothing any more."""
        self._members[member.group_id].remove(member)

    def told(self, member: Claimant) -> None:
        """A member was told its epoch by something durable."""
        key = member.group_id, member.member_id
        before = self._told.get(key, 0)
        self._require(member.epoch >= before, key, "is told that its epoch is", member.epoch, "after", before)
        self._told[key] = member.epoch
        self._removed.discard(key)

    def removed(self, group_id: str, member_id: str) -> None:
        """The group has let go of a member: it does not count before it is told of an assignment again."""
        self._removed.add((group_id, member_id))

    def forget_epochs(self, group_id: str) -> None:
        """The group is gone; one of the same name begins anew."""
        for key in [key for key in self._told if key[0] == group_id]:
            del self._told[key]

    def check(self, group_id: str, group: GroupView, topic_ids: Set[UUID]) -> None:
        """A classic member may go on with a topic that is gone: it knows names, which say nothing to the coordinator
        then."""
        owners: dict[Partition, Claimant] = {}
        for member in self._counting(group_id, group):
            if group.members:
                view = group.members[member.member_id]
                beyond = member.owned - view.assigned - view.pending
                is_given = not any(topic_id in topic_ids or not member.speaks_classic for topic_id, _ in beyond)
                self._require(is_given, group_id, member.member_id, "owns", beyond, "but is given", view)
            for partition in member.owned:
                other = owners.setdefault(partition, member)
                self._require(other is member, group_id, partition, "is owned by", other.member_id, member.member_id)

    def _counting(self, group_id: str, group: GroupView) -> Iterator[Claimant]:
        for member in self._members.get(group_id, ()):
            if (group_id, member.member_id) in self._removed:
                continue
            if group.members:
                view = group.members.get(member.member_id)
                if view is not None and (not member.speaks_classic or member.epoch == view.epoch):
                    yield member
            elif group.classic is not None and member.epoch == group.classic.generation:
                yield from (member for each in group.classic.members if each.member_id == member.member_id)
