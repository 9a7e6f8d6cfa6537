"""Metadata: the brokers, and the topics with their leaders.

Versions: 0 an empty list asks for every topic; 1 null does, and an empty list for none; 4 auto-creation can be
declined; 5 offline_replicas; 7 leader epochs; 8 authorized operations (of the cluster up to 10 only); 9 flexible;
10 topic ids in answers; 12 topics by id; 13 a top-level error.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from uuid import UUID

from kohort.gateway.apis.authorized_operations import CLUSTER_OPERATIONS, NOT_ASKED, TOPIC_OPERATIONS
from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import BrokerInfo, Metadata, MetadataAnswer, PartitionMetadata, TopicQuery
from kohort.model.errors import ErrorCode, ProtocolError, Refused
from kohort.model.ids import NO_TOPIC_ID

_NULL_ASKS_FOR_ALL_SINCE = 1
_AUTO_CREATION_SINCE = 4
_AUTHORIZED_OPERATIONS_SINCE = 8
_CLUSTER_OPERATIONS_UNTIL = 10
_ID_FIELD_SINCE = 10
_BY_ID_SINCE = 12


class BrokerMessage(NamedTuple):
    node_id: int
    host: str
    port: int
    rack: str | None


class TopicMessage(NamedTuple):
    error_code: int
    name: str | None
    topic_id: UUID
    is_internal: bool
    partitions: tuple[PartitionMetadata, ...]
    topic_authorized_operations: int = NOT_ASKED


class MetadataMessage(NamedTuple):
    brokers: tuple[BrokerMessage, ...]
    cluster_id: str | None
    controller_id: int
    topics: tuple[TopicMessage, ...]
    cluster_authorized_operations: int = NOT_ASKED
    throttle_time_ms: int = 0
    error_code: int = 0


def handle_metadata(request: Request, call: Call) -> None:
    version = call.version
    topics = request.topics
    if topics is None or (not topics and version < _NULL_ASKS_FOR_ALL_SINCE):
        queries = None
    elif version < _ID_FIELD_SINCE:
        queries = tuple(TopicQuery(topic.name) for topic in topics)
    else:
        if version < _BY_ID_SINCE:
            _require_names(topics, version)
        queries = tuple(map(_query, topics))
    allow_auto_topic_creation = version < _AUTO_CREATION_SINCE or request.allow_auto_topic_creation
    call.send(Metadata(queries, allow_auto_topic_creation), partial(_answer, request, call))


def _require_names(topics: Sequence[Request], version: int) -> None:
    for topic in topics:
        if topic.name is None:
            raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Topic name can not be null for version {version}")
        if topic.topic_id is not None:
            raise ProtocolError(
                ErrorCode.INVALID_REQUEST, f"Topic IDs are not supported in requests for version {version}"
            )


def _query(topic: Request) -> TopicQuery:
    """By its id if it has one: Java's admin client sends an empty name beside it."""
    return TopicQuery(topic.name) if topic.topic_id is None else TopicQuery(None, topic.topic_id)


def _answer(request: Request, call: Call, answer: MetadataAnswer) -> None:
    topic_operations = cluster_operations = NOT_ASKED
    if call.version >= _AUTHORIZED_OPERATIONS_SINCE:
        if request.include_topic_authorized_operations:
            topic_operations = TOPIC_OPERATIONS
        if call.version <= _CLUSTER_OPERATIONS_UNTIL and request.include_cluster_authorized_operations:
            cluster_operations = CLUSTER_OPERATIONS
    topics = tuple(
        TopicMessage(
            topic.error_code, topic.name, topic.topic_id, topic.is_internal, topic.partitions, topic_operations
        )
        for topic in answer.topics
    )
    brokers = tuple(_broker(broker) for broker in answer.brokers)
    call.answer(MetadataMessage(brokers, answer.cluster_id, answer.controller_id, topics, cluster_operations))


def _broker(broker: BrokerInfo) -> BrokerMessage:
    return BrokerMessage(broker.broker_id, broker.host, broker.port, broker.rack)


def refuse_metadata(request: Request, refused: Refused, call: Call) -> Message:
    """Each topic that was asked for says it, and since version 13 the whole answer. A name may be null since 12."""
    topics = tuple(
        TopicMessage(
            refused.error_code,
            topic.name if call.version >= _BY_ID_SINCE else topic.name or "",
            getattr(topic, "topic_id", None) or NO_TOPIC_ID,
            is_internal=False,
            partitions=(),
        )
        for topic in request.topics or ()
    )
    return MetadataMessage((), None, -1, topics, error_code=refused.error_code)


METADATA = Api(3, "Metadata", 0, 13, handle_metadata, refuse_metadata)
