"""DeleteTopics.

Versions: 4 flexible; 5 error_message; 6 topics by id.

Next hop: carrier/contract.py, behind which broker/broker.py takes the command.
"""

from functools import partial
from typing import NamedTuple

from kohort.gateway.call import Api, Call, Message, Request
from kohort.model.commands.catalog import DeleteTopics, TopicOutcome, TopicQuery, TopicsAnswer
from kohort.model.errors import Refused
from kohort.model.ids import NO_TOPIC_ID

_BY_ID_SINCE = 6


class DeleteTopicsMessage(NamedTuple):
    responses: tuple[TopicOutcome, ...]
    throttle_time_ms: int = 0


def _queries(request: Request, version: int) -> tuple[TopicQuery, ...]:
    if version < _BY_ID_SINCE:
        return tuple(map(TopicQuery, request.topic_names))
    return tuple(TopicQuery(topic.name, topic.topic_id or NO_TOPIC_ID) for topic in request.topics)


def handle_delete_topics(request: Request, call: Call) -> None:
    call.send(DeleteTopics(_queries(request, call.version)), partial(_answer, call))


def _answer(call: Call, answer: TopicsAnswer) -> None:
    call.answer(DeleteTopicsMessage(answer.topics))


def refuse_delete_topics(request: Request, refused: Refused, call: Call) -> Message:
    return DeleteTopicsMessage(
        tuple(
            TopicOutcome(query.name, refused.error_code, refused.error_message, query.topic_id)
            for query in _queries(request, call.version)
        )
    )


DELETE_TOPICS = Api(20, "DeleteTopics", 1, 6, handle_delete_topics, refuse_delete_topics)
