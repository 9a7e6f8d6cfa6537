"""Produce requests come out as kio would read them, without a copy of their batches, and lies are refused."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.index import load_request_schema

from kohort.model.commands.data import PartitionProduce, Produce, TopicProduce
from kohort.model.ids import NO_TOPIC_ID
from kohort.wire import produce_requests
from kohort.wire.encoders import body_encoder
from kohort.wire.errors import DecodeError
from kohort.wire.produce_requests import PRODUCE, produce_decoder
from tests.wire.entities import entities, message

VERSIONS = range(3, 14)
TOPIC_ID = UUID(int=5)


def body(version: int, request: Any) -> bytes:
    return b"".join(body_encoder(load_request_schema(PRODUCE, version))(message(request)))


def decode(version: int, data: bytes) -> Produce:
    return produce_decoder(version)(memoryview(b"header" + data), len(b"header"))


def as_command(version: int, request: Any) -> Produce:
    """What kio's request says."""
    topics = tuple(
        TopicProduce(
            getattr(topic, "name", ""),
            getattr(topic, "topic_id", None) or NO_TOPIC_ID,
            tuple(PartitionProduce(partition.index, partition.records) for partition in topic.partition_data),
        )
        for topic in request.topic_data
    )
    fields = message(request)
    return Produce(topics, fields.acks, fields.timeout_ms, fields.transactional_id, allows_zstd=version >= 7)


def one_batch(version: int, records: bytes) -> bytes:
    """A request for partition 2 of one topic, by hand: flexible versions only."""
    topic = TOPIC_ID.bytes if version >= 13 else b"\x07orders"
    assert len(records) < 127
    partition = b"\0\0\0\2" + bytes([len(records) + 1]) + records + b"\0"
    return b"\0" + b"\xff\xff" + b"\0\0\x05\xdc" + b"\2" + topic + b"\2" + partition + b"\0" + b"\0"


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=40, deadline=None, suppress_health_check=(HealthCheck.too_slow,))
@given(data=st.data())
def test_a_request_of_any_shape_is_read_as_kio_reads_it(version: int, data: st.DataObject) -> None:
    request = data.draw(entities(load_request_schema(PRODUCE, version)))

    assert decode(version, body(version, request)) == as_command(version, request)


@pytest.mark.parametrize("version", [9, 12, 13])
def test_batches_are_not_copied(version: int) -> None:
    frame = memoryview(one_batch(version, b"records"))

    (topic,) = produce_decoder(version)(frame, 0).topics

    (partition,) = topic.partitions
    assert isinstance(partition.records, memoryview)
    assert partition.records.obj is frame.obj
    assert partition == PartitionProduce(2, b"records")


@pytest.mark.parametrize("version", [9, 13])
def test_a_request_that_ends_early_is_refused_wherever_it_ends(version: int) -> None:
    whole = one_batch(version, b"records")

    for end in range(len(whole)):
        with pytest.raises(DecodeError, match="ProduceRequest"):
            decode(version, whole[:end])


@pytest.mark.parametrize("version", [9, 13])
def test_bytes_behind_a_request_are_left_alone(version: int) -> None:
    assert decode(version, one_batch(version, b"records") + b"more") == decode(version, one_batch(version, b"records"))


def test_tagged_fields_that_nobody_knows_are_skipped_wherever_they_stand() -> None:
    tags = b"\2" + b"\0\3abc" + b"\7\0"
    tagged = b"\0\xff\xff\0\0\x05\xdc\2\7orders\2\0\0\0\2\2r" + tags + tags + tags

    assert decode(9, tagged) == decode(9, one_batch(9, b"r"))


@pytest.mark.parametrize(
    "lie",
    [
        b"\0\xff\xff\0\0\0\0\0",  # topics that are null
        b"\0\xff\xff\0\0\0\0\xff\xff\xff\xff\x0f",  # 2^32 topics
        b"\0\xff\xff\0\0\0\0\xff\xff\xff\xff\xff\xff",  # a count that never ends
        b"\0\xff\xff\0\0\0\0\x7eabcdefgh",  # more topics than there are bytes
        b"\0\xff\xff\0\0\0\0\2\0",  # a name that is null
        b"\0\xff\xff\0\0\0\0\2\x70orders",  # a name longer than the frame
        b"\0\xff\xff\0\0\0\0\2\3\xff\xff\1\0\0",  # a name that is not UTF-8
        b"\0\xff\xff\0\0\0\0\2\7orders\2\0\0\0\2\xff\xff\xff\x7fabc\0\0\0",  # records longer than the frame
        b"\x7fid",  # a transactional id longer than the frame
    ],
)
def test_lies_are_refused(lie: bytes) -> None:
    with pytest.raises(DecodeError, match=r"varint|ProduceRequest"):
        decode(9, lie)


def test_a_request_may_not_name_more_than_memory_is_given_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """An item takes six bytes in the frame and a hundred in memory."""
    monkeypatch.setattr(produce_requests, "MAX_ITEMS", 5)
    partition = b"\0\0\0\2\0\0"
    two_topics = b"\0\xff\xff\0\0\0\0\3" + (b"\7orders\3" + 2 * partition + b"\0") * 2 + b"\0"

    with pytest.raises(DecodeError, match="items are announced"):
        decode(9, two_topics)


@settings(max_examples=300, deadline=None)
@given(noise=st.binary(max_size=60), version=st.sampled_from([9, 12, 13]))
def test_noise_is_a_request_or_a_refusal(noise: bytes, version: int) -> None:
    try:
        command = decode(version, noise)
    except DecodeError:
        return
    assert isinstance(command, Produce)
