"""The generators of the benchmarks make what they say, and see what a broker answers."""

import io
from datetime import timedelta
from pathlib import Path
from struct import pack

import crc32c
import kio.schema.fetch.v12.response as fetch
import kio.schema.produce.v12.request as produce_request
import kio.schema.produce.v12.response as produce_response
import pytest
from kio.schema.errors import ErrorCode
from kio.schema.types import TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import Records, i32, i32Timedelta, i64

from bench.batches import Codec, batch_of, batch_of_size
from bench.connection import LoadError
from bench.fetching import whole_batches
from bench.frames import cycles_for, fetch_frame, produce_frame
from bench.load import Load
from bench.report import Bar, Comparison, Result, write_page
from kohort.wire.record_batch import CRC_START, decode_header
from kohort.wire.records import decode_records

TOPIC = "bench-00001"
NO_TIME = i32Timedelta.parse(timedelta(0))


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_holds_as_many_records_as_it_says_and_its_checksum_is_right(codec: Codec) -> None:
    batch = batch_of_size(1 << 16, 100, codec)

    header = decode_header(batch.data)
    records = list(decode_records(batch.data))

    assert len(records) == header.record_count == batch.record_count
    assert {len(record.value or b"") for record in records} == {100}
    assert header.crc == crc32c.crc32c(batch.data[CRC_START:])


@pytest.mark.parametrize("codec", Codec)
def test_a_batch_is_as_large_as_was_wished_or_a_little_smaller(codec: Codec) -> None:
    size = len(batch_of_size(1 << 16, 1024, codec).data)

    assert (1 << 16) * 0.95 < size <= 1 << 16


def test_records_in_lz4_shrink_to_about_half() -> None:
    plain, packed = batch_of(500, 100), batch_of(500, 100, Codec.LZ4)

    assert 0.3 < len(packed.data) / len(plain.data) < 0.8


def test_all_connections_together_go_round_all_partitions() -> None:
    cycles = cycles_for(TOPIC, 1000, batch_of(1, 10), connections=16, burst_size=8)

    partitions = set()
    for cycle in cycles:
        for burst in cycle:
            position = 0
            for _ in range(burst.request_count):
                size = int.from_bytes(burst.data[position : position + 4])
                header_size = 4 + 2 + 2 + 4 + 2 + len("bench") + 1
                request, _ = entity_reader(produce_request.ProduceRequest)(bytes(burst.data), position + header_size)
                partitions.add(request.topic_data[0].partition_data[0].index)
                position += 4 + size
    assert partitions == set(range(1000))


def test_an_answer_that_takes_a_batch_begins_as_the_frame_expects_and_is_of_its_size() -> None:
    frame = produce_frame(TOPIC, 7, batch_of(1, 10), correlation_id=3)

    answer = _produce_answer(ErrorCode.none)

    assert answer.startswith(frame.accepted)
    assert len(answer) == frame.answer_size


def test_an_answer_that_refuses_a_batch_does_not_begin_as_the_frame_expects() -> None:
    frame = produce_frame(TOPIC, 7, batch_of(1, 10), correlation_id=3)

    assert not _produce_answer(ErrorCode.corrupt_message).startswith(frame.accepted)


def test_a_reader_goes_on_behind_the_last_whole_batch() -> None:
    first, second = _at(0, batch_of(3, 50).data), _at(3, batch_of(4, 50).data)
    cut_short = _at(7, batch_of(5, 50).data)[:100]
    frame = fetch_frame(TOPIC, 0, max_bytes=1 << 20)

    found = whole_batches(_fetch_answer(first + second + cut_short), frame)

    assert found == (len(first) + len(second), 7)


def test_a_reader_that_was_refused_says_so() -> None:
    frame = fetch_frame(TOPIC, 0, max_bytes=1 << 20)

    with pytest.raises(LoadError, match="error 1"):
        whole_batches(_fetch_answer(b"", ErrorCode.offset_out_of_range), frame)


def test_a_percentile_is_the_smallest_value_that_so_many_do_not_exceed() -> None:
    load = Load(1.0, latencies_ms=[float(number) for number in range(1, 101)])

    assert (load.percentile_ms(50), load.percentile_ms(99), load.percentile_ms(100)) == (50.0, 99.0, 100.0)


def test_a_figure_is_reached_only_on_the_right_side_of_its_bar() -> None:
    def reached(kohort: float | None, kafka: float | None, bar: Bar, limit: float) -> bool | None:
        return Comparison("case", "MB/s", kohort, kafka, bar, limit, "raw frames").reached

    assert reached(130, 100, Bar.RATIO_AT_LEAST, 1.3) is True
    assert reached(129, 100, Bar.RATIO_AT_LEAST, 1.3) is False
    assert reached(51, 100, Bar.RATIO_AT_MOST, 0.5) is False
    assert reached(0.4, None, Bar.VALUE_AT_MOST, 0.5) is True
    assert reached(100, None, Bar.RATIO_AT_LEAST, 1.0) is None


def test_a_page_is_made_of_what_was_kept(tmp_path: Path) -> None:
    comparison = Comparison("1 partition", "MB/s", 50.0, 100.0, Bar.RATIO_AT_LEAST, 1.3, "raw frames")
    Result("produce", "Produce", [comparison], {"date": "today"}).save(tmp_path)

    page = write_page(["produce", "never-measured"], tmp_path).read_text()

    assert "| produce | MB/s | ratio >= 1.3 | 0.5 | 0 of 1 |" in page
    assert "| 1 partition | MB/s | ratio >= 1.3 | 50 | 100 | 0.5 | NO | raw frames |" in page


def _at(base_offset: int, data: bytes) -> bytes:
    return pack(">q", base_offset) + data[8:]


def _produce_answer(error: ErrorCode) -> bytes:
    partition = produce_response.PartitionProduceResponse(
        index=i32(7), error_code=error, base_offset=i64(41), log_start_offset=i64(0), record_errors=()
    )
    topic = produce_response.TopicProduceResponse(name=TopicName(TOPIC), partition_responses=(partition,))
    return _frame(produce_response.ProduceResponse(responses=(topic,)), correlation_id=3)


def _fetch_answer(records: bytes, error: ErrorCode = ErrorCode.none) -> memoryview:
    partition = fetch.PartitionData(
        partition_index=i32(0),
        error_code=error,
        high_watermark=i64(100),
        aborted_transactions=(),
        records=Records(records),
    )
    topic = fetch.FetchableTopicResponse(topic=TopicName(TOPIC), partitions=(partition,))
    return memoryview(_frame(fetch.FetchResponse(throttle_time=NO_TIME, error_code=ErrorCode.none, responses=(topic,))))


def _frame(entity: object, correlation_id: int = 0) -> bytes:
    body = io.BytesIO()
    entity_writer(type(entity))(body, entity)
    answer = pack(">i", correlation_id) + b"\0" + body.getvalue()
    return pack(">i", len(answer)) + answer
