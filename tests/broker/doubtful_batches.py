"""Batches that a broker must look at twice, and the error code that Apache Kafka 4.3.1 answers each with.

test_admission.py holds kohort to the codes; test_admission_like_kafka.py asks Kafka whether they are still right.
"""

import gzip
from collections.abc import Mapping
from dataclasses import dataclass, field
from struct import Struct

from crc32c import crc32c

from kohort.model.errors import ErrorCode
from kohort.wire.record_batch import CRC_START, HEADER_SIZE
from kohort.wire.records import NewRecord, encode_batch

HEADER = Struct(">qiibIhiqqqhii")
FIELDS = (
    "base_offset",
    "length",
    "leader_epoch",
    "magic",
    "crc",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
)

GZIP, ZSTD, APPEND_TIME, TRANSACTIONAL, CONTROL, DELETE_HORIZON = 1, 4, 0x08, 0x10, 0x20, 0x40
HOUR_MS = 3_600_000


def sound(now_ms: int, count: int = 1, key: bytes | None = b"k", value: bytes = b"v") -> bytes:
    return bytes(encode_batch([NewRecord(key, value, now_ms)] * count).data)


def forged(batch: bytes, *, records: bytes | None = None, **fields: int) -> bytes:
    """The batch with other header fields or records. Its CRC and its length are right, unless they are given."""
    payload = batch[HEADER_SIZE:] if records is None else records
    header = dict(zip(FIELDS, HEADER.unpack_from(batch), strict=True))
    header |= {"length": HEADER_SIZE - 12 + len(payload)} | fields
    data = HEADER.pack(*header.values()) + payload
    if "crc" not in fields:
        header["crc"] = crc32c(data[CRC_START:])
    return HEADER.pack(*header.values()) + payload


@dataclass(frozen=True, slots=True)
class Doubt:
    name: str
    batch: bytes | None
    kafka_code: ErrorCode
    our_code: ErrorCode | None = None
    """Where we differ, on purpose."""
    configs: Mapping[str, str] = field(default_factory=dict)
    version: int = 8

    @property
    def code(self) -> ErrorCode:
        return self.kafka_code if self.our_code is None else self.our_code


def doubts(now_ms: int) -> list[Doubt]:
    one = sound(now_ms)
    two = sound(now_ms, 2)
    compacted = {"cleanup.policy": "compact"}
    append_time = {"message.timestamp.type": "LogAppendTime"}
    bounded_past = {"message.timestamp.before.max.ms": str(HOUR_MS)}
    to_gzip = {"compression.type": "gzip"}
    claimed = forged(one, attributes=APPEND_TIME)
    zipped = forged(one, records=gzip.compress(one[HEADER_SIZE:]), attributes=GZIP)
    ok, invalid, corrupt = ErrorCode.NONE, ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE
    out_of_time = ErrorCode.INVALID_TIMESTAMP
    return [
        Doubt("a sound batch", one, ok),
        # The frame
        Doubt("nothing", b"", invalid),
        Doubt("a few bytes", b"abcde", invalid),
        Doubt("half a batch", one[:40], invalid),
        Doubt("a batch that lacks its last bytes", one[:-3], invalid),
        Doubt("two batches", one + one, invalid),
        Doubt("a batch and a few bytes", one + b"12345", ok),
        Doubt("a batch and half of another", one + one[:30], ok),
        Doubt("a batch and zeros", one + bytes(20), corrupt),
        Doubt("magic 0", forged(one, magic=0), invalid),
        Doubt("magic 1", forged(one, magic=1), invalid),
        Doubt("magic 3", forged(one, magic=3), corrupt),
        Doubt("magic -1", forged(one, magic=-1), corrupt),
        Doubt("a length below the least", forged(one, length=10), corrupt),
        Doubt("a length shorter than a header", forged(one, length=20), corrupt),
        Doubt("a negative length", forged(one, length=-5), corrupt),
        # The header
        Doubt("a wrong CRC", forged(one, crc=1), corrupt),
        Doubt("a wrong CRC over a wrong count", forged(one, crc=1, record_count=9), corrupt),
        Doubt("a base offset", forged(one, base_offset=5), invalid),
        Doubt("a last offset beyond its records", forged(one, last_offset_delta=5), invalid),
        Doubt("a last offset before its first", forged(one, last_offset_delta=-1), invalid),
        Doubt("no records", forged(one, records=b"", record_count=0, last_offset_delta=-1), invalid),
        Doubt("a count of 0", forged(one, record_count=0), invalid),
        Doubt("a negative count", forged(one, record_count=-1, last_offset_delta=-2), invalid),
        Doubt("a count that its bytes cannot hold", forged(one, record_count=9, last_offset_delta=8), invalid),
        Doubt("a control batch", forged(one, attributes=CONTROL), invalid),
        Doubt("a producer without a sequence", forged(one, producer_id=7, producer_epoch=0), invalid),
        Doubt("a producer without an epoch", forged(one, producer_id=7, base_sequence=0), ok),
        Doubt("a delete horizon", forged(one, attributes=DELETE_HORIZON), ok),
        Doubt("attributes nobody defined", forged(one, attributes=0x7F00), ok),
        Doubt(
            "a transaction nobody began",
            forged(one, attributes=TRANSACTIONAL, producer_id=7, producer_epoch=0, base_sequence=0),
            ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            ErrorCode.INVALID_TXN_STATE,
        ),
        # Its size
        Doubt("a batch too large", one, ErrorCode.MESSAGE_TOO_LARGE, configs={"max.message.bytes": "60"}),
        Doubt(
            "a batch larger than a segment",
            sound(now_ms, value=bytes(1_500_000)),
            ErrorCode.RECORD_LIST_TOO_LARGE,
            configs={"segment.bytes": "1048576", "max.message.bytes": "5000000"},
        ),
        # Its compression
        Doubt("gzip", zipped, ok),
        Doubt("gzip for a topic without compression", zipped, ok, configs={"compression.type": "uncompressed"}),
        Doubt("a plain batch for a topic of gzip", one, ok, configs=to_gzip),
        Doubt("garbage for a topic of gzip", forged(one, records=b"garbage!"), invalid, configs=to_gzip),
        Doubt("zstd before its time", forged(one, attributes=ZSTD), ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, version=6),
        Doubt(
            "a codec there is not",
            forged(one, attributes=5),
            ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
        ),
        Doubt("records that are none", forged(one, records=b"garbage!"), invalid, ok),
        Doubt("fewer records than it says", forged(two, record_count=1, last_offset_delta=0), invalid, ok),
        Doubt("gzip that is none", forged(one, attributes=GZIP), ErrorCode.UNKNOWN_SERVER_ERROR, ok),
        # Its keys
        Doubt("a record without a key for a compacted topic", sound(now_ms, 3, key=None), invalid, configs=compacted),
        Doubt("records with keys for a compacted topic", sound(now_ms, 3), ok, configs=compacted),
        # Its times
        Doubt("a time in the future", sound(now_ms + 2 * HOUR_MS), out_of_time),
        Doubt("a future that only the header claims", forged(one, max_timestamp=now_ms + 9 * HOUR_MS), ok),
        Doubt("a time long past", sound(0), ok),
        Doubt("a time too long past", sound(now_ms - 2 * HOUR_MS), out_of_time, configs=bounded_past),
        Doubt("no time at all where the past is bounded", sound(-1), ok, configs=bounded_past),
        Doubt("a time below zero", sound(-5), ok),
        Doubt("the broker's kind of time", claimed, ok),
        Doubt(
            "the broker's kind of time where it is",
            forged(one, attributes=APPEND_TIME),
            out_of_time,
            configs=append_time,
        ),
        Doubt("a time in the future where it does not count", sound(now_ms + 9 * HOUR_MS), ok, configs=append_time),
    ]
