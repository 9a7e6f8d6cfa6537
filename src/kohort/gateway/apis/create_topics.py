"""CreateTopics.

Versions: 4 -1 asks for the default number of partitions and replicas; 5 flexible, answers with what the topic became;
7 topic ids.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial
from typing import NamedTuple
from uuid import UUID

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import ConfigEntry, CreateTopics, NewTopic, TopicOutcome, TopicsAnswer
from kohort.model.errors import Refused
from kohort.model.ids import NO_TOPIC_ID


class ConfigMessage(NamedTuple):
    name: str
    value: str | None
    read_only: bool
    config_source: int
    is_sensitive: bool


class CreatedTopicMessage(NamedTuple):
    name: str | None
    error_code: int
    error_message: str | None
    topic_id: UUID = NO_TOPIC_ID
    num_partitions: int = -1
    replication_factor: int = -1
    configs: tuple[ConfigMessage, ...] = ()
    topic_config_error_code: int = 0


class CreateTopicsMessage(NamedTuple):
    topics: tuple[CreatedTopicMessage, ...]
    throttle_time_ms: int = 0


def handle_create_topics(request: Request, call: Call) -> None:
    call.send(CreateTopics(tuple(map(_new_topic, request.topics)), request.validate_only), partial(_answer, call))


def _new_topic(topic: Request) -> NewTopic:
    return NewTopic(
        topic.name,
        topic.num_partitions,
        topic.replication_factor,
        tuple((assignment.partition_index, assignment.broker_ids) for assignment in topic.assignments),
        tuple((config.name, config.value) for config in topic.configs),
    )


def _answer(call: Call, answer: TopicsAnswer) -> None:
    call.answer(CreateTopicsMessage(tuple(map(_created_topic, answer.topics))))


def _created_topic(topic: TopicOutcome) -> CreatedTopicMessage:
    return CreatedTopicMessage(
        topic.name,
        topic.error_code,
        topic.error_message,
        topic.topic_id,
        topic.num_partitions,
        topic.replication_factor,
        tuple(map(_config, topic.configs)),
    )


def _config(config: ConfigEntry) -> ConfigMessage:
    return ConfigMessage(config.name, config.value, config.read_only, config.source, config.is_sensitive)


def refuse_create_topics(request: Request, refused: Refused, call: Call) -> Message:
    return CreateTopicsMessage(
        tuple(CreatedTopicMessage(topic.name, refused.error_code, refused.error_message) for topic in request.topics)
    )


CREATE_TOPICS = Api(19, "CreateTopics", 2, 7, handle_create_topics, refuse_create_topics)
