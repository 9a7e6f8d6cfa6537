"""Making topics: what a client may ask for, in Kafka's words for why not.

A request is decided topic by topic: one that is refused does not keep the others from being made.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from kohort.machines.catalog.assignments import check_new_partitions, check_replicas
from kohort.machines.catalog.describe_configs import Description
from kohort.machines.catalog.fresh_ids import fresh_ids
from kohort.machines.catalog.names import INTERNAL_TOPICS, check_name, collision_key
from kohort.machines.catalog.outcome import Outcome
from kohort.machines.catalog.state import CatalogState
from kohort.machines.contract import Moment
from kohort.model.commands.catalog import (
    CreateTopics,
    NewTopic,
    TopicOutcome,
    TopicsAnswer,
)
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import NO_TOPIC_ID, OrgId, TopicId
from kohort.model.records.catalog import CatalogRecord, TopicRecord
from kohort.model.setting import ConfigError
from kohort.model.topic_settings import checked_configs
from kohort.model.topics import Topic


def handle_create_topics(state: CatalogState, org_id: OrgId, command: CreateTopics, moment: Moment) -> Outcome:
    times_named = Counter(topic.name for topic in command.topics)
    creation = TopicCreation(state, org_id, moment)
    description = Description(state)
    outcomes: dict[str, TopicOutcome] = {}
    for new_topic in command.topics:
        if new_topic.name in outcomes:
            continue
        try:
            if times_named[new_topic.name] > 1:
                raise ProtocolError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            topic = creation.create(new_topic)
        except ProtocolError as refusal:
            outcomes[new_topic.name] = TopicOutcome(new_topic.name, refusal.code, refusal.message)
        else:
            outcomes[topic.name] = TopicOutcome(
                topic.name,
                ErrorCode.NONE,
                topic_id=NO_TOPIC_ID if command.validate_only else topic.topic_id,
                num_partitions=topic.partitions,
                replication_factor=1,
                configs=description.of_topic(topic),
            )
    records = () if command.validate_only else creation.records()
    return Outcome(records, TopicsAnswer(tuple(outcomes.values())))


class TopicCreation:
    """The topics that one decision makes. It knows them all, so that two of them cannot collide."""

    def __init__(self, state: CatalogState, org_id: OrgId, moment: Moment) -> None:
        self._state = state
        self._org_id = org_id
        self._fresh_ids: Iterator[TopicId] = fresh_ids(moment)
        self._made: dict[str, Topic] = {}
        self._partitions_made = 0

    def create(self, new_topic: NewTopic) -> Topic:
        """The topic as it will be, or why it cannot."""
        name = new_topic.name
        if name in INTERNAL_TOPICS:
            raise ProtocolError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {name} is prohibited.")
        check_name(name)
        self._check_is_new(name)
        configs = _checked_configs(self._state, new_topic.configs)
        partitions = _partition_count(self._state, new_topic)
        self._partitions_made += partitions
        check_new_partitions(self._partitions_made)
        topic = Topic(self._org_id, name, next(self._fresh_ids), partitions, configs)
        self._made[collision_key(name)] = topic
        return topic

    def records(self) -> tuple[CatalogRecord, ...]:
        return tuple(TopicRecord(topic) for topic in self._made.values())

    def _check_is_new(self, name: str) -> None:
        if self._state.topic(self._org_id, name) is not None:
            raise ProtocolError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
        colliding = self._state.colliding_name(self._org_id, name)
        made = self._made.get(collision_key(name))
        if colliding is not None or made is not None:
            other = colliding if made is None else made.name
            raise ProtocolError(
                ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
            )


def _checked_configs(state: CatalogState, given: Sequence[tuple[str, str | None]]) -> dict[str, str]:
    """The topic's own settings in the one spelling that they are kept in."""
    own: dict[str, str] = {}
    for name, text in given:
        if text is None:
            raise ProtocolError(ErrorCode.INVALID_CONFIG, f"Null value not supported for topic configs: {name}")
        own[name] = text
    try:
        return checked_configs(own, state.settings)
    except ConfigError as error:
        raise ProtocolError(ErrorCode.INVALID_CONFIG, str(error)) from None


def _partition_count(state: CatalogState, new_topic: NewTopic) -> int:
    if new_topic.assignments:
        return _assigned_partition_count(state, new_topic)
    if new_topic.replication_factor != -1:
        _check_replication_factor(state, new_topic.replication_factor)
    if new_topic.num_partitions == -1:
        return state.settings.num_partitions
    if new_topic.num_partitions <= 0:
        raise ProtocolError(
            ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value."
        )
    return new_topic.num_partitions


def _check_replication_factor(state: CatalogState, replication_factor: int) -> None:
    if replication_factor <= 0:
        raise ProtocolError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )
    if replication_factor > 1:
        brokers = len(state.live_brokers())
        raise ProtocolError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of "
            f"{replication_factor} cannot be reached because only {brokers} broker(s) are registered.",
        )


def _assigned_partition_count(state: CatalogState, new_topic: NewTopic) -> int:
    """A manual assignment is checked as Kafka checks it; with one replica there is only one that passes."""
    for count, what in (
        (new_topic.replication_factor, "replication factor"),
        (new_topic.num_partitions, "numPartitions"),
    ):
        if count != -1:
            raise ProtocolError(
                ErrorCode.INVALID_REQUEST,
                f"A manual partition assignment was specified, but {what} was not set to -1.",
            )
    assigned: set[int] = set()
    for partition, broker_ids in new_topic.assignments:
        if partition in assigned:
            raise ProtocolError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Found multiple manual partition assignments for partition {partition}",
            )
        assigned.add(partition)
        check_replicas(state, broker_ids)
    if assigned != set(range(len(assigned))):
        raise ProtocolError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT, "partitions should be a consecutive 0-based integer sequence"
        )
    return len(assigned)
