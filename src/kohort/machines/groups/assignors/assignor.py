"""What an assignor is told and what it answers.

An assignor is a pure function: every subscribed partition goes to exactly one member that subscribes to its topic. It
knows nothing of epochs, or of who owns what at the moment: how the group gets to the target is for
consumer/reconciliation.py.

Next hop: uniform.py and range.py.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from kohort.model.ids import TopicId

Partitions = Mapping[TopicId, tuple[int, ...]]
"""Partitions by topic, each topic's in ascending order and never none."""

NO_PARTITIONS: Partitions = {}


class Subscriber(NamedTuple):
    """A member as an assignor sees it: the topics that it wants and that exist, and what it was to have last time."""

    topics: tuple[TopicId, ...]
    """Without repetition, in the same order for all who want the same."""
    previous: Partitions
    instance_id: str | None = None


PartitionCounts = Mapping[TopicId, int]
Assign = Callable[[Mapping[str, Subscriber], PartitionCounts], dict[str, Partitions]]
"""From subscribers by member id, and how many partitions each subscribed topic has, to what each member is to have. A
member whose partitions stay the same is given the very mapping that it had."""


def is_homogeneous(subscribers: Mapping[str, Subscriber]) -> bool:
    """Whether all want the same topics."""
    topics = next(iter(subscribers.values())).topics
    return all(subscriber.topics is topics or subscriber.topics == topics for subscriber in subscribers.values())
