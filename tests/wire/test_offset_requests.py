"""OffsetCommit requests read straight to commands, against what kio reads."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema

from kohort.model.commands.groups import OffsetCommit, TopicCommit
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire.errors import DecodeError
from kohort.wire.messages import milliseconds, request_decoder, request_encoder
from kohort.wire.offset_requests import OFFSET_COMMIT, offset_commit_decoder
from tests.wire.entities import entities, message

HEADER = 4 + 8 + 2 + len("client")
VERSIONS = range(2, 11)


def frame_of(version: int, request: object) -> tuple[memoryview, int]:
    """A frame without its size, and where its body begins."""
    frame = b"".join(map(bytes, request_encoder(OFFSET_COMMIT, version)(1, "client", message(request))))
    return memoryview(frame)[4:], HEADER - 4 + (version >= 8)


def expected(request: Any, version: int) -> OffsetCommit:
    topics = tuple(
        TopicCommit(
            topic.name if version < 10 else "",
            tuple(each.partition_index for each in topic.partitions),
            tuple(each.committed_offset for each in topic.partitions),
            tuple(each.committed_leader_epoch if version >= 6 else -1 for each in topic.partitions),
            tuple(each.committed_metadata for each in topic.partitions)
            if any(each.committed_metadata for each in topic.partitions)
            else (),
            NO_TOPIC_ID if version < 10 else topic.topic_id or NO_TOPIC_ID,
        )
        for topic in request.topics
    )
    retention_time_ms = milliseconds(request.retention_time) if version <= 4 else -1
    return OffsetCommit(
        request.group_id,
        topics,
        request.member_id,
        request.generation_id_or_member_epoch,
        request.group_instance_id if version >= 7 else None,
        retention_time_ms,
        version >= 9,
    )


@pytest.mark.parametrize("version", VERSIONS)
@given(data=st.data())
def test_a_request_becomes_the_command_that_kio_would_have_it_be(version: int, data: st.DataObject) -> None:
    request = data.draw(entities(load_request_schema(OFFSET_COMMIT, version)))
    frame, position = frame_of(version, request)
    command = offset_commit_decoder(version)(frame, position)
    read = request_decoder(OFFSET_COMMIT, version)(frame, position)
    assert command == expected(read, version)


@pytest.mark.parametrize("version", [8, 9, 10])
@given(data=st.data())
def test_whatever_the_bytes_are_they_are_a_command_or_a_decode_error(version: int, data: st.DataObject) -> None:
    request = data.draw(entities(load_request_schema(OFFSET_COMMIT, version)))
    frame, position = frame_of(version, request)
    spoiled = bytearray(frame)
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(position, len(spoiled) - 1))
        spoiled[place] = data.draw(st.integers(0, 255))
    cut = spoiled[: data.draw(st.integers(position, len(spoiled)))]
    try:
        command = offset_commit_decoder(version)(memoryview(cut), position)
    except DecodeError:
        return
    for topic in command.topics:
        columns = (topic.committed_offsets, topic.committed_leader_epochs, topic.committed_metadata or topic[1])
        assert {len(column) for column in columns} == {len(topic.partition_indexes)}


@pytest.mark.parametrize("announced", [b"\xff\xff\xff\xff\x07", b"\xff\xff\x03"])
def test_announced_topics_that_the_frame_cannot_hold_are_refused(announced: bytes) -> None:
    body = b"\2g" + (5).to_bytes(4, "big") + b"\2m" + b"\0" + announced
    with pytest.raises(DecodeError):
        offset_commit_decoder(9)(memoryview(body), 0)
