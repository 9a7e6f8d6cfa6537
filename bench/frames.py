"""Whole request frames, built once before a load begins, and what their answers look like.

Built with kio's own writer. Where a load must read an answer quickly, this file says at which byte to look, and nobody
decodes. Produce and Fetch are version 12, the last that name a topic by its name. Next hop: connection.py sends them.
"""

import io
from dataclasses import dataclass
from datetime import timedelta
from struct import Struct
from typing import Any, Final, NamedTuple

import kio.schema.api_versions.v0.request as api_versions
import kio.schema.create_topics.v7.request as create_topics
import kio.schema.delete_topics.v6.request as delete_topics
import kio.schema.fetch.v12.request as fetch
import kio.schema.list_offsets.v7.request as list_offsets
import kio.schema.produce.v12.request as produce
from kio.schema.request_header.v1.header import RequestHeader as PlainHeader
from kio.schema.request_header.v2.header import RequestHeader as FlexibleHeader
from kio.schema.types import BrokerId, TopicName
from kio.serial import entity_writer
from kio.static.primitive import Records, i8, i16, i32, i32Timedelta, i64

from bench.batches import RecordBatch

CLIENT_ID: Final = "bench"
LATEST: Final = -1
_SIZE: Final = Struct(">i")
_OFFSET: Final = Struct(">q")
_OFFSET_MARK: Final = 0x0123456789ABCDEF


def request_frame(request: Any, correlation_id: int = 0) -> bytes:
    """The frame of any request entity of kio."""
    header = {
        "request_api_key": request.__api_key__,
        "request_api_version": request.__version__,
        "correlation_id": i32(correlation_id),
        "client_id": CLIENT_ID,
    }
    body = io.BytesIO()
    schema = FlexibleHeader if request.__flexible__ else PlainHeader
    entity_writer(schema)(body, schema(**header))
    entity_writer(type(request))(body, request)
    return _SIZE.pack(body.tell()) + body.getvalue()


def api_versions_frame() -> bytes:
    return request_frame(api_versions.ApiVersionsRequest())


def create_topic_frame(topic: str, partitions: int) -> bytes:
    creatable = create_topics.CreatableTopic(
        name=TopicName(topic),
        num_partitions=i32(partitions),
        replication_factor=i16(1),
        assignments=(),
        configs=(),
    )
    return request_frame(create_topics.CreateTopicsRequest(topics=(creatable,)))


def delete_topic_frame(topic: str) -> bytes:
    state = delete_topics.DeleteTopicState(name=TopicName(topic), topic_id=None)
    return request_frame(delete_topics.DeleteTopicsRequest(topics=(state,), timeout=_timeout(30)))


def end_offsets_frame(topic: str, partitions: int) -> bytes:
    asked = tuple(
        list_offsets.ListOffsetsPartition(partition_index=i32(index), timestamp=i64(LATEST))
        for index in range(partitions)
    )
    topics = (list_offsets.ListOffsetsTopic(name=TopicName(topic), partitions=asked),)
    return request_frame(list_offsets.ListOffsetsRequest(replica_id=BrokerId(-1), isolation_level=i8(0), topics=topics))


class CheckedFrame(NamedTuple):
    """A request, and the beginning of the one answer that says it was done."""

    data: bytes
    record_bytes: int
    """Of the batch that it produces; requests of groups carry none."""
    record_count: int
    accepted: bytes
    answer_size: int


def produce_frame(topic: str, partition: int, batch: RecordBatch, correlation_id: int = 0) -> CheckedFrame:
    """One batch to one partition, acks=all."""
    data = produce.PartitionProduceData(index=i32(partition), records=Records(batch.data))
    topics = (produce.TopicProduceData(name=TopicName(topic), partition_data=(data,)),)
    request = produce.ProduceRequest(acks=i16(-1), timeout=_timeout(30), topic_data=topics)
    name = topic.encode()
    accepted = (
        _SIZE.pack(correlation_id) + b"\0\2" + bytes((len(name) + 1,)) + name + b"\2" + _SIZE.pack(partition) + b"\0\0"
    )
    # Behind the error code: three offsets and times, no record errors, no message, tags, throttle time, tags.
    size = len(accepted) + 24 + 1 + 1 + 1 + 1 + 4 + 1
    return CheckedFrame(
        request_frame(request, correlation_id),
        len(batch.data),
        batch.record_count,
        _SIZE.pack(size) + accepted,
        _SIZE.size + size,
    )


class Burst(NamedTuple):
    """Some requests laid end to end, to be sent with one call, and what their answers begin with."""

    data: memoryview
    request_count: int
    record_bytes: int
    record_count: int
    accepted: tuple[bytes, ...]
    answer_size: int


def burst_of(frames: list[CheckedFrame]) -> Burst:
    """All answers must be of one size: the same topic, so that only numbers differ."""
    (answer_size,) = {frame.answer_size for frame in frames}
    return Burst(
        memoryview(b"".join(frame.data for frame in frames)),
        len(frames),
        sum(frame.record_bytes for frame in frames),
        sum(frame.record_count for frame in frames),
        tuple(frame.accepted for frame in frames),
        answer_size,
    )


def cycles_for(
    topic: str, partitions: int, batch: RecordBatch, *, connections: int, burst_size: int
) -> list[list[Burst]]:
    """For each connection the bursts it sends in turn; all together go round the partitions, a batch to each."""
    at_once = connections * burst_size
    return [
        [
            burst_of(
                [
                    produce_frame(topic, (start + number * burst_size + index) % partitions, batch, index)
                    for index in range(burst_size)
                ]
            )
            for start in range(0, partitions, at_once)
        ]
        for number in range(connections)
    ]


@dataclass(slots=True)
class FetchFrame:
    """A Fetch request of one partition without a session, sent again and again with another offset."""

    data: bytearray
    _offset_position: int
    records_position: int
    """Where in the answer the length of the records stands, as an unsigned varint."""

    def ask(self, offset: int) -> bytearray:
        _OFFSET.pack_into(self.data, self._offset_position, offset)
        return self.data


def fetch_frame(topic: str, partition: int, *, max_bytes: int, max_wait_ms: int = 500) -> FetchFrame:
    asked = fetch.FetchPartition(
        partition=i32(partition), fetch_offset=i64(_OFFSET_MARK), partition_max_bytes=i32(max_bytes)
    )
    request = fetch.FetchRequest(
        max_wait=i32Timedelta.parse(timedelta(milliseconds=max_wait_ms)),
        min_bytes=i32(1),
        max_bytes=i32(max(max_bytes, 50 << 20)),
        topics=(fetch.FetchTopic(topic=TopicName(topic), partitions=(asked,)),),
        forgotten_topics_data=(),
    )
    data = bytearray(request_frame(request))
    # Size, correlation id, tags; throttle time, error, session; one topic and its name; one partition: index, error,
    # three offsets, no aborted transactions (one byte, null or empty), preferred replica.
    records_position = (4 + 4 + 1) + (4 + 2 + 4) + (1 + 1 + len(topic.encode())) + 1 + (4 + 2 + 24 + 1 + 4)
    return FetchFrame(data, data.index(_OFFSET.pack(_OFFSET_MARK)), records_position)


def _timeout(seconds: int) -> i32Timedelta:
    return i32Timedelta.parse(timedelta(seconds=seconds))
