"""Every open partition of the broker, found by its topic's name or id.

Decides that a partition is open as long as the catalog has its topic, and how it is kept. It never looks into a log.

Next hop: partition.py.
"""

import logging
from collections.abc import Callable, Container, Iterator
from typing import Final

from kohort.broker.partition import Partition, log_config
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import OrgId, TopicId
from kohort.model.topics import Topic, TopicConfig
from kohort.store.log import LogId, Store, StoreError

_log: Final = logging.getLogger(__name__)


class Partitions:
    def __init__(self, store: Store) -> None:
        self._store: Final = store
        self._by_key: Final[dict[tuple[OrgId, str | TopicId, int], Partition]] = {}
        self._topics: Final[dict[tuple[OrgId, str], Topic]] = {}

    # Finding

    def find(self, org_id: OrgId, topic: str, topic_id: TopicId, index: int) -> Partition | None:
        """The partition of a topic that is named by its name or, if that is empty, by its id."""
        return self._by_key.get((org_id, topic or topic_id, index))

    def named(self, org_id: OrgId, topic: str, index: int) -> Partition:
        """The partition of a topic by its name; ProtocolError if there is none."""
        partition = self._by_key.get((org_id, topic, index))
        if partition is None:
            raise ProtocolError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no partition {topic}-{index}.")
        return partition

    def topics(self, org_id: OrgId) -> list[Topic]:
        return [topic for (owner, _), topic in self._topics.items() if owner == org_id]

    def __iter__(self) -> Iterator[Partition]:
        """Each partition once."""
        for topic in self._topics.values():
            for index in range(topic.partitions):
                yield self._by_key[topic.org_id, topic.name, index]

    # Following the catalog

    def put(self, topic: Topic, config: TopicConfig) -> None:
        """Opens what is new of a topic, and keeps the rest as the topic says now."""
        known = self._topics.get((topic.org_id, topic.name))
        if known is not None and known.topic_id != topic.topic_id:
            self.remove(known.org_id, known.name, known.topic_id)
        self._topics[topic.org_id, topic.name] = topic
        for index in range(topic.partitions):
            partition = self._by_key.get((topic.org_id, topic.name, index))
            if partition is None:
                log = self._store.log(LogId(topic.org_id, topic.name, topic.topic_id, index), log_config(config))
                partition = Partition(topic, index, config, log)
                self._by_key[topic.org_id, topic.name, index] = partition
                self._by_key[topic.org_id, topic.topic_id, index] = partition
            elif partition.config != config:
                partition.configure(config)

    def reconfigure(self, config_of: Callable[[Topic], TopicConfig]) -> None:
        """The settings that topics inherit have changed."""
        for topic in tuple(self._topics.values()):
            self.put(topic, config_of(topic))

    def remove(self, org_id: OrgId, name: str, topic_id: TopicId) -> None:
        """Closes the partitions of a topic and deletes their logs."""
        topic = self._topics.get((org_id, name))
        if topic is None or topic.topic_id != topic_id:
            return
        del self._topics[org_id, name]
        closed = [self._by_key.pop((org_id, name, index)) for index in range(topic.partitions)]
        for partition in closed:
            del self._by_key[org_id, topic_id, partition.index]
        for partition in closed:
            self._delete(partition.log.id)
            partition.close()

    def delete_orphans(self, keep: Container[LogId]) -> None:
        """Deletes the logs of topics that the catalog no longer has: a crash came between the two."""
        open_logs = {partition.log.id for partition in self}
        for log_id in self._store.logs():
            if log_id not in open_logs and log_id not in keep:
                self._delete(log_id)

    def _delete(self, log_id: LogId) -> None:
        def deleted(error: StoreError | None) -> None:
            if error is not None:
                # Not lost: the next start finds an orphan.
                _log.warning("%s-%d could not be deleted: %s", log_id.topic, log_id.partition, error)

        self._store.delete(log_id, deleted)
