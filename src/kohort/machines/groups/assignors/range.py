"""The range assignor: each topic is cut into as many runs as it has subscribers, in the order of the members.

Members with the same subscriptions get the same partitions of topics of the same size, so records with the same key
meet in one member. Static members come first, by instance id, so a restart under a new member id moves nothing.

Next hop: none, it is a function of its arguments.
"""

from collections.abc import Mapping

from kohort.machines.groups.assignors.assignor import PartitionCounts, Partitions, Subscriber
from kohort.model.ids import TopicId


def assign_range(subscribers: Mapping[str, Subscriber], partition_counts: PartitionCounts) -> dict[str, Partitions]:
    in_order = sorted(subscribers, key=lambda member_id: _rank(member_id, subscribers[member_id]))
    by_topic: dict[TopicId, list[str]] = {}
    for member_id in in_order:
        for topic_id in subscribers[member_id].topics:
            by_topic.setdefault(topic_id, []).append(member_id)
    assigned: dict[str, dict[TopicId, tuple[int, ...]]] = {member_id: {} for member_id in subscribers}
    for topic_id, member_ids in by_topic.items():
        share, larger_shares = divmod(partition_counts[topic_id], len(member_ids))
        start = 0
        for index, member_id in enumerate(member_ids):
            end = start + share + (index < larger_shares)
            if end > start:
                assigned[member_id][topic_id] = tuple(range(start, end))
            start = end
    return {
        member_id: subscribers[member_id].previous if subscribers[member_id].previous == partitions else partitions
        for member_id, partitions in assigned.items()
    }


def _rank(member_id: str, subscriber: Subscriber) -> tuple[bool, str]:
    return (subscriber.instance_id is None, subscriber.instance_id or member_id)
