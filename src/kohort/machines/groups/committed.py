"""The offsets of a shard's groups as they were committed: by group, by topic, and there by partition.

A member commits the same partitions again and again, so commits are kept as they came: a slot for each combination of
partitions that was committed together, and a commit of the same ones only replaces what is in it. Which slot counts for
a partition is looked up in `places`, which are made when somebody asks or when the combinations begin to differ.

Changed by replay only, and decides nothing. Next hop: none; offsets.py and expiry.py read it.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kohort.machines.groups.topics import Topics
from kohort.model.commands.groups import OffsetFetchAnswer, TopicOffsetsQuery
from kohort.model.ids import TopicId
from kohort.model.records.groups import OffsetCommitRecord, RemoveOffsetRecord

_MOST_ANSWERS: Final = 256
_FEW_PARTITIONS: Final = 100
"""An answer about more of them is not remembered."""
_ALWAYS_BEARABLE: Final = 64
"""How many columns may be kept that no longer count, however few count."""


class Committed(NamedTuple):
    """What a partition's last commit said."""

    offset: int
    leader_epoch: int
    metadata: str
    topic_id: TopicId


class _Slot:
    __slots__ = ("counting", "record")

    def __init__(self, record: OffsetCommitRecord) -> None:
        self.record = record
        self.counting = len(record.partitions)
        """How many of its partitions were not committed in another slot since."""


class TopicOffsets:
    """What a group committed to one topic."""

    __slots__ = ("_kept", "_places", "_slots")

    def __init__(self) -> None:
        self._slots: Final[dict[tuple[int, ...], _Slot]] = {}
        self._places: dict[int, tuple[_Slot, int]] | None = None
        self._kept = 0
        """Columns in all slots, whether or not they count."""

    def put(self, record: OffsetCommitRecord) -> None:
        partitions = record.partitions
        slot = self._slots.get(partitions)
        if slot is not None and slot.counting == len(partitions):
            slot.record = record
        elif not self._slots:
            self._slots[partitions] = _Slot(record)
            self._places = None
            self._kept = len(partitions)
        else:
            self._put_over_others(record)

    def _put_over_others(self, record: OffsetCommitRecord) -> None:
        partitions, places = record.partitions, self._places_by_partition()
        for partition in partitions:
            self._take_away(partition)
        slot = self._slots[partitions] = _Slot(record)
        for place, partition in enumerate(partitions):
            places[partition] = (slot, place)
        self._kept += len(partitions)
        if self._kept > 2 * len(places) + _ALWAYS_BEARABLE:
            self._keep_what_counts()

    def remove(self, partition: int) -> None:
        self._places_by_partition()
        self._take_away(partition)

    def _take_away(self, partition: int) -> None:
        slot, _ = self._places_by_partition().pop(partition, (None, 0))
        if slot is not None:
            slot.counting -= 1
            if not slot.counting:
                del self._slots[slot.record.partitions]
                self._kept -= len(slot.record.partitions)

    def _places_by_partition(self) -> dict[int, tuple[_Slot, int]]:
        places = self._places
        if places is None:
            # So far there is one slot at most, and all of it counts.
            places = self._places = {
                partition: (slot, place)
                for slot in self._slots.values()
                for place, partition in enumerate(slot.record.partitions)
            }
        return places

    def _keep_what_counts(self) -> None:
        records = tuple(self.records())
        self._slots.clear()
        self._places = {}
        self._kept = 0
        for record in records:
            self.put(record)

    # Questions

    def __bool__(self) -> bool:
        return bool(self._slots)

    def get(self, partition: int) -> Committed | None:
        slot, place = self._places_by_partition().get(partition, (None, 0))
        if slot is None:
            return None
        record = slot.record
        metadata = record.metadata[place] if record.metadata else ""
        return Committed(record.offsets[place], record.leader_epochs[place], metadata, record.topic_id)

    def partitions(self) -> tuple[int, ...]:
        return tuple(self._places_by_partition())

    def records(self) -> Iterator[OffsetCommitRecord]:
        """The commits that count, without the partitions that no longer do."""
        for slot in self._slots.values():
            if slot.counting == len(slot.record.partitions):
                yield slot.record
            else:
                yield _some_of(slot.record, self._counting_places(slot))

    def _counting_places(self, slot: _Slot) -> tuple[int, ...]:
        places = self._places_by_partition()
        return tuple(
            place for place, partition in enumerate(slot.record.partitions) if places.get(partition) == (slot, place)
        )


Asked = tuple[TopicOffsetsQuery, ...] | None


class GroupOffsets:
    """What a group committed, by topic."""

    __slots__ = ("answers", "topics")

    def __init__(self) -> None:
        self.topics: Final[dict[str, TopicOffsets]] = {}
        self.answers: Final[dict[Asked, tuple[Topics, OffsetFetchAnswer]]] = {}
        """What was answered, by what was asked, and of which topics: forgotten as soon as an offset changes."""

    def changing(self, topic: str) -> TopicOffsets:
        self.answers.clear()
        offsets = self.topics.get(topic)
        if offsets is None:
            offsets = self.topics[topic] = TopicOffsets()
        return offsets


NO_OFFSETS: Final = GroupOffsets()


class CommittedOffsets:
    """What all groups of a shard committed."""

    def __init__(self) -> None:
        self._by_group: Final[dict[str, GroupOffsets]] = {}
        self._answered: Final[list[GroupOffsets]] = []
        """One for each answer that was remembered, so that there are never too many."""

    def put(self, record: OffsetCommitRecord) -> None:
        group = self._by_group.get(record.group_id)
        if group is None:
            group = self._by_group[record.group_id] = GroupOffsets()
        group.changing(record.topic).put(record)

    def remove(self, record: RemoveOffsetRecord) -> None:
        group = self._by_group.get(record.group_id)
        if group is None or record.topic not in group.topics:
            return
        offsets = group.changing(record.topic)
        offsets.remove(record.partition)
        if not offsets:
            del group.topics[record.topic]
            if not group.topics:
                del self._by_group[record.group_id]

    def remember(self, group_id: str, asked: Asked, topics: Topics, answer: OffsetFetchAnswer) -> None:
        group = self._by_group.get(group_id)
        if group is None or sum(len(topic.partitions) for topic in answer.topics) > _FEW_PARTITIONS:
            return
        if len(self._answered) >= _MOST_ANSWERS:
            for each in self._answered:
                each.answers.clear()
            self._answered.clear()
        self._answered.append(group)
        group.answers[asked] = (topics, answer)

    def kept_of(self, group_id: str) -> GroupOffsets:
        return self._by_group.get(group_id, NO_OFFSETS)

    def of_group(self, group_id: str) -> Mapping[str, TopicOffsets]:
        """By topic."""
        return self.kept_of(group_id).topics

    def of_topic(self, topic: str) -> Iterator[tuple[str, TopicOffsets]]:
        """By group."""
        for group_id, group in self._by_group.items():
            offsets = group.topics.get(topic)
            if offsets is not None:
                yield group_id, offsets

    def snapshot(self) -> Iterator[OffsetCommitRecord]:
        for group in self._by_group.values():
            for offsets in group.topics.values():
                yield from offsets.records()


def _some_of(record: OffsetCommitRecord, places: tuple[int, ...]) -> OffsetCommitRecord:
    """The commit of only the partitions at these places of it."""
    return record._replace(
        partitions=tuple([record.partitions[place] for place in places]),
        offsets=tuple([record.offsets[place] for place in places]),
        leader_epochs=tuple([record.leader_epochs[place] for place in places]),
        metadata=tuple([record.metadata[place] for place in places]) if record.metadata else (),
    )
