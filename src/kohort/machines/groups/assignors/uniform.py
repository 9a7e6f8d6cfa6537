"""The uniform assignor: every member gets the same number of partitions, give or take one, and keeps what it can.

Theory, where all members want the same topics. Of `total` partitions each of `n` members gets `total // n`, and
`total % n` of them get one more. A member keeps of its previous partitions as many as its share allows. The extra ones
go first to members that would otherwise lose a partition: a member that can fill its share without the extra gives it
back, as long as enough members come after it to take all extras. So no other balanced assignment keeps more.

Members that want different topics are for uniform_heterogeneous.py. Every run gives the same result: members are taken
in the order of their ids.

Next hop: uniform_heterogeneous.py, where subscriptions differ.
"""

from collections.abc import Iterator, Mapping

from kohort.machines.groups.assignors.assignor import PartitionCounts, Partitions, Subscriber, is_homogeneous
from kohort.machines.groups.assignors.uniform_heterogeneous import assign_heterogeneous
from kohort.model.ids import TopicId


def assign_uniform(subscribers: Mapping[str, Subscriber], partition_counts: PartitionCounts) -> dict[str, Partitions]:
    if not subscribers:
        return {}
    if is_homogeneous(subscribers):
        return _assign_homogeneous(subscribers, partition_counts)
    return assign_heterogeneous(subscribers, partition_counts)


def _assign_homogeneous(
    subscribers: Mapping[str, Subscriber], partition_counts: PartitionCounts
) -> dict[str, Partitions]:
    topics = next(iter(subscribers.values())).topics
    counts = {topic_id: partition_counts[topic_id] for topic_id in topics}
    members_left = len(subscribers)
    share, extras = divmod(sum(counts.values()), members_left)
    assigned: dict[str, Partitions] = {}
    unfilled: list[tuple[str, int]] = []
    for member_id in sorted(subscribers):
        takes_extra = extras > 0
        kept, missing = _keep(subscribers[member_id].previous, counts, share + takes_extra)
        if takes_extra and missing > 0 and members_left > extras:
            takes_extra = False
            missing -= 1
        if missing > 0:
            unfilled.append((member_id, missing))
        extras -= takes_extra
        members_left -= 1
        assigned[member_id] = kept
    if unfilled:
        unowned = _unowned(assigned, counts)
        for member_id, missing in unfilled:
            assigned[member_id] = _with_more(assigned[member_id], unowned, missing)
    return assigned


def _keep(previous: Partitions, counts: PartitionCounts, quota: int) -> tuple[Partitions, int]:
    """What a member keeps of its previous partitions, and how many it has room for beside them."""
    size = sum(map(len, previous.values()))
    if size <= quota and all(partitions[-1] < counts.get(topic, 0) for topic, partitions in previous.items()):
        return previous, quota - size
    kept: dict[TopicId, tuple[int, ...]] = {}
    for topic_id, partitions in previous.items():
        if quota == 0:
            break
        if topic_id in counts:
            still_there = tuple(partition for partition in partitions if partition < counts[topic_id])[:quota]
            if still_there:
                kept[topic_id] = still_there
                quota -= len(still_there)
    return kept, quota


def _unowned(assigned: Mapping[str, Partitions], counts: PartitionCounts) -> Iterator[tuple[TopicId, int]]:
    """Every partition that nobody kept, topic by topic."""
    owned: dict[TopicId, set[int]] = {topic_id: set() for topic_id in counts}
    for kept in assigned.values():
        for topic_id, partitions in kept.items():
            owned[topic_id].update(partitions)
    return (
        (topic_id, partition)
        for topic_id, count in counts.items()
        for partition in range(count)
        if partition not in owned[topic_id]
    )


def _with_more(kept: Partitions, unowned: Iterator[tuple[TopicId, int]], missing: int) -> Partitions:
    gained: dict[TopicId, list[int]] = {}
    for _ in range(missing):
        topic_id, partition = next(unowned)
        gained.setdefault(topic_id, []).append(partition)
    together = dict(kept)
    for topic_id, partitions in gained.items():
        together[topic_id] = tuple(sorted((*kept.get(topic_id, ()), *partitions)))
    return together
