"""The cluster, its brokers, its topics and their settings: commands to the catalog and what it answers."""

from dataclasses import dataclass
from enum import IntEnum
from uuid import UUID

from kohort.model.ids import NO_TOPIC_ID


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    broker_id: int
    host: str
    port: int
    rack: str | None = None
    is_fenced: bool = False


# What the broker itself asks


@dataclass(frozen=True, slots=True)
class RegisterBroker:
    """A broker starts. The answer is its epoch; the same id with a lower store epoch is refused."""

    broker_id: int
    host: str
    port: int
    rack: str | None
    incarnation_id: UUID
    store_epoch: int


@dataclass(frozen=True, slots=True)
class BrokerRegistered:
    broker_epoch: int
    cluster_id: str


@dataclass(frozen=True, slots=True)
class AllocateProducerIds:
    """A block of producer ids for one broker, never given out again."""

    broker_id: int
    count: int = 1000


@dataclass(frozen=True, slots=True)
class ProducerIdsAllocated:
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class CreateInternalTopic:
    """A topic that the broker keeps for itself, made unless the org has it already. The answer is its TopicOutcome."""

    name: str
    num_partitions: int
    configs: tuple[tuple[str, str], ...] = ()


# Metadata and DescribeCluster


@dataclass(frozen=True, slots=True)
class TopicQuery:
    """One topic, by name or by id."""

    name: str | None
    topic_id: UUID = NO_TOPIC_ID


@dataclass(frozen=True, slots=True)
class Metadata:
    """topics None: all of them. Missing ones are made when both sides allow it."""

    topics: tuple[TopicQuery, ...] | None
    allow_auto_topic_creation: bool = True


@dataclass(frozen=True, slots=True)
class PartitionMetadata:
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    error_code: int = 0
    offline_replicas: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicMetadata:
    error_code: int
    name: str | None
    topic_id: UUID
    is_internal: bool
    partitions: tuple[PartitionMetadata, ...]


@dataclass(frozen=True, slots=True)
class MetadataAnswer:
    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerInfo, ...]
    topics: tuple[TopicMetadata, ...]


@dataclass(frozen=True, slots=True)
class DescribeCluster:
    """include_fenced: also the brokers that were here once and hold the store no more."""

    include_fenced: bool = False


@dataclass(frozen=True, slots=True)
class ClusterDescribed:
    cluster_id: str
    controller_id: int
    brokers: tuple[BrokerInfo, ...]


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the next page of DescribeTopicPartitions begins."""

    topic_name: str
    partition_index: int


@dataclass(frozen=True, slots=True)
class DescribeTopicPartitions:
    """A page of topics in the order of their names. topics (): all of them."""

    topics: tuple[str, ...]
    response_partition_limit: int
    cursor: Cursor | None = None


@dataclass(frozen=True, slots=True)
class TopicPartitionsDescribed:
    topics: tuple[TopicMetadata, ...]
    next_cursor: Cursor | None = None


# Topics


@dataclass(frozen=True, slots=True)
class NewTopic:
    """num_partitions and replication_factor -1: the broker's default. assignments: partition to broker ids."""

    name: str
    num_partitions: int = -1
    replication_factor: int = -1
    assignments: tuple[tuple[int, tuple[int, ...]], ...] = ()
    configs: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True)
class CreateTopics:
    topics: tuple[NewTopic, ...]
    validate_only: bool = False


class ConfigSource(IntEnum):
    """Where a setting's value comes from, by Kafka's numbers."""

    UNKNOWN = 0
    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    DYNAMIC_CLIENT_METRICS = 7
    DYNAMIC_GROUP = 8


class ConfigType(IntEnum):
    """What a setting's value is, by Kafka's numbers."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


@dataclass(frozen=True, slots=True)
class ConfigSynonym:
    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    name: str
    value: str | None
    source: ConfigSource
    config_type: ConfigType
    read_only: bool = False
    is_sensitive: bool = False
    synonyms: tuple[ConfigSynonym, ...] = ()
    documentation: str | None = None


@dataclass(frozen=True, slots=True)
class TopicOutcome:
    """What became of one topic of a request."""

    name: str | None
    error_code: int
    error_message: str | None = None
    topic_id: UUID = NO_TOPIC_ID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicsAnswer:
    topics: tuple[TopicOutcome, ...]


@dataclass(frozen=True, slots=True)
class DeleteTopics:
    topics: tuple[TopicQuery, ...]


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """count is the new total. assignments: broker ids of each added partition, None to leave it to the broker."""

    name: str
    count: int
    assignments: tuple[tuple[int, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class CreatePartitions:
    topics: tuple[NewPartitions, ...]
    validate_only: bool = False


# Configs


class ResourceType(IntEnum):
    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP_CONFIG = 32


class ConfigOperation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


@dataclass(frozen=True, slots=True)
class Resource:
    """What a setting belongs to. resource_type is Kafka's number, perhaps one of no ResourceType."""

    resource_type: int
    resource_name: str


@dataclass(frozen=True, slots=True)
class ConfigChange:
    name: str
    operation: int
    value: str | None


@dataclass(frozen=True, slots=True)
class ResourceChanges:
    resource: Resource
    changes: tuple[ConfigChange, ...]


@dataclass(frozen=True, slots=True)
class AlterConfigs:
    """replace: the old AlterConfigs, in which every setting not named goes back to its default."""

    resources: tuple[ResourceChanges, ...]
    validate_only: bool = False
    replace: bool = False


@dataclass(frozen=True, slots=True)
class ResourceQuery:
    """names None or empty: every setting."""

    resource: Resource
    names: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class DescribeConfigs:
    resources: tuple[ResourceQuery, ...]
    include_synonyms: bool = False
    include_documentation: bool = False


@dataclass(frozen=True, slots=True)
class ResourceOutcome:
    resource: Resource
    error_code: int
    error_message: str | None = None
    configs: tuple[ConfigEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigsAnswer:
    resources: tuple[ResourceOutcome, ...]


@dataclass(frozen=True, slots=True)
class ListConfigResources:
    """What has settings. resource_types (): of every type."""

    resource_types: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ConfigResourcesListed:
    error_code: int
    config_resources: tuple[Resource, ...]
