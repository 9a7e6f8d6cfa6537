"""Whole requests of groups, built once before a load begins, each with the one answer that says it was done.

Requests and answers are built with kio's own writers, so an answer with any error in it is another answer. Versions are
the newest that name topics by their names, as librdkafka sends them. Next hop: pumping.py and pacing.py send them.
"""

import io
from collections.abc import Mapping
from datetime import timedelta
from struct import Struct
from typing import Any, Final

import kio.schema.consumer_group_heartbeat.v1.request as consumer_heartbeat
import kio.schema.consumer_group_heartbeat.v1.response as consumer_heartbeat_answer
import kio.schema.heartbeat.v4.request as heartbeat
import kio.schema.heartbeat.v4.response as heartbeat_answer
import kio.schema.offset_commit.v9.request as offset_commit
import kio.schema.offset_commit.v9.response as offset_commit_answer
import kio.schema.offset_fetch.v9.request as offset_fetch
import kio.schema.offset_fetch.v9.response as offset_fetch_answer
from kio.schema.errors import ErrorCode
from kio.schema.types import GroupId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32, i32Timedelta, i64

from bench.frames import CheckedFrame, request_frame

_SIZE: Final = Struct(">i")
_FLEXIBLE_HEADER_SIZE: Final = 4 + 4 + 1
_INTERVAL_AND_BEHIND: Final = 4 + 1 + 1
"""The interval, no assignment, no tags: an answer with an assignment would be longer."""
NO_TIME: Final = i32Timedelta.parse(timedelta(0))


def answer_frame(answer: Any, correlation_id: int = 0) -> bytes:
    """The frame of a flexible answer."""
    body = io.BytesIO()
    entity_writer(type(answer))(body, answer)
    data = _SIZE.pack(correlation_id) + b"\0" + body.getvalue()
    return _SIZE.pack(len(data)) + data


def read_answer(answer: bytes, schema: type[Any]) -> Any:
    """The entity in the frame of a flexible answer."""
    entity, _ = entity_reader(schema)(answer, _FLEXIBLE_HEADER_SIZE)
    return entity


def heartbeat_frame(group: str, generation: int, member_id: str) -> CheckedFrame:
    """Of a member of a classic group that is stable."""
    request = heartbeat.HeartbeatRequest(group_id=GroupId(group), generation_id=i32(generation), member_id=member_id)
    return _checked(request, heartbeat_answer.HeartbeatResponse(throttle_time=NO_TIME, error_code=ErrorCode.none))


def consumer_heartbeat_frame(group: str, member_id: str, epoch: int) -> CheckedFrame:
    """Of a member of a KIP-848 group that has nothing to say, and is to hear nothing but its next interval."""
    request = consumer_heartbeat.ConsumerGroupHeartbeatRequest(
        group_id=GroupId(group), member_id=member_id, member_epoch=i32(epoch), topic_partitions=None
    )
    answer = consumer_heartbeat_answer.ConsumerGroupHeartbeatResponse(
        throttle_time=NO_TIME,
        error_code=ErrorCode.none,
        member_id=member_id,
        member_epoch=i32(epoch),
        heartbeat_interval=NO_TIME,
    )
    return _checked(request, answer, unread=_INTERVAL_AND_BEHIND)


def commit_frame(group: str, topic: str, offsets: Mapping[int, int]) -> CheckedFrame:
    """Commits an offset for each of these partitions, for a group that has no members."""
    committed = tuple(
        offset_commit.OffsetCommitRequestPartition(
            partition_index=i32(partition), committed_offset=i64(offset), committed_metadata=""
        )
        for partition, offset in offsets.items()
    )
    topics = (offset_commit.OffsetCommitRequestTopic(name=TopicName(topic), partitions=committed),)
    accepted = tuple(
        offset_commit_answer.OffsetCommitResponsePartition(partition_index=i32(partition), error_code=ErrorCode.none)
        for partition in offsets
    )
    answered = (offset_commit_answer.OffsetCommitResponseTopic(name=TopicName(topic), partitions=accepted),)
    return _checked(
        offset_commit.OffsetCommitRequest(group_id=GroupId(group), member_id="", topics=topics),
        offset_commit_answer.OffsetCommitResponse(throttle_time=NO_TIME, topics=answered),
    )


def offset_fetch_frame(group: str, topic: str, offsets: Mapping[int, int]) -> CheckedFrame:
    """Asks for what was committed for these partitions; the answer is these very offsets."""
    asked = offset_fetch.OffsetFetchRequestTopics(
        name=TopicName(topic), partition_indexes=tuple(i32(partition) for partition in offsets)
    )
    groups = (offset_fetch.OffsetFetchRequestGroup(group_id=GroupId(group), topics=(asked,)),)
    found = tuple(
        offset_fetch_answer.OffsetFetchResponsePartitions(
            partition_index=i32(partition), committed_offset=i64(offset), metadata="", error_code=ErrorCode.none
        )
        for partition, offset in offsets.items()
    )
    topics = (offset_fetch_answer.OffsetFetchResponseTopics(name=TopicName(topic), partitions=found),)
    answered = (offset_fetch_answer.OffsetFetchResponseGroup(group_id=GroupId(group), topics=topics),)
    return _checked(
        offset_fetch.OffsetFetchRequest(groups=groups),
        offset_fetch_answer.OffsetFetchResponse(throttle_time=NO_TIME, groups=answered),
    )


def _checked(request: Any, answer: Any, unread: int = 0) -> CheckedFrame:
    """This request, and this answer to it, but for some bytes at its end."""
    expected = answer_frame(answer)
    return CheckedFrame(request_frame(request), 0, 0, expected[: len(expected) - unread], len(expected))
