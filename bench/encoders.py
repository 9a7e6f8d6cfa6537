"""`python -m bench.encoders`: what it costs to write an answer and to read a request, beside kio.

kio's writer gets its own dataclasses; ours the values that the gateway has, with the frame's size and header on top of
what kio writes. Each number is the best of many short rounds, since others share this machine. Asked for: at least
five times as fast as kio.
"""

import sys
import time
from collections.abc import Callable
from io import BytesIO
from types import SimpleNamespace as Fields
from typing import Any, Final, NamedTuple
from uuid import UUID

from kio.index import load_request_schema, load_response_schema
from kio.serial import entity_reader, entity_writer

from kohort.model.commands.catalog import BrokerInfo, PartitionMetadata, TopicMetadata
from kohort.model.commands.data import (
    Fetched,
    PartitionFetched,
    PartitionProduced,
    Produced,
    TopicFetched,
    TopicProduced,
)
from kohort.wire.messages import decode_request_header, request_decoder, request_encoder, response_encoder

PRODUCE, FETCH, METADATA, OFFSET_COMMIT, HEARTBEAT = 0, 1, 3, 8, 12
ASKED_FOR: Final = 5.0
_TOPIC: Final = UUID(int=7)
_ROUNDS: Final = 60
_ROUND_SECONDS: Final = 0.004
_RECORDS: Final = bytes(64 * 1024)


class Answer(NamedTuple):
    title: str
    api_key: int
    version: int
    message: object


class OffsetCommitted(NamedTuple):
    name: str
    partitions: tuple["PartitionCommitted", ...]


class PartitionCommitted(NamedTuple):
    partition_index: int
    error_code: int


ANSWERS: Final = (
    Answer(
        "ProduceResponse, 1 partition",
        PRODUCE,
        9,
        Produced((TopicProduced("orders", _TOPIC, (PartitionProduced(0, 0, 123_456, -1, 0),)),)),
    ),
    Answer(
        "ProduceResponse, 1 partition, topic id",
        PRODUCE,
        13,
        Produced((TopicProduced("", _TOPIC, (PartitionProduced(0, 0, 123_456, -1, 0),)),)),
    ),
    Answer(
        "FetchResponse, 1 partition, 64 KiB",
        FETCH,
        12,
        Fetched(0, 1, (TopicFetched("orders", _TOPIC, (PartitionFetched(0, 0, 9, 9, 0, (_RECORDS,)),)),)),
    ),
    Answer(
        "FetchResponse, 8 partitions, empty",
        FETCH,
        17,
        Fetched(0, 1, (TopicFetched("", _TOPIC, tuple(PartitionFetched(index, 0, 9, 9, 0) for index in range(8))),)),
    ),
    Answer("HeartbeatResponse", HEARTBEAT, 4, Fields(throttle_time_ms=0, error_code=0)),
    Answer(
        "OffsetCommitResponse, 10 partitions",
        OFFSET_COMMIT,
        8,
        Fields(
            throttle_time_ms=0,
            topics=(OffsetCommitted("orders", tuple(PartitionCommitted(index, 0) for index in range(10))),),
        ),
    ),
    Answer(
        "MetadataResponse, 10 topics of 8",
        METADATA,
        12,
        Fields(
            throttle_time_ms=0,
            brokers=tuple(
                Fields(node_id=broker.broker_id, host=broker.host, port=broker.port, rack=broker.rack)
                for broker in (BrokerInfo(1, "broker-1.example.org", 9092),)
            ),
            cluster_id="MkU3OEVBNTcwNTJENDM2Qg",
            controller_id=1,
            topics=tuple(
                Fields(
                    error_code=topic.error_code,
                    name=topic.name,
                    topic_id=topic.topic_id,
                    is_internal=topic.is_internal,
                    partitions=topic.partitions,
                    topic_authorized_operations=-(2**31),
                )
                for topic in (
                    TopicMetadata(
                        0,
                        f"orders-{number}",
                        UUID(int=number + 1),
                        False,
                        tuple(PartitionMetadata(index, 1, 0, (1,), (1,)) for index in range(8)),
                    )
                    for number in range(10)
                )
            ),
        ),
    ),
)


def best_us(call: Callable[[], object]) -> float:
    """Microseconds of one call, in the best of many rounds."""
    calls, best = 1, float("inf")
    while (took := _timed(call, calls)) < _ROUND_SECONDS:
        calls = max(calls + 1, int(calls * _ROUND_SECONDS / max(took, 1e-7)))
    for _ in range(_ROUNDS):
        best = min(best, _timed(call, calls) / calls)
    return best * 1e6


def _timed(call: Callable[[], object], calls: int) -> float:
    start = time.perf_counter()
    for _ in range(calls):
        call()
    return time.perf_counter() - start


def written_by_kio(write: Callable[[BytesIO, Any], None], entity: Any) -> bytes:
    buffer = BytesIO()
    write(buffer, entity)
    return buffer.getvalue()


def measure_answer(answer: Answer) -> tuple[float, float]:
    """(ours, kio's) in microseconds."""
    schema = load_response_schema(answer.api_key, answer.version)
    encode = response_encoder(answer.api_key, answer.version)
    header_size = 4 + 4 + schema.__header_schema__.__flexible__
    body = b"".join(encode(1, answer.message))[header_size:]
    entity, _size = entity_reader(schema)(body, 0)
    write = entity_writer(schema)
    assert written_by_kio(write, entity) == body, f"{answer.title}: these are not the same bytes"
    return best_us(lambda: encode(1, answer.message)), best_us(lambda: written_by_kio(write, entity))


def measure_produce_request(version: int) -> tuple[float, float, float]:
    """(header, body, kio's part of the body) in microseconds, of a request with one record."""
    message = Fields(
        transactional_id=None,
        acks=-1,
        timeout_ms=30_000,
        topic_data=(Fields(name="orders", topic_id=_TOPIC, partition_data=(Fields(index=0, records=bytes(168)),)),),
    )
    frame = memoryview(b"".join(request_encoder(PRODUCE, version)(1, "producer-1", message))).toreadonly()[4:]
    _header, start = decode_request_header(frame)
    decode, read = request_decoder(PRODUCE, version), entity_reader(load_request_schema(PRODUCE, version))
    return (
        best_us(lambda: decode_request_header(frame)),
        best_us(lambda: decode(frame, start)),
        best_us(lambda: read(frame, start)),
    )


def main() -> int:
    """0 when every answer is written as fast as asked for."""
    print(f"{'answer':42}{'version':>8}{'ours us':>10}{'kio us':>10}{'times':>8}{'reached':>9}")
    all_reached = True
    for answer in ANSWERS:
        ours, kios = measure_answer(answer)
        reached = kios / ours >= ASKED_FOR
        all_reached = all_reached and reached
        verdict = "yes" if reached else "no"
        print(f"{answer.title:42}{answer.version:8}{ours:10.2f}{kios:10.2f}{kios / ours:8.1f}{verdict:>9}")
    print(f"\n{'request':42}{'version':>8}{'header us':>10}{'body us':>10}{'kio us':>8}")
    for version in (3, 9, 13):
        header, body, kios = measure_produce_request(version)
        print(f"{'ProduceRequest, 1 record':42}{version:8}{header:10.2f}{body:10.2f}{kios:8.2f}")
    return 0 if all_reached else 1


if __name__ == "__main__":
    sys.exit(main())
