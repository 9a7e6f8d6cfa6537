"""What the members of a group subscribe to, and which topics that is at the moment.

Many members subscribe to the same, so what a subscription stands for is worked out once for each different one. The
metadata hash tells whether any subscribed topic was made, removed or grown since the group's last epoch.

Next hop: group.py, which keeps the regular expressions that members use; target.py, which asks.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Final, NamedTuple

from kohort.machines.groups.topics import NO_TOPICS, Topics
from kohort.model.ids import TopicId
from kohort.model.records.groups import (
    NO_METADATA_HASH,
    ConsumerGroupMemberMetadataRecord,
    RegularExpressionRecord,
)
from kohort.model.topics import Topic


class Subscription(NamedTuple):
    """Topics by name, and those that a regular expression stands for; "" is none."""

    names: tuple[str, ...]
    regex: str


NO_SUBSCRIPTION: Final = Subscription((), "")


def subscription_of(metadata: ConsumerGroupMemberMetadataRecord) -> Subscription:
    return Subscription(metadata.subscribed_topic_names, metadata.subscribed_topic_regex or "")


class Subscribed(NamedTuple):
    """The topics of a subscription that exist: in the order of their names, and as a set."""

    topics: tuple[TopicId, ...]
    topic_ids: frozenset[TopicId]


class Subscriptions:
    def __init__(self) -> None:
        self.topics: Topics = NO_TOPICS
        self.expressions: Final[dict[str, RegularExpressionRecord]] = {}
        """What each regular expression stood for when it was last looked at."""
        self._subscribers: Final[dict[Subscription, int]] = {}
        self._subscribed: Final[dict[Subscription, Subscribed]] = {}
        self._all: tuple[Topic, ...] | None = None
        """The topics that anybody subscribes to, as long as that is known."""
        self._metadata_hash: int | None = None

    def add(self, subscription: Subscription) -> None:
        if subscription == NO_SUBSCRIPTION:
            return
        subscribers = self._subscribers.get(subscription, 0)
        self._subscribers[subscription] = subscribers + 1
        if not subscribers:
            self._forget_all()

    def remove(self, subscription: Subscription) -> None:
        if subscription == NO_SUBSCRIPTION:
            return
        self._subscribers[subscription] -= 1
        if self._subscribers[subscription] == 0:
            del self._subscribers[subscription]
            self._subscribed.pop(subscription, None)
            self._forget_all()

    def set_topics(self, topics: Topics) -> None:
        self.topics = topics
        self._forget()

    def follow_topics(self, topics: Topics, changed: Iterable[str]) -> bool:
        """The topics of these names are others now. Whether anybody subscribes to one of them."""
        self.topics = topics
        is_concerned = any(map(self.is_subscribed_to, changed))
        if is_concerned:
            self._forget()
        return is_concerned

    def set_expression(self, record: RegularExpressionRecord) -> None:
        self.expressions[record.regular_expression] = record
        self._forget()

    def remove_expression(self, expression: str) -> None:
        self.expressions.pop(expression, None)
        self._forget()

    def _forget(self) -> None:
        self._subscribed.clear()
        self._forget_all()

    def _forget_all(self) -> None:
        self._all = self._metadata_hash = None

    def subscribers_of_expression(self, expression: str) -> int:
        return sum(count for subscription, count in self._subscribers.items() if subscription.regex == expression)

    def subscribed(self, subscription: Subscription) -> Subscribed:
        known = self._subscribed.get(subscription)
        if known is None:
            topics = tuple(topic.topic_id for topic in self._existing(self._names(subscription)))
            known = self._subscribed[subscription] = Subscribed(topics, frozenset(topics))
        return known

    def is_subscribed_to(self, name: str) -> bool:
        return any(name in self._names(subscription) for subscription in self._subscribers)

    def metadata_hash(self) -> int:
        """Different whenever a subscribed topic is another, or has another number of partitions."""
        if self._metadata_hash is None:
            lines = (f"{topic.name} {topic.topic_id} {topic.partitions}" for topic in self.all_topics())
            digest = blake2b("\n".join(lines).encode(), digest_size=8).digest()
            self._metadata_hash = int.from_bytes(digest, "big", signed=True) if self.all_topics() else NO_METADATA_HASH
        return self._metadata_hash

    def all_topics(self) -> tuple[Topic, ...]:
        """Those that anybody subscribes to and that exist, in the order of their names."""
        if self._all is None:
            self._all = tuple(self._existing(self.all_names()))
        return self._all

    def all_names(self) -> Iterator[str]:
        """Of the topics that anybody subscribes to, some more than once, whether they exist or not."""
        for subscription in self._subscribers:
            yield from self._names(subscription)

    def _names(self, subscription: Subscription) -> tuple[str, ...]:
        expression = self.expressions.get(subscription.regex)
        return subscription.names if expression is None else (*subscription.names, *expression.topics)

    def _existing(self, names: Iterable[str]) -> list[Topic]:
        by_name = self.topics.by_name
        return [by_name[name] for name in sorted(set(names)) if name in by_name]
