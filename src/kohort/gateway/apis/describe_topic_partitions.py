"""DescribeTopicPartitions: topics and their partitions in pages, for admin clients (KIP-966).

Versions: 0. One replica for each partition means that no other is eligible to lead; that list stays null.

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


class TopicMessage(NamedTuple):
    error_code: int
    name: str | None
    topic_id: UUID
    is_internal: bool
    partitions: tuple[PartitionMetadata, ...]
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
        TopicMessage(topic.error_code, topic.name, topic.topic_id, topic.is_internal, topic.partitions)
        for topic in described.topics
    )
    call.answer(TopicPartitionsMessage(topics, described.next_cursor))


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
