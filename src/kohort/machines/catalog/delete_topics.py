"""Deleting topics, by name or by id, each topic of a request for itself."""

from collections import Counter

from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import CatalogState
from kohort.machines.contract import Moment
from kohort.model.commands.catalog import DeleteTopics, TopicOutcome, TopicQuery, TopicsAnswer
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import NO_TOPIC_ID, OrgId, TopicId
from kohort.model.records.catalog import RemoveTopicRecord
from kohort.model.topics import Topic


def handle_delete_topics(state: CatalogState, org_id: OrgId, command: DeleteTopics, moment: Moment) -> Outcome:
    if not state.settings.delete_topic_enable:
        raise ProtocolError(ErrorCode.TOPIC_DELETION_DISABLED, "Topic deletion is disabled.")
    outcomes: list[TopicOutcome] = []
    found: dict[TopicId, Topic] = {}
    found_again: set[TopicId] = set()
    for query, times in Counter(command.topics).items():
        try:
            topic = _topic_to_delete(state, org_id, query, times)
        except ProtocolError as refusal:
            outcomes.append(TopicOutcome(query.name, refusal.code, refusal.message, query.topic_id))
        else:
            if topic.topic_id in found:
                found_again.add(topic.topic_id)
            found[topic.topic_id] = topic
    for topic in found.values():
        if topic.topic_id in found_again:
            code, message = (
                ErrorCode.INVALID_REQUEST,
                "The provided topic name maps to an ID that was already supplied.",
            )
            outcomes.append(TopicOutcome(topic.name, code, message, topic.topic_id))
        else:
            outcomes.append(TopicOutcome(topic.name, ErrorCode.NONE, topic_id=topic.topic_id))
    records = tuple(
        RemoveTopicRecord(org_id, topic.name, topic.topic_id)
        for topic in found.values()
        if topic.topic_id not in found_again
    )
    return Outcome(records, TopicsAnswer(tuple(outcomes)))


def _topic_to_delete(state: CatalogState, org_id: OrgId, query: TopicQuery, times: int) -> Topic:
    by_id = query.topic_id != NO_TOPIC_ID
    if query.name is not None and by_id:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id.")
    if query.name is None and not by_id:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified.")
    if times > 1:
        raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Duplicate topic {'id' if by_id else 'name'}.")
    if query.name is not None:
        topic = state.topic(org_id, query.name)
        if topic is None:
            raise ProtocolError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
        return topic
    topic = state.topic_by_id(org_id, query.topic_id)
    if topic is None:
        raise ProtocolError(ErrorCode.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")
    return topic
