"""What clients ask first: which brokers there are, which topics, and who leads their partitions.

Every partition is led by the broker that holds the store, and has it as its only replica. A topic that is missing is
made at once when the client and the broker allow it, and the answer, given when that is durable, has it already.
"""

from kohort.machines.catalog.create_topics import TopicCreation
from kohort.machines.catalog.names import INTERNAL_TOPICS, check_name
from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import CatalogState
from kohort.machines.contract import Moment
from kohort.model.commands.catalog import (
    BrokerInfo,
    ClusterDescribed,
    Cursor,
    DescribeCluster,
    DescribeTopicPartitions,
    Metadata,
    MetadataAnswer,
    NewTopic,
    PartitionMetadata,
    TopicMetadata,
    TopicPartitionsDescribed,
    TopicQuery,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import NO_TOPIC_ID, OrgId
from kohort.model.records.catalog import BrokerRecord
from kohort.model.topics import Topic

LEADER_EPOCH = 0
"""A partition's leader never changes while there is one replica."""
MAX_PARTITIONS_PER_PAGE = 2000
_NOBODY = -1


# Metadata


def handle_metadata(state: CatalogState, org_id: OrgId, command: Metadata, moment: Moment) -> Outcome:
    leader = _leader(state)
    creation = TopicCreation(state, org_id, moment)
    if command.topics is None:
        topics = tuple(_described(topic, leader) for topic in state.topics(org_id).values())
    else:
        may_create = command.allow_auto_topic_creation and state.settings.auto_create_topics_enable
        found: dict[TopicQuery, TopicMetadata] = {}
        for query in command.topics:
            if query not in found:
                found[query] = _answer_query(state, org_id, query, creation if may_create else None, leader)
        topics = tuple(found[query] for query in command.topics)
    brokers = tuple(_broker_info(broker, is_fenced=False) for broker in state.live_brokers())
    return Outcome(creation.records(), MetadataAnswer(state.cluster_id or "", leader, brokers, topics))


def _answer_query(
    state: CatalogState, org_id: OrgId, query: TopicQuery, creation: TopicCreation | None, leader: int
) -> TopicMetadata:
    if query.name is None:
        topic = state.topic_by_id(org_id, query.topic_id)
        if topic is None:
            return TopicMetadata(ErrorCode.UNKNOWN_TOPIC_ID, None, query.topic_id, False, ())
        return _described(topic, leader)
    topic = state.topic(org_id, query.name)
    try:
        if topic is None:
            topic = _missing_topic(query.name, creation)
    except ProtocolError as refusal:
        return TopicMetadata(refusal.code, query.name, NO_TOPIC_ID, query.name in INTERNAL_TOPICS, ())
    return _described(topic, leader)


def _missing_topic(name: str, creation: TopicCreation | None) -> Topic:
    check_name(name)
    if creation is None or name in INTERNAL_TOPICS:
        raise ProtocolError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return creation.create(NewTopic(name))


def _described(topic: Topic, leader: int, first: int = 0, end: int | None = None) -> TopicMetadata:
    replicas = (leader,)
    partitions = tuple(
        PartitionMetadata(index, leader, LEADER_EPOCH, replicas, replicas)
        for index in range(first, topic.partitions if end is None else end)
    )
    return TopicMetadata(ErrorCode.NONE, topic.name, topic.topic_id, topic.is_internal, partitions)


# DescribeCluster


def handle_describe_cluster(state: CatalogState, org_id: OrgId, command: DescribeCluster, moment: Moment) -> Outcome:
    live = state.live_brokers()
    brokers = tuple(
        _broker_info(broker, is_fenced=broker not in live)
        for broker in state.brokers.values()
        if command.include_fenced or broker in live
    )
    return Outcome((), ClusterDescribed(state.cluster_id or "", _leader(state), brokers))


def _leader(state: CatalogState) -> int:
    """The broker that leads every partition, and is the controller."""
    return next((broker.broker_id for broker in state.live_brokers()), _NOBODY)


def _broker_info(broker: BrokerRecord, is_fenced: bool) -> BrokerInfo:
    return BrokerInfo(broker.broker_id, broker.host, broker.port, broker.rack, is_fenced)


# DescribeTopicPartitions


def handle_describe_topic_partitions(
    state: CatalogState, org_id: OrgId, command: DescribeTopicPartitions, moment: Moment
) -> Outcome:
    """One page, from the cursor on: so many partitions, and where the next page begins."""
    cursor = command.cursor or Cursor("", 0)
    if cursor.partition_index < 0:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, "The partition index of the cursor must not be negative.")
    left = max(1, min(command.response_partition_limit, MAX_PARTITIONS_PER_PAGE))
    names = sorted(name for name in set(command.topics or state.topics(org_id)) if name >= cursor.topic_name)
    leader = _leader(state)
    page: list[TopicMetadata] = []
    for name in names:
        topic = state.topic(org_id, name)
        if topic is None:
            page.append(_answer_query(state, org_id, TopicQuery(name), None, leader))
            continue
        first = cursor.partition_index if name == cursor.topic_name else 0
        if left == 0:
            return Outcome((), TopicPartitionsDescribed(tuple(page), Cursor(name, first)))
        end = min(first + left, topic.partitions)
        page.append(_described(topic, leader, first, end))
        left -= max(end - first, 0)
        if end < topic.partitions:
            return Outcome((), TopicPartitionsDescribed(tuple(page), Cursor(name, end)))
    return Outcome((), TopicPartitionsDescribed(tuple(page)))
