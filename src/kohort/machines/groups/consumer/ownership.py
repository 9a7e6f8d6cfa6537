"""Who has each partition of a group, and who is to have it: both derived from what the members' records say.

A partition is owned from the moment that it is assigned until its member said that it gave it up, or is gone. Its heir
is whoever the target gives it to. While a rebalance is recorded, the owners that partitions had before are remembered.

It decides nothing. Next hop: group.py, which keeps it up to date.
"""

from collections.abc import Callable, Iterator
from typing import Final

from kohort.machines.groups.assignors.assignor import Partitions
from kohort.machines.groups.consumer.reconciliation import Position
from kohort.model.ids import TopicId

Owners = dict[tuple[str, int], str]
"""Member ids by topic name and partition."""


class Ownership:
    def __init__(self) -> None:
        self._owners: Final[dict[TopicId, dict[int, str]]] = {}
        self._heirs: Final[dict[TopicId, dict[int, str]]] = {}
        self._before: dict[tuple[TopicId, int], str | None] | None = None

    def is_taken(self, topic_id: TopicId, partition: int) -> bool:
        owners = self._owners.get(topic_id)
        return owners is not None and partition in owners

    def has_heirs(self) -> bool:
        return bool(self._heirs)

    def change_owner(self, member_id: str, before: Position, after: Position) -> Iterator[str]:
        """The member has moved. Gives the heirs of what became free by that."""
        for partitions in (before.assigned, before.pending):
            for topic_id, epochs in partitions.items():
                kept, pending = after.assigned.get(topic_id, {}), after.pending.get(topic_id, {})
                heirs = self._heirs.get(topic_id, {})
                for partition in epochs:
                    if partition not in kept and partition not in pending:
                        self._release(member_id, topic_id, partition)
                        heir = heirs.get(partition)
                        if heir is not None:
                            yield heir
        for partitions in (after.assigned, after.pending):
            for topic_id, epochs in partitions.items():
                owners = self._owners.setdefault(topic_id, {})
                if self._before is not None:
                    for partition in epochs:
                        self._before.setdefault((topic_id, partition), owners.get(partition))
                owners.update(dict.fromkeys(epochs, member_id))

    def _release(self, member_id: str, topic_id: TopicId, partition: int) -> None:
        owners = self._owners.get(topic_id, {})
        if owners.get(partition) == member_id:
            if self._before is not None:
                self._before.setdefault((topic_id, partition), member_id)
            del owners[partition]
            if not owners:
                del self._owners[topic_id]

    def change_heir(self, member_id: str, before: Partitions, after: Partitions) -> None:
        """The member has another target."""
        for topic_id, partitions in before.items():
            heirs = self._heirs.get(topic_id, {})
            for partition in partitions:
                if heirs.get(partition) == member_id:
                    del heirs[partition]
            if not heirs:
                self._heirs.pop(topic_id, None)
        for topic_id, partitions in after.items():
            self._heirs.setdefault(topic_id, {}).update(dict.fromkeys(partitions, member_id))

    # What has changed hands

    def remember(self) -> None:
        """From now on, until changes are asked for."""
        self._before = {}

    def changes(self, name_of: Callable[[TopicId], str]) -> tuple[Owners, Owners]:
        """Who had, and who has now, the partitions that have changed hands; it is forgotten with that."""
        remembered, self._before = self._before or {}, None
        before: Owners = {}
        after: Owners = {}
        for (topic_id, partition), owner in remembered.items():
            at = name_of(topic_id), partition
            if owner is not None:
                before[at] = owner
            current = self._owners.get(topic_id, {}).get(partition)
            if current is not None:
                after[at] = current
        return before, after
