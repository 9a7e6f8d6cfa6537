"""The topics of the org as a shard of groups knows them: told by the broker, never written.

Next hop: none; offsets.py and the consumer groups look here.
"""

from collections.abc import Mapping
from typing import Final

from kohort.model.ids import TopicId
from kohort.model.topics import Topic


class Topics:
    """All topics at one time."""

    __slots__ = ("_by_id", "by_name", "rack")

    def __init__(self, by_name: Mapping[str, Topic], rack: str | None = None) -> None:
        self.by_name: Final = by_name
        self.rack: Final = rack
        """Where every replica stands."""
        self._by_id: dict[TopicId, Topic] | None = None

    def by_id(self, topic_id: TopicId) -> Topic | None:
        """Most shards are never asked, so the index is made when one is."""
        if self._by_id is None:
            self._by_id = {topic.topic_id: topic for topic in self.by_name.values()}
        return self._by_id.get(topic_id)

    def name_of(self, topic_id: TopicId) -> str:
        """For people: of a topic that is gone, the id is all there is."""
        topic = self.by_id(topic_id)
        return str(topic_id) if topic is None else topic.name


NO_TOPICS: Final = Topics({})
