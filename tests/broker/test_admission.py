"""What a client may write, batch by doubtful batch."""

import pytest
from crc32c import crc32c

from kohort.broker.admission import RecordsRefusedError, admit
from kohort.model.commands.data import PartitionProduced
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.topics import TimestampType, TopicConfig
from kohort.wire.record_batch import CRC_START, HEADER_SIZE, Compression, decode_header
from kohort.wire.records import decode_records
from tests.broker.broker_in_memory import BrokerInMemory, fetch, fetched, produce, produced
from tests.broker.doubtful_batches import APPEND_TIME, HOUR_MS, Doubt, doubts, forged, sound

NOW_MS = 1_000_000_000


@pytest.mark.parametrize("doubt", doubts(NOW_MS), ids=lambda doubt: doubt.name)
def test_a_doubtful_batch_is_answered_as_by_kafka(doubt: Doubt) -> None:
    broker = BrokerInMemory()
    assert broker.now_ms() == NOW_MS
    broker.create("topic", **{name.replace(".", "_"): value for name, value in doubt.configs.items()})
    command = produce("topic", doubt.batch)._replace(allows_zstd=doubt.version >= 7)
    outcome: PartitionProduced = produced(broker.ask(command))
    assert outcome.error_code == doubt.code
    assert (outcome.error_code == 0) == (outcome.error_message is None), "a refusal says why"
    if outcome.error_code == 0:
        stored = b"".join(fetched(broker.ask(fetch({("topic", 0): 0})))["topic", 0].records)
        assert crc32c(stored[CRC_START:]) == decode_header(stored).crc


def test_no_batch_at_all_is_refused() -> None:
    with pytest.raises(ProtocolError) as refusal:
        admit(None, TopicConfig(), NOW_MS)
    assert refusal.value.code is ErrorCode.INVALID_RECORD


def test_a_sound_batch_goes_to_the_log_as_the_very_bytes_that_came() -> None:
    batch = sound(NOW_MS)
    header, data = admit(batch, TopicConfig(), NOW_MS)
    assert data is batch
    assert header == decode_header(batch)


def test_what_follows_a_batch_and_is_no_batch_is_left_behind() -> None:
    batch = sound(NOW_MS)
    _, data = admit(batch + b"12345", TopicConfig(), NOW_MS)
    assert data == batch


def test_the_brokers_time_is_stamped_behind_a_fresh_crc() -> None:
    config = TopicConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME)
    batch = sound(NOW_MS - 5000, 3)
    header, data = admit(batch, config, NOW_MS)
    assert decode_header(data) == header
    assert (header.is_log_append_time, header.max_timestamp) == (True, NOW_MS)
    assert crc32c(memoryview(data)[CRC_START:]) == header.crc
    assert {record.timestamp for record in decode_records(data)} == {NOW_MS}
    assert bytes(data[HEADER_SIZE:]) == batch[HEADER_SIZE:]


def test_a_producers_claim_to_the_brokers_time_is_taken_off() -> None:
    header, data = admit(forged(sound(NOW_MS), attributes=APPEND_TIME), TopicConfig(), NOW_MS)
    assert not header.is_log_append_time
    assert crc32c(memoryview(data)[CRC_START:]) == header.crc


def test_a_greatest_time_that_no_record_has_is_put_right() -> None:
    lie = forged(sound(NOW_MS), max_timestamp=NOW_MS + 9 * HOUR_MS)
    header, data = admit(lie, TopicConfig(), NOW_MS)
    assert header.max_timestamp == decode_header(data).max_timestamp == NOW_MS


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_a_topic_of_one_codec_recompresses_what_comes_in_another(codec: str) -> None:
    plain = sound(NOW_MS, 20)
    header, compressed = admit(plain, TopicConfig(compression_type=codec), NOW_MS)
    assert header.compression == Compression[codec.upper()]
    header, data = admit(compressed, TopicConfig(compression_type="uncompressed"), NOW_MS)
    assert header.compression == Compression.NONE
    assert list(decode_records(data)) == list(decode_records(compressed)) == list(decode_records(plain))


def test_a_recompressed_batch_is_still_its_producers() -> None:
    batch = forged(sound(NOW_MS, 2), producer_id=9, producer_epoch=3, base_sequence=12)
    header, data = admit(batch, TopicConfig(compression_type="lz4"), NOW_MS)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (9, 3, 12)
    assert decode_header(data).producer_id == 9


def test_each_record_at_fault_is_named() -> None:
    keyless = sound(NOW_MS, 3, key=None)
    with pytest.raises(RecordsRefusedError) as refusal:
        admit(keyless, TopicConfig(cleanup_compact=True), NOW_MS)
    assert [fault.batch_index for fault in refusal.value.faults] == [0, 1, 2]


def test_a_batch_that_grows_too_large_by_recompression_is_refused() -> None:
    zeros = sound(NOW_MS, value=bytes(100_000))
    _, small = admit(zeros, TopicConfig(compression_type="gzip"), NOW_MS)
    with pytest.raises(ProtocolError) as refusal:
        admit(small, TopicConfig(compression_type="uncompressed", max_message_bytes=50_000), NOW_MS)
    assert refusal.value.code is ErrorCode.MESSAGE_TOO_LARGE
