"""CreatePartitions: more partitions for topics.

Versions: 2 flexible; 3 none of note.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import CreatePartitions, NewPartitions, TopicOutcome, TopicsAnswer
from kohort.model.errors import Refused


class CreatePartitionsMessage(NamedTuple):
    results: tuple[TopicOutcome, ...]
    throttle_time_ms: int = 0


def handle_create_partitions(request: Request, call: Call) -> None:
    topics = tuple(NewPartitions(topic.name, topic.count, _assignments(topic)) for topic in request.topics)
    call.send(CreatePartitions(topics, request.validate_only), partial(_answer, call))


def _assignments(topic: Request) -> tuple[tuple[int, ...], ...] | None:
    return None if topic.assignments is None else tuple(assignment.broker_ids for assignment in topic.assignments)


def _answer(call: Call, answer: TopicsAnswer) -> None:
    call.answer(CreatePartitionsMessage(answer.topics))


def refuse_create_partitions(request: Request, refused: Refused, call: Call) -> Message:
    return CreatePartitionsMessage(
        tuple(TopicOutcome(topic.name, refused.error_code, refused.error_message) for topic in request.topics)
    )


CREATE_PARTITIONS = Api(37, "CreatePartitions", 0, 3, handle_create_partitions, refuse_create_partitions)
