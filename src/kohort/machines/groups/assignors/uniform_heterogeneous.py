"""The uniform assignor where members want different topics.

Theory, in three steps. First, everybody keeps what it had of the topics it still wants. Second, topic by topic, the
most contested last to choose from (most partitions for each subscriber first), every partition that nobody has goes to
the subscriber that has the fewest partitions. Third, within each topic, partitions move from the subscriber that has
the most to the one that has the fewest, while they differ by more than one; since a move can make another topic
worth a look, all topics are looked at again, up to a bound.

The result is balanced as far as moves of one partition between two subscribers of its topic can make it so.

Next hop: none, it is a function of its arguments.
"""

from collections.abc import Mapping
from heapq import heapify, heapreplace
from typing import Final

from kohort.machines.groups.assignors.assignor import PartitionCounts, Partitions, Subscriber
from kohort.model.ids import TopicId

MAX_PASSES: Final = 16
"""How often all topics are looked at to level their subscribers. It ends sooner when nothing moves."""


def assign_heterogeneous(
    subscribers: Mapping[str, Subscriber], partition_counts: PartitionCounts
) -> dict[str, Partitions]:
    return _Levelling(subscribers, partition_counts).assign()


class _Levelling:
    """An assignment while it is being made. Members are numbers here, in the order of their ids."""

    def __init__(self, subscribers: Mapping[str, Subscriber], partition_counts: PartitionCounts) -> None:
        self._member_ids = sorted(subscribers)
        self._subscribers = [subscribers[member_id] for member_id in self._member_ids]
        self._counts = partition_counts
        self._subscribers_of: dict[TopicId, list[int]] = {}
        for member, subscriber in enumerate(self._subscribers):
            for topic_id in subscriber.topics:
                self._subscribers_of.setdefault(topic_id, []).append(member)
        self._topics = sorted(self._subscribers_of, key=self._contest)
        self._loads = [0] * len(self._member_ids)
        self._held: list[dict[TopicId, list[int]]] = [{} for _ in self._member_ids]

    def _contest(self, topic_id: TopicId) -> tuple[float, int, TopicId]:
        subscribers = len(self._subscribers_of[topic_id])
        return (-self._counts[topic_id] / subscribers, subscribers, topic_id)

    def assign(self) -> dict[str, Partitions]:
        self._keep_previous()
        for topic_id in self._topics:
            self._hand_out(topic_id)
        for _ in range(MAX_PASSES):
            moves = [self._level(topic_id) for topic_id in self._topics]
            if not any(moves):
                break
        return {
            member_id: self._result(subscriber, held)
            for member_id, subscriber, held in zip(self._member_ids, self._subscribers, self._held)
        }

    def _keep_previous(self) -> None:
        for member, subscriber in enumerate(self._subscribers):
            for topic_id in subscriber.topics:
                previous = subscriber.previous.get(topic_id, ())
                kept = [partition for partition in previous if partition < self._counts[topic_id]]
                self._held[member][topic_id] = kept
                self._loads[member] += len(kept)

    def _hand_out(self, topic_id: TopicId) -> None:
        """Gives each partition that nobody has to the subscriber that has the fewest."""
        members = self._subscribers_of[topic_id]
        owned = {partition for member in members for partition in self._held[member][topic_id]}
        heap = [(self._loads[member], member) for member in members]
        heapify(heap)
        for partition in range(self._counts[topic_id]):
            if partition not in owned:
                load, member = heap[0]
                self._held[member][topic_id].append(partition)
                self._loads[member] = load + 1
                heapreplace(heap, (load + 1, member))

    def _level(self, topic_id: TopicId) -> bool:
        """Moves partitions of one topic from those who have the most to those who have the fewest."""
        members = self._subscribers_of[topic_id]
        has_moved = False
        while True:
            donors = [member for member in members if self._held[member][topic_id]]
            if not donors:
                return has_moved
            donor = max(donors, key=self._loads.__getitem__)
            receiver = min(members, key=self._loads.__getitem__)
            if self._loads[donor] - self._loads[receiver] <= 1:
                return has_moved
            self._held[receiver][topic_id].append(self._held[donor][topic_id].pop())
            self._loads[donor] -= 1
            self._loads[receiver] += 1
            has_moved = True

    def _result(self, subscriber: Subscriber, held: Mapping[TopicId, list[int]]) -> Partitions:
        partitions = {topic_id: tuple(sorted(held[topic_id])) for topic_id in held if held[topic_id]}
        return subscriber.previous if subscriber.previous == partitions else partitions
