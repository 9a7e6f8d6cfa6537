"""The catalog's records. Each says the whole of one thing, so the last one about a thing says all of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from kohort.model.ids import OrgId
from kohort.model.topics import Topic


@dataclass(frozen=True, slots=True)
class ClusterRecord:
    """Written once, when the first broker registers."""

    cluster_id: str


@dataclass(frozen=True, slots=True)
class BrokerRecord:
    """A broker that holds the store, or held it: the highest store_epoch of all is the one that does."""

    broker_id: int
    broker_epoch: int
    incarnation_id: UUID
    store_epoch: int
    host: str
    port: int
    rack: str | None


@dataclass(frozen=True, slots=True)
class ProducerIdsRecord:
    """Every producer id below this one has been given to a broker."""

    next_producer_id: int


@dataclass(frozen=True, slots=True)
class BrokerConfigsRecord:
    """All settings of one broker that were changed while it ran; of every broker, if broker_name is empty."""

    broker_name: str
    configs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class TopicRecord:
    """A topic as it is from now on: made, grown or configured."""

    topic: Topic


@dataclass(frozen=True, slots=True)
class RemoveTopicRecord:
    org_id: OrgId
    name: str
    topic_id: UUID


@dataclass(frozen=True, slots=True)
class GroupConfigsRecord:
    """All settings that a group of an org was given itself; none: it has no more than the broker's."""

    org_id: OrgId
    group_id: str
    configs: Mapping[str, str]


CatalogRecord = (
    ClusterRecord
    | BrokerRecord
    | ProducerIdsRecord
    | BrokerConfigsRecord
    | TopicRecord
    | RemoveTopicRecord
    | GroupConfigsRecord
)
