"""Fetch: record batches of partitions, at once or when there are enough.

Versions: 4 max_bytes, isolation_level; 5 log_start_offset; 7 sessions (KIP-227) and a top-level error; 9
current_leader_epoch; 10 zstd; 11 rack_id (there is one replica, so it chooses nothing); 12 flexible,
last_fetched_epoch; 13 topics by id; 15 replica_state in place of replica_id; 16 node_endpoints; 17 and 18 fields
between brokers only.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.data import (
    Fetch,
    Fetched,
    ForgottenTopic,
    PartitionFetch,
    PartitionFetched,
    TopicFetch,
    TopicFetched,
)
from kohort.model.errors import Refused
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire.messages import milliseconds

_SESSIONS_SINCE = 7
_LEADER_EPOCH_SINCE = 9
_LAST_FETCHED_EPOCH_SINCE = 12
_TOPIC_IDS_SINCE = 13
_READ_COMMITTED = 1


def handle_fetch(request: Request, call: Call) -> None:
    version = call.version
    has_sessions = version >= _SESSIONS_SINCE
    call.send(
        Fetch(
            topics=_topics(request.topics, version),
            max_wait_ms=milliseconds(request.max_wait),
            min_bytes=request.min_bytes,
            max_bytes=request.max_bytes,
            read_committed=request.isolation_level == _READ_COMMITTED,
            session_id=request.session_id if has_sessions else 0,
            session_epoch=request.session_epoch if has_sessions else -1,
            forgotten=_forgotten(request.forgotten_topics_data, version) if has_sessions else (),
            by_topic_id=version >= _TOPIC_IDS_SINCE,
        ),
        call.answer,
    )


def _topics(topics: Request, version: int) -> tuple[TopicFetch, ...]:
    by_id = version >= _TOPIC_IDS_SINCE
    return tuple(
        [
            TopicFetch(
                "" if by_id else topic.topic,
                topic.topic_id or NO_TOPIC_ID if by_id else NO_TOPIC_ID,
                tuple([_partition(partition, version) for partition in topic.partitions]),
            )
            for topic in topics
        ]
    )


def _partition(partition: Request, version: int) -> PartitionFetch:
    return PartitionFetch(
        partition.partition,
        partition.fetch_offset,
        partition.partition_max_bytes,
        partition.current_leader_epoch if version >= _LEADER_EPOCH_SINCE else -1,
        partition.last_fetched_epoch if version >= _LAST_FETCHED_EPOCH_SINCE else -1,
    )


def _forgotten(topics: Request, version: int) -> tuple[ForgottenTopic, ...]:
    if version >= _TOPIC_IDS_SINCE:
        return tuple([ForgottenTopic("", topic.topic_id or NO_TOPIC_ID, topic.partitions) for topic in topics])
    return tuple([ForgottenTopic(topic.topic, NO_TOPIC_ID, topic.partitions) for topic in topics])


def refuse_fetch(request: Request, refused: Refused, call: Call) -> Message:
    """Since sessions there is a top-level error, and partitions are not named with it; before, each one says it."""
    if call.version >= _SESSIONS_SINCE:
        return Fetched(refused.error_code, session_id=0, responses=())
    return Fetched(
        refused.error_code,
        session_id=0,
        responses=tuple(
            TopicFetched(
                topic.topic,
                NO_TOPIC_ID,
                tuple(PartitionFetched(partition.partition, refused.error_code) for partition in topic.partitions),
            )
            for topic in request.topics
        ),
    )


FETCH = Api(1, "Fetch", 4, 18, handle_fetch, refuse_fetch)
