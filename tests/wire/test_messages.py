"""Frames as clients send them, sound and otherwise: what comes out, and that nothing but DecodeError does."""

import struct
from datetime import timedelta
from types import SimpleNamespace as Fields
from uuid import UUID

import pytest

from kohort.model.commands.data import (
    Fetched,
    PartitionFetched,
    PartitionProduced,
    Produced,
    TopicFetched,
    TopicProduced,
)
from kohort.wire.bounds import MAX_ITEMS
from kohort.wire.encoders import unsigned_varint
from kohort.wire.long_strings import MAX_STRING_BYTES
from kohort.wire.messages import (
    API_VERSIONS,
    DecodeError,
    RequestHeader,
    decode_request_header,
    milliseconds,
    request_decoder,
    request_encoder,
    response_decoder,
    response_encoder,
)
from kohort.wire.offset_requests import offset_commit_decoder

PRODUCE, FETCH, METADATA, OFFSET_COMMIT, HEARTBEAT, DESCRIBE_TOPIC_PARTITIONS = 0, 1, 3, 8, 12, 75
ORDERS = UUID(int=7)

PRODUCE_REQUEST = Fields(
    transactional_id=None,
    acks=-1,
    timeout_ms=30_000,
    topic_data=(
        Fields(name="orders", topic_id=ORDERS, partition_data=(Fields(index=3, records=b"batch"),)),
        Fields(name="payments", topic_id=ORDERS, partition_data=(Fields(index=0, records=None),)),
    ),
)


def frame(api_key: int, version: int, message: object, client_id: str | None = "a client") -> memoryview:
    """The frame as the gateway gets it: without its size."""
    return memoryview(b"".join(request_encoder(api_key, version)(77, client_id, message))).toreadonly()[4:]


def decode(api_key: int, version: int, body: bytes) -> object:
    return request_decoder(api_key, version)(memoryview(body).toreadonly(), 0)


# Headers


@pytest.mark.parametrize("version", [3, 8, 9, 13])
def test_a_header_says_who_asks_what_and_where_the_body_begins(version: int) -> None:
    data = frame(PRODUCE, version, PRODUCE_REQUEST)
    header, start = decode_request_header(data)
    assert header == RequestHeader(PRODUCE, version, 77, "a client")
    request = request_decoder(PRODUCE, version)(data, start)
    assert request.topic_data[0].partition_data[0].records == b"batch"
    assert request.topic_data[1].partition_data[0].records is None
    assert milliseconds(request.timeout) == 30_000


@pytest.mark.parametrize("client_id", [None, ""])
def test_a_client_without_a_name_has_an_empty_one(client_id: str | None) -> None:
    header, _start = decode_request_header(frame(HEARTBEAT, 4, heartbeat(), client_id))
    assert header.client_id == ""


def test_tagged_fields_of_a_header_are_skipped() -> None:
    tags = b"\2" + b"\0\3abc" + b"\x64\1z"
    data = memoryview(struct.pack(">hhih", HEARTBEAT, 4, 5, -1) + tags + b"body")
    assert decode_request_header(data) == (RequestHeader(HEARTBEAT, 4, 5, ""), len(data) - 4)


def test_an_api_versions_request_of_a_version_yet_to_come_has_a_header() -> None:
    data = memoryview(struct.pack(">hhih", API_VERSIONS, 99, 5, 3) + b"new" + b"\0" + b"whatever")
    header, _start = decode_request_header(data)
    assert header == RequestHeader(API_VERSIONS, 99, 5, "new")


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "header"),
        (struct.pack(">hhi", PRODUCE, 9, 1), "header"),
        (struct.pack(">hhih", PRODUCE, 9, 1, 400) + b"abc", "client id"),
        (struct.pack(">hhih", PRODUCE, 9, 1, -2), "client id"),
        (struct.pack(">hhih", PRODUCE, 9, 1, 1) + b"\xff\0", "header"),
        (struct.pack(">hhih", PRODUCE, 9, 1, -1), "header"),
        (struct.pack(">hhih", PRODUCE, 9, 1, -1) + b"\1\0\x7f", "tagged"),
        (struct.pack(">hhih", PRODUCE, 9, 1, -1) + b"\xff" * 9, "varint"),
        (struct.pack(">hhih", PRODUCE, 14, 1, -1) + b"\0", "no version 14"),
        (struct.pack(">hhih", PRODUCE, 2, 1, -1) + b"\0", "no version 2"),
        (struct.pack(">hhih", 999, 0, 1, -1) + b"\0", "key 999"),
        (struct.pack(">hhih", -1, -1, 1, -1) + b"\0", "key -1"),
    ],
)
def test_a_header_that_is_none_is_refused_by_name(data: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError, match=complaint):
        decode_request_header(memoryview(data))


# Requests


def heartbeat() -> Fields:
    return Fields(group_id="g", generation_id=1, member_id="m", group_instance_id=None)


def test_bytes_behind_a_request_are_left_alone() -> None:
    data = memoryview(bytes(frame(HEARTBEAT, 4, heartbeat())) + b"more")
    assert request_decoder(HEARTBEAT, 4)(data, decode_request_header(data)[1]).member_id == "m"


@pytest.mark.parametrize("version", [3, 9, 13])
def test_a_request_cut_short_anywhere_is_refused(version: int) -> None:
    data = frame(PRODUCE, version, PRODUCE_REQUEST)
    _header, start = decode_request_header(data)
    for end in range(start, len(data)):
        with pytest.raises(DecodeError):
            request_decoder(PRODUCE, version)(data[:end], start)


@pytest.mark.parametrize("text", ["m" * MAX_STRING_BYTES, "\u00e9" * (MAX_STRING_BYTES // 2)])
def test_a_string_may_be_as_long_as_kafka_lets_it_and_no_longer(text: str) -> None:
    def decoded(member_id: str) -> str:
        data = frame(HEARTBEAT, 4, Fields(**{**vars(heartbeat()), "member_id": member_id}))
        return str(request_decoder(HEARTBEAT, 4)(data, decode_request_header(data)[1]).member_id)

    assert decoded(text) == text
    with pytest.raises(DecodeError, match="32767 bytes"):
        decoded(text + "\u00e9")


@pytest.mark.parametrize("version", [8, 9, 10])
def test_no_string_of_a_commit_is_longer_than_a_record_has_room_for(version: int) -> None:
    commit = Fields(
        group_id="g" * (MAX_STRING_BYTES + 1),
        generation_id_or_member_epoch=-1,
        member_id="",
        group_instance_id=None,
        topics=(),
    )
    data = frame(OFFSET_COMMIT, version, commit)
    with pytest.raises(DecodeError):
        offset_commit_decoder(version)(data, decode_request_header(data)[1])


@pytest.mark.parametrize("count", [2**31 - 1, 2**28, 1000, -2, -(2**31)])
def test_an_array_that_cannot_be_there_is_refused_before_memory_is_reserved_for_it(count: int) -> None:
    with pytest.raises(DecodeError):
        decode(METADATA, 1, struct.pack(">i", count) + b"\0\1a")


@pytest.mark.parametrize("count", [2**31 - 1, 2**32 - 1, 2**35 - 1, 2**63])
def test_a_compact_array_that_cannot_be_there_is_refused(count: int) -> None:
    with pytest.raises(DecodeError):
        decode(METADATA, 9, unsigned_varint(count) + b"\2a\0")


def test_an_array_within_the_last_item_of_another_is_checked() -> None:
    topics = b"\0" + struct.pack(">hi", 1, 1) + b"\3" + b"\2a" + b"\1" + b"\0" + b"\2b" + unsigned_varint(2**31)
    with pytest.raises(DecodeError, match=r"ProduceRequest\.partition_data announces 2147483647 items"):
        decode(PRODUCE, 9, topics)


def test_an_array_hidden_behind_a_tagged_field_of_false_size_is_not_reached() -> None:
    """kio goes on where the tagged field ends, not where it says it does: the check may not be led elsewhere."""
    replica_directory = b"\1" + b"\0" + b"\x20" + bytes(16)
    hidden = b"\0" + unsigned_varint(2**31) + bytes(20)
    start = struct.pack(">iiibii", 500, 1, 1000, 0, 0, -1) + b"\2" + bytes(16) + b"\2" + bytes(32)
    with pytest.raises(DecodeError, match="FetchRequest has a field of tag 0 that is not 32 bytes long"):
        decode(FETCH, 17, start + replica_directory + hidden)


def test_more_items_than_any_client_names_are_refused_though_the_frame_holds_them() -> None:
    with pytest.raises(DecodeError, match="announces"):
        decode(METADATA, 1, struct.pack(">i", MAX_ITEMS + 1) + bytes(2 * (MAX_ITEMS + 1)))


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        (struct.pack(">hhii", -1, 1, 1000, -1), "topic_data is null"),
        (struct.pack(">hhiih", -1, 1, 1000, 1, -1) + struct.pack(">iii", 1, 0, -1), "null"),
        (struct.pack(">hhiih", -1, 1, 1000, 1, 1) + b"\xff" + struct.pack(">iii", 1, 0, -1), "UTF-8"),
        (struct.pack(">hhiih", -1, 1, 1000, 1, 1) + b"a" + struct.pack(">iii", 1, 0, -5), "negative"),
        (struct.pack(">hhiih", -1, 1, 1000, 1, 1) + b"a" + struct.pack(">iii", 1, 0, 2**31 - 1), "exhausted"),
    ],
)
def test_what_has_no_meaning_is_refused_by_name(body: bytes, complaint: str) -> None:
    with pytest.raises(DecodeError, match=f"ProduceRequest.*{complaint}"):
        decode(PRODUCE, 3, body)


@pytest.mark.parametrize("retention_ms", [2**63 - 1, -(2**63)])
def test_a_time_that_has_no_place_in_a_timedelta_is_refused(retention_ms: int) -> None:
    body = b"\0\1g" + struct.pack(">i", 1) + b"\0\1m" + struct.pack(">qi", retention_ms, 0)
    with pytest.raises(DecodeError, match="overflow"):
        decode(OFFSET_COMMIT, 2, body)


@pytest.mark.parametrize("timeout_ms", [0, -1, 1, 2**31 - 1, -(2**31)])
def test_times_come_and_go_to_the_millisecond(timeout_ms: int) -> None:
    request = decode(PRODUCE, 3, struct.pack(">hhii", -1, 1, timeout_ms, 0))
    assert milliseconds(request.timeout) == timeout_ms  # type: ignore[attr-defined]
    assert milliseconds(timedelta(milliseconds=timeout_ms)) == timeout_ms


# Tagged fields that only newer clients know


def test_unknown_tagged_fields_are_skipped_at_every_depth() -> None:
    unknown = b"\1\x09\3new"
    topic = b"\7orders" + b"\2" + struct.pack(">i", 3) + b"\6batch" + unknown + unknown
    request = decode(PRODUCE, 9, b"\0" + struct.pack(">hi", -1, 1) + b"\2" + topic + b"\2\x08\0\x09\1x")
    (data,) = request.topic_data  # type: ignore[attr-defined]
    assert (data.name, data.partition_data[0].index, data.partition_data[0].records) == ("orders", 3, b"batch")


def test_known_tagged_fields_stay_beside_unknown_ones() -> None:
    start = struct.pack(">iiibii", 500, 1, 1000, 0, 0, -1) + b"\1\1\1"
    cluster_id = b"\0\4\4abc"
    replica_state = b"\1\x0f" + struct.pack(">iq", 5, 6) + b"\1\x20\0"
    request = decode(FETCH, 15, start + b"\3" + cluster_id + replica_state + b"\7\1x")
    assert request.cluster_id == "abc"  # type: ignore[attr-defined]
    assert (request.replica_state.replica_id, request.replica_state.replica_epoch) == (5, 6)  # type: ignore[attr-defined]


@pytest.mark.parametrize("has_cursor", [True, False])
def test_an_unknown_tagged_field_behind_a_struct_that_may_be_null_is_skipped(has_cursor: bool) -> None:
    cursor = b"\1\2a" + struct.pack(">i", 4) + b"\0" if has_cursor else b"\xff"
    request = decode(DESCRIBE_TOPIC_PARTITIONS, 0, b"\2\2b\0" + struct.pack(">i", 10) + cursor + b"\1\5\1x")
    assert (request.cursor is not None) == has_cursor  # type: ignore[attr-defined]


def test_an_unknown_tagged_field_that_leaves_the_frame_is_refused() -> None:
    with pytest.raises(DecodeError):
        decode(HEARTBEAT, 4, b"\2g" + struct.pack(">i", 1) + b"\2m\0" + b"\1\5\x7fx")


# Answers


def test_an_answer_carries_its_correlation_id_and_values_of_the_data_path() -> None:
    produced = Produced((TopicProduced("orders", ORDERS, (PartitionProduced(3, 0, 42, log_append_time_ms=1_000),)),))
    for version in range(3, 14):
        (data,) = response_encoder(PRODUCE, version)(-9, produced)
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        correlation_id, response = response_decoder(PRODUCE, version)(memoryview(data)[4:])
        partition = response.responses[0].partition_responses[0]
        assert (correlation_id, partition.index, partition.base_offset) == (-9, 3, 42)
        assert partition.log_append_time.timestamp() == 1


def test_record_batches_go_out_as_the_very_buffers_that_came() -> None:
    first, second = memoryview(bytearray(b"first")), b"second"
    fetched = Fetched(
        0,
        0,
        (
            TopicFetched("orders", ORDERS, (PartitionFetched(0, 0, records=(first, second)), PartitionFetched(1, 0))),
            TopicFetched("payments", ORDERS, (PartitionFetched(0, 0, records=(second,)),)),
        ),
    )
    for version in range(4, 19):
        frame_pieces = response_encoder(FETCH, version)(1, fetched)
        assert any(piece is first for piece in frame_pieces)
        assert sum(piece is second for piece in frame_pieces) == 2
        data = b"".join(frame_pieces)
        assert int.from_bytes(data[:4], "big") == len(data) - 4
        _correlation_id, response = response_decoder(FETCH, version)(memoryview(data)[4:])
        records = [partition.records for topic in response.responses for partition in topic.partitions]
        assert records == [b"firstsecond", b"", b"second"]


def test_an_answer_without_record_batches_is_one_buffer() -> None:
    fetched = Fetched(0, 0, (TopicFetched("orders", ORDERS, (PartitionFetched(0, 3),)),))
    assert len(response_encoder(FETCH, 17)(1, fetched)) == 1


def test_an_api_versions_answer_has_the_oldest_header_in_every_version() -> None:
    answer = Fields(error_code=0, api_keys=(Fields(api_key=18, min_version=0, max_version=4),))
    for version in range(5):
        (data,) = response_encoder(API_VERSIONS, version)(6, answer)
        assert data[4:10] == struct.pack(">ih", 6, 0)
        assert response_decoder(API_VERSIONS, version)(memoryview(data)[4:])[1].api_keys[0].max_version == 4


def test_an_answer_that_lacks_what_has_no_default_is_a_fault() -> None:
    with pytest.raises(AttributeError, match="protocol_name"):
        response_encoder(11, 9)(1, Fields(error_code=0))


@pytest.mark.parametrize(("api_key", "version"), [(999, 0), (PRODUCE, 2), (PRODUCE, 14), (FETCH, 99), (4, 0)])
def test_an_api_or_version_that_does_not_exist_has_no_decoder_and_no_encoder(api_key: int, version: int) -> None:
    for compiled in (request_decoder, response_encoder, request_encoder, response_decoder):
        with pytest.raises(DecodeError):
            compiled(api_key, version)
