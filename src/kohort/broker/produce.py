"""Producing: each batch of a request goes to its partition, and one answer says what became of them.

Decides nothing about batches but how durable each has to be when it is acknowledged. Most requests that come one record
at a time are for one partition, so that case takes the short way.

Next hop: partition.py.
"""

from collections.abc import Callable
from typing import Final

from kohort.broker.each_partition import IN_PROGRESS, ask_each_partition
from kohort.broker.partition import ProducedTo
from kohort.broker.partitions import Partitions
from kohort.carrier.contract import AnswerTo, Pending
from kohort.model.commands.data import (
    PartitionProduce,
    PartitionProduced,
    Produce,
    Produced,
    TopicProduce,
    TopicProduced,
)
from kohort.model.errors import ErrorCode
from kohort.model.ids import OrgId
from kohort.store.log import Durability

ALL_REPLICAS: Final = -1


class Produces:
    """Takes Produce commands."""

    def __init__(self, partitions: Partitions, *, durability: Durability, now_ms: Callable[[], int]) -> None:
        self._partitions: Final = partitions
        self._now_ms: Final = now_ms
        self._durability: Final = {ALL_REPLICAS: durability, 0: Durability.OS, 1: Durability.OS}
        """By acks: who does not ask for all replicas does not ask for the disk either."""

    def handle(self, org_id: OrgId, command: Produce, answer_to: AnswerTo) -> Pending | None:
        topics = command.topics
        if len(topics) != 1 or len(topics[0].partitions) != 1:
            return self._append_each(org_id, command, answer_to)
        topic = topics[0]

        def done(outcome: PartitionProduced) -> None:
            answer_to(Produced((TopicProduced(topic.name, topic.topic_id, (outcome,)),)))

        return IN_PROGRESS if self._append(org_id, command, topic, topic.partitions[0], done) else None

    def _append_each(self, org_id: OrgId, command: Produce, answer_to: AnswerTo) -> Pending | None:
        def ask(topic: TopicProduce, asked: PartitionProduce, done: ProducedTo) -> None:
            self._append(org_id, command, topic, asked, done)

        def answer(outcomes: list[tuple[TopicProduce, tuple[PartitionProduced, ...]]]) -> None:
            answer_to(Produced(tuple([TopicProduced(topic.name, topic.topic_id, each) for topic, each in outcomes])))

        return ask_each_partition(command.topics, ask, answer)

    def _append(
        self, org_id: OrgId, command: Produce, topic: TopicProduce, asked: PartitionProduce, done: ProducedTo
    ) -> bool:
        """Whether the outcome is still to come."""
        index = asked.index
        durability = self._durability.get(command.acks)
        if durability is None:
            done(PartitionProduced(index, ErrorCode.INVALID_REQUIRED_ACKS))
            return False
        partition = self._partitions.find(org_id, topic.name, topic.topic_id, index)
        if partition is None:
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if topic.name else ErrorCode.UNKNOWN_TOPIC_ID
            done(PartitionProduced(index, code))
            return False
        if partition.topic.is_internal:
            # What lies there is the broker's own state.
            done(PartitionProduced(index, ErrorCode.INVALID_TOPIC_EXCEPTION))
            return False
        return partition.append(asked.records, durability, self._now_ms(), done, allows_zstd=command.allows_zstd)
