"""Growing topics: a topic may get more partitions, never fewer."""

from collections import Counter
from dataclasses import replace

from kohort.machines.catalog.assignments import check_new_partitions, check_replicas
from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import CatalogState
from kohort.machines.contract import Moment
from kohort.model.commands.catalog import CreatePartitions, NewPartitions, TopicOutcome, TopicsAnswer
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import OrgId
from kohort.model.records.catalog import TopicRecord
from kohort.model.topics import Topic


def handle_create_partitions(state: CatalogState, org_id: OrgId, command: CreatePartitions, moment: Moment) -> Outcome:
    times_named = Counter(wanted.name for wanted in command.topics)
    grown: dict[str, Topic] = {}
    outcomes: dict[str, TopicOutcome] = {}
    partitions_added = 0
    for wanted in command.topics:
        if wanted.name in outcomes:
            continue
        try:
            if times_named[wanted.name] > 1:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            topic = _topic_to_grow(state, org_id, wanted)
            partitions_added += wanted.count - topic.partitions
            check_new_partitions(partitions_added)
        except ProtocolError as refusal:
            outcomes[wanted.name] = TopicOutcome(wanted.name, refusal.code, refusal.message)
        else:
            grown[topic.name] = replace(topic, partitions=wanted.count)
            outcomes[topic.name] = TopicOutcome(topic.name, ErrorCode.NONE)
    records = () if command.validate_only else tuple(TopicRecord(topic) for topic in grown.values())
    return Outcome(records, TopicsAnswer(tuple(outcomes.values())))


def _topic_to_grow(state: CatalogState, org_id: OrgId, wanted: NewPartitions) -> Topic:
    topic = state.topic(org_id, wanted.name)
    if topic is None:
        raise ProtocolError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if wanted.count == topic.partitions:
        raise ProtocolError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {topic.partitions} partition(s).")
    added = wanted.count - topic.partitions
    if added < 0:
        raise ProtocolError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {topic.partitions} partition(s); "
            f"{wanted.count} would not be an increase.",
        )
    if wanted.assignments is not None:
        if len(wanted.assignments) != added:
            raise ProtocolError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {added} additional partition(s), "
                f"but only {len(wanted.assignments)} assignment(s) were specified.",
            )
        for broker_ids in wanted.assignments:
            check_replicas(state, broker_ids)
    return topic
