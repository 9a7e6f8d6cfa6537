"""What the catalog knows, and how a record changes it. Only `replay` changes anything.

Beside the durable facts it keeps what follows from them: topics by id, names that would collide, the settings in force.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import assert_never

from kohort.machines.catalog.names import collision_key
from kohort.model.ids import OrgId, TopicId
from kohort.model.records.catalog import (
    BrokerConfigsRecord,
    BrokerRecord,
    CatalogRecord,
    ClusterRecord,
    GroupConfigsRecord,
    ProducerIdsRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from kohort.model.settings import BrokerSettings, overlaid
from kohort.model.topics import Topic

EVERY_BROKER = ""
"""The name under which settings of all brokers are kept."""


class CatalogState:
    def __init__(self, settings: BrokerSettings) -> None:
        self.static_settings = settings
        """What this broker was started with."""
        self.settings = settings
        """The same with what was changed while it ran."""
        self.cluster_id: str | None = None
        self.brokers: dict[int, BrokerRecord] = {}
        self.next_producer_id = 0
        self.broker_configs: dict[str, Mapping[str, str]] = {}
        self.group_configs: dict[tuple[OrgId, str], Mapping[str, str]] = {}
        self._topics: dict[OrgId, dict[str, Topic]] = {}
        self._names_by_id: dict[tuple[OrgId, TopicId], str] = {}
        self._names_by_collision_key: dict[tuple[OrgId, str], str] = {}

    # What is asked of it

    def topics(self, org_id: OrgId) -> Mapping[str, Topic]:
        return self._topics.get(org_id, {})

    def topic(self, org_id: OrgId, name: str) -> Topic | None:
        return self.topics(org_id).get(name)

    def topic_by_id(self, org_id: OrgId, topic_id: TopicId) -> Topic | None:
        name = self._names_by_id.get((org_id, topic_id))
        return None if name is None else self._topics[org_id][name]

    def colliding_name(self, org_id: OrgId, name: str) -> str | None:
        """The other topic whose metrics would have the name that this one's would have."""
        return self._names_by_collision_key.get((org_id, collision_key(name)))

    def store_epoch(self) -> int:
        """The epoch of whoever holds the store; 0 before anyone did."""
        return max((broker.store_epoch for broker in self.brokers.values()), default=0)

    def live_brokers(self) -> tuple[BrokerRecord, ...]:
        """The brokers that hold the store; the others lost it and serve nothing."""
        epoch = self.store_epoch()
        return tuple(broker for broker in self.brokers.values() if broker.store_epoch == epoch)

    # What changes it

    def replay(self, record: CatalogRecord) -> None:
        match record:
            case ClusterRecord():
                self.cluster_id = record.cluster_id
            case BrokerRecord():
                self.brokers[record.broker_id] = record
            case ProducerIdsRecord():
                self.next_producer_id = record.next_producer_id
            case BrokerConfigsRecord():
                self.broker_configs[record.broker_name] = record.configs
                self._put_settings_in_force()
            case TopicRecord(topic):
                self._topics.setdefault(topic.org_id, {})[topic.name] = topic
                self._names_by_id[topic.org_id, topic.topic_id] = topic.name
                self._names_by_collision_key[topic.org_id, collision_key(topic.name)] = topic.name
            case RemoveTopicRecord():
                self._remove_topic(record)
            case GroupConfigsRecord(org_id, group_id, configs):
                self.group_configs.pop((org_id, group_id), None)
                if configs:
                    self.group_configs[org_id, group_id] = configs
            case _:
                assert_never(record)

    def snapshot(self) -> Iterator[CatalogRecord]:
        if self.cluster_id is not None:
            yield ClusterRecord(self.cluster_id)
        yield from self.brokers.values()
        if self.next_producer_id:
            yield ProducerIdsRecord(self.next_producer_id)
        for name, configs in self.broker_configs.items():
            yield BrokerConfigsRecord(name, configs)
        for topic in self._every_topic():
            yield TopicRecord(topic)
        for (org_id, group_id), configs in self.group_configs.items():
            yield GroupConfigsRecord(org_id, group_id, configs)

    def _every_topic(self) -> Iterable[Topic]:
        return (topic for topics in self._topics.values() for topic in topics.values())

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        topic = self.topic(record.org_id, record.name)
        if topic is None or topic.topic_id != record.topic_id:
            return
        del self._topics[record.org_id][record.name]
        del self._names_by_id[record.org_id, record.topic_id]
        del self._names_by_collision_key[record.org_id, collision_key(record.name)]

    def _put_settings_in_force(self) -> None:
        of_all = self.broker_configs.get(EVERY_BROKER, {})
        of_this = self.broker_configs.get(str(self.static_settings.node_id), {})
        self.settings = overlaid(self.static_settings, of_all, of_this)
