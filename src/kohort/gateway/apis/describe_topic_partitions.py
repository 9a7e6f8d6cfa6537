"""DescribeTopicPartitions: topics and their partitions in pages, for admin clients (KIP-966).

Versions: 0. A partition has one replica, so the lists of others that are eligible to lead are empty; not null, which
the schema allows and Java's admin client does not survive.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial
from typing import NamedTuple
from uuid import UUID

from kohort.gateway.apis.authorized_operations import NOT_ASKED, TOPIC_OPERATIONS
from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import (
    Cursor,
    DescribeTopicPartitions,
    PartitionMetadata,
    TopicPartitionsDescribed,
)
from kohort.model.errors import Refused
from kohort.model.ids import NO_TOPIC_ID


class PartitionMessage(NamedTuple):
    error_code: int
    partition_index: int
    leader_id: int
    leader_epoch: int
    replica_nodes: tuple[int, ...]
    isr_nodes: tuple[int, ...]
    offline_replicas: tuple[int, ...]
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()


class TopicMessage(NamedTuple):
    error_code: int
    name: str | None
    topic_id: UUID
    is_internal: bool
    partitions: tuple[PartitionMessage, ...]
    topic_authorized_operations: int = TOPIC_OPERATIONS


class TopicPartitionsMessage(NamedTuple):
    topics: tuple[TopicMessage, ...]
    next_cursor: Cursor | None
    throttle_time_ms: int = 0


def handle_describe_topic_partitions(request: Request, call: Call) -> None:
    cursor = request.cursor
    command = DescribeTopicPartitions(
        tuple(topic.name for topic in request.topics),
        request.response_partition_limit,
        None if cursor is None else Cursor(cursor.topic_name, cursor.partition_index),
    )
    call.send(command, partial(_answer, call))


def _answer(call: Call, described: TopicPartitionsDescribed) -> None:
    topics = tuple(
        TopicMessage(
            topic.error_code, topic.name, topic.topic_id, topic.is_internal, tuple(map(_partition, topic.partitions))
        )
        for topic in described.topics
    )
    call.answer(TopicPartitionsMessage(topics, described.next_cursor))


def _partition(partition: PartitionMetadata) -> PartitionMessage:
    return PartitionMessage(
        partition.error_code,
        partition.partition_index,
        partition.leader_id,
        partition.leader_epoch,
        partition.replica_nodes,
        partition.isr_nodes,
        partition.offline_replicas,
    )


def refuse_describe_topic_partitions(request: Request, refused: Refused, call: Call) -> Message:
    return TopicPartitionsMessage(
        tuple(
            TopicMessage(refused.error_code, topic.name, NO_TOPIC_ID, False, (), NOT_ASKED) for topic in request.topics
        ),
        next_cursor=None,
    )


DESCRIBE_TOPIC_PARTITIONS = Api(
    75, "DescribeTopicPartitions", 0, 0, handle_describe_topic_partitions, refuse_describe_topic_partitions
)
