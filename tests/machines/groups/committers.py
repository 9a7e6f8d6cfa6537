"""Commits and fetches of offsets as tests write them: by topic and partition, in rows."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kohort.model.commands.groups import (
    OffsetCommit,
    OffsetCommitAnswer,
    OffsetFetch,
    OffsetFetchAnswer,
    TopicCommit,
    TopicOffsetsQuery,
)
from kohort.model.ids import NO_TOPIC_ID


def commit(group_id: str, offsets: Mapping[str | UUID, Mapping[int, Any]], **fields: Any) -> OffsetCommit:
    """Offsets by topic, which is a name or an id, and partition: a number, or (offset, leader epoch, metadata)."""
    return OffsetCommit(group_id, tuple(_topic(topic, each) for topic, each in offsets.items()), **fields)


def _topic(topic: str | UUID, offsets: Mapping[int, Any]) -> TopicCommit:
    rows = [each if isinstance(each, tuple) else (each, -1, None) for each in offsets.values()]
    name, topic_id = (topic, NO_TOPIC_ID) if isinstance(topic, str) else ("", topic)
    return TopicCommit(
        name,
        tuple(offsets),
        tuple(offset for offset, _, _ in rows),
        tuple(leader_epoch for _, leader_epoch, _ in rows),
        tuple(metadata for _, _, metadata in rows),
        topic_id,
    )


def codes(answer: OffsetCommitAnswer) -> dict[tuple[str | UUID, int], int]:
    """What became of each partition."""
    return {
        (topic.name or topic.topic_id, each.partition_index): int(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }


def fetch(group_id: str, partitions: Mapping[str | UUID, tuple[int, ...]] | None = None, **fields: Any) -> OffsetFetch:
    if partitions is None:
        return OffsetFetch(group_id, None, **fields)
    topics = (
        TopicOffsetsQuery(topic, indexes) if isinstance(topic, str) else TopicOffsetsQuery("", indexes, topic)
        for topic, indexes in partitions.items()
    )
    return OffsetFetch(group_id, tuple(topics), **fields)


def offsets(answer: OffsetFetchAnswer) -> dict[tuple[str | UUID, int], int]:
    """The offset of each partition; the error in its place, as a negative number below -1."""
    return {
        (topic.name or topic.topic_id, each.partition_index): each.committed_offset
        if not each.error_code
        else -int(each.error_code)
        for topic in answer.topics
        for each in topic.partitions
    }
