"""What a client may write: whether its bytes are one sound batch that the topic takes, and what is changed in them.

Decides by the batch's header and its CRC alone wherever that is enough, because looking into every record is what
costs a broker its speed: records are decoded only for a compacted topic (each needs a key), for a topic that bounds
timestamps in the past, to say which records are too far in the future, and to recompress. So a count or a greatest
timestamp that a producer states falsely under a correct CRC is believed, which Kafka would find out.

Error codes are those of Kafka 4.3, asked one by one. It never assigns offsets and knows no producers.

Next hop: partition.py, which gives what is admitted its place.
"""

from collections.abc import Iterable
from struct import Struct
from struct import error as StructError
from typing import Final

from crc32c import crc32c

from kohort.model.commands.data import BatchIndexAndErrorMessage
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.topics import FOREVER_MS, TimestampType, TopicConfig
from kohort.wire.record_batch import (
    CRC_START,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    BatchHeader,
    Buffer,
    Compression,
    decode_header,
)
from kohort.wire.records import DecodeError, NewRecord, Record, decode_records, encode_batch

MAGIC: Final = 2
SMALLEST_LENGTH: Final = 14
"""The least that the length field may say in any message format there was."""
SMALLEST_RECORD: Final = 7
"""Bytes of a record without key, value and headers."""

INVALID_TIMESTAMPS: Final = "One or more records have been rejected due to invalid timestamp"

_LENGTH: Final = Struct(">i")
_LENGTH_POSITION: Final = 8
_MAGIC: Final = Struct(">b")
_MAGIC_POSITION: Final = 16
_CRC: Final = Struct(">I")
_CRC_POSITION: Final = 17
_ATTRIBUTES: Final = Struct(">h")
_MAX_TIMESTAMP: Final = Struct(">q")
_MAX_TIMESTAMP_POSITION: Final = 35

_CODEC: Final = 0x07
_IS_LOG_APPEND_TIME: Final = 0x08
_IS_TRANSACTIONAL: Final = 0x10
_IS_CONTROL: Final = 0x20

_CODECS: Final = {
    "uncompressed": Compression.NONE,
    "gzip": Compression.GZIP,
    "snappy": Compression.SNAPPY,
    "lz4": Compression.LZ4,
    "zstd": Compression.ZSTD,
}
"""compression.type as a codec."""
AS_PRODUCED: Final = "producer"
"""The compression.type that is whatever the producer chose."""


class RecordsRefusedError(ProtocolError):
    """A batch was refused for what is in it: the error says which of its records are at fault."""

    def __init__(self, code: ErrorCode, message: str, faults: Iterable[BatchIndexAndErrorMessage]) -> None:
        super().__init__(code, message)
        self.faults: Final = tuple(faults)


def admit(
    records: Buffer | None, config: TopicConfig, now_ms: int, *, allows_zstd: bool = True
) -> tuple[BatchHeader, Buffer]:
    """The batch as it goes to the log, mostly as it came; ProtocolError if the topic does not take it."""
    if records is None or len(records) < HEADER_SIZE:
        raise _no_batch(records)
    header = decode_header(records)
    if header.magic != MAGIC or header.length != len(records) - LENGTH_OVERHEAD:
        records = _first_batch(header, records)
    if len(records) > config.max_message_bytes:
        raise _too_large(len(records), config)
    if crc32c(memoryview(records)[CRC_START:]) != header.crc:
        raise ProtocolError(ErrorCode.CORRUPT_MESSAGE, f"The record batch does not match its CRC, {header.crc}.")
    _check_header(header, len(records), allows_zstd)
    max_timestamp = header.max_timestamp
    if (
        max_timestamp > now_ms + config.message_timestamp_after_max_ms
        or config.cleanup_compact
        or config.message_timestamp_before_max_ms != FOREVER_MS
    ):
        max_timestamp = _check_records(records, config, now_ms)
    codec = header.attributes & _CODEC
    if config.compression_type != AS_PRODUCED and codec != _CODECS[config.compression_type]:
        header, records = _recompress(header, records, config)
    if config.message_timestamp_type is TimestampType.LOG_APPEND_TIME:
        return _stamp_append_time(header, records, now_ms)
    if header.attributes & _IS_LOG_APPEND_TIME or max_timestamp != header.max_timestamp:
        return _stamp(header, records, header.attributes & ~_IS_LOG_APPEND_TIME, max_timestamp)
    return header, records


# The envelope: is this one batch of magic 2?


def _no_batch(records: Buffer | None) -> ProtocolError:
    if records is not None and len(records) > _MAGIC_POSITION:
        _check_frame(records, 0)
    return ProtocolError(ErrorCode.INVALID_RECORD, "A produce request must have a whole record batch per partition.")


def _first_batch(header: BatchHeader, records: Buffer) -> Buffer:
    """The bytes of the first batch, if nothing but a piece of another follows it."""
    _check_frame(records, 0)
    size = header.length + LENGTH_OVERHEAD
    if size > len(records):
        raise _no_batch(None)
    if header.magic != MAGIC:
        raise ProtocolError(ErrorCode.INVALID_RECORD, "Only record batches of magic 2 can be written.")
    if size < HEADER_SIZE:
        raise ProtocolError(ErrorCode.CORRUPT_MESSAGE, f"A record batch of {size} bytes is shorter than its header.")
    rest = len(records) - size
    if rest > _MAGIC_POSITION:
        _check_frame(records, size)
        (length,) = _LENGTH.unpack_from(records, size + _LENGTH_POSITION)
        if length + LENGTH_OVERHEAD <= rest:
            raise ProtocolError(
                ErrorCode.INVALID_RECORD, "A produce request must have exactly one record batch per partition."
            )
    return memoryview(records)[:size]


def _check_frame(records: Buffer, position: int) -> None:
    """Refuses what can be no batch at all, of any format."""
    (length,) = _LENGTH.unpack_from(records, position + _LENGTH_POSITION)
    if length < SMALLEST_LENGTH:
        raise ProtocolError(
            ErrorCode.CORRUPT_MESSAGE,
            f"Record size {length} is less than the minimum record overhead ({SMALLEST_LENGTH})",
        )
    (magic,) = _MAGIC.unpack_from(records, position + _MAGIC_POSITION)
    if not 0 <= magic <= MAGIC:
        raise ProtocolError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {magic}")


# The batch: does the topic take it?


def _check_header(header: BatchHeader, size: int, allows_zstd: bool) -> None:
    """What the header of a client's batch must say, whatever the topic."""
    base_offset, _, _, _, _, attributes, last_offset_delta, _, _, producer_id, _, base_sequence, count = header
    if base_offset != 0:
        raise ProtocolError(
            ErrorCode.INVALID_RECORD, f"The base offset of a produced batch must be 0, but it is {base_offset}."
        )
    if count <= 0 or last_offset_delta != count - 1:
        raise ProtocolError(
            ErrorCode.INVALID_RECORD,
            f"The batch claims {count} records, but offsets up to {last_offset_delta} from its first.",
        )
    if attributes != 0:
        _check_attributes(attributes, allows_zstd)
    elif count * SMALLEST_RECORD > size - HEADER_SIZE:
        raise ProtocolError(ErrorCode.INVALID_RECORD, f"{count} records do not fit into a batch of {size} bytes.")
    if base_sequence < 0 and producer_id != NO_PRODUCER_ID:
        raise ProtocolError(
            ErrorCode.INVALID_RECORD, f"Invalid sequence number {base_sequence} in a batch of producer {producer_id}."
        )


def _check_attributes(attributes: int, allows_zstd: bool) -> None:
    codec = attributes & _CODEC
    if codec > Compression.ZSTD:
        raise ProtocolError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"There is no compression codec {codec}.")
    if codec == Compression.ZSTD and not allows_zstd:
        raise ProtocolError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "Produce requests before version 7 may not use ZStandard."
        )
    if attributes & _IS_CONTROL:
        raise ProtocolError(ErrorCode.INVALID_RECORD, "Clients are not allowed to write control records.")
    if attributes & _IS_TRANSACTIONAL:
        raise ProtocolError(
            ErrorCode.INVALID_TXN_STATE,
            "Transactions are not supported: the batch is part of none that this broker knows.",
        )


def _too_large(size: int, config: TopicConfig) -> ProtocolError:
    return ProtocolError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch has {size} bytes, but max.message.bytes is {config.max_message_bytes}.",
    )


def _check_records(data: Buffer, config: TopicConfig, now_ms: int) -> int:
    """The greatest timestamp of the records, if each has the key and the time it needs."""
    greatest = NO_TIMESTAMP
    without_key: list[BatchIndexAndErrorMessage] = []
    out_of_time: list[BatchIndexAndErrorMessage] = []
    checks_time = config.message_timestamp_type is TimestampType.CREATE_TIME
    earliest = now_ms - config.message_timestamp_before_max_ms
    latest = now_ms + config.message_timestamp_after_max_ms
    for index, record in enumerate(_decode(data)):
        greatest = max(greatest, record.timestamp)
        if config.cleanup_compact and record.key is None:
            fault = "Compacted topic cannot accept message without key."
            without_key.append(BatchIndexAndErrorMessage(index, fault))
        elif checks_time and record.timestamp != NO_TIMESTAMP and not earliest <= record.timestamp <= latest:
            fault = (
                f"Timestamp {record.timestamp} of message with offset {index} is out of range. "
                f"The timestamp should be within [{earliest}, {latest}]"
            )
            out_of_time.append(BatchIndexAndErrorMessage(index, fault))
    if out_of_time:
        faults = sorted(without_key + out_of_time)
        raise RecordsRefusedError(ErrorCode.INVALID_TIMESTAMP, INVALID_TIMESTAMPS, faults)
    if without_key:
        message = f"One or more records have been rejected due to {len(without_key)} record errors in total"
        raise RecordsRefusedError(ErrorCode.INVALID_RECORD, message, without_key)
    return greatest


def _decode(data: Buffer) -> list[Record]:
    try:
        return list(decode_records(data))
    except DecodeError as error:
        raise ProtocolError(ErrorCode.INVALID_RECORD, f"The record batch cannot be read: {error}.") from error


# What is changed


def _recompress(header: BatchHeader, data: Buffer, config: TopicConfig) -> tuple[BatchHeader, Buffer]:
    """The same records in the codec that the topic asks for."""
    records = [NewRecord(record.key, record.value, record.timestamp, record.headers) for record in _decode(data)]
    try:
        fresh = encode_batch(
            records,
            compression=_CODECS[config.compression_type],
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            base_sequence=header.base_sequence,
        )
    except StructError as error:
        raise ProtocolError(ErrorCode.INVALID_TIMESTAMP, "A timestamp is beyond what 64 bits hold.") from error
    if len(fresh.data) > config.max_message_bytes:
        raise _too_large(len(fresh.data), config)
    return fresh.header, fresh.data


def _stamp_append_time(header: BatchHeader, data: Buffer, now_ms: int) -> tuple[BatchHeader, Buffer]:
    if header.attributes & _IS_LOG_APPEND_TIME:
        fault = BatchIndexAndErrorMessage(0, "Producer should not set timestamp type to LogAppendTime.")
        raise RecordsRefusedError(ErrorCode.INVALID_TIMESTAMP, INVALID_TIMESTAMPS, [fault])
    return _stamp(header, data, header.attributes | _IS_LOG_APPEND_TIME, now_ms)


def _stamp(header: BatchHeader, data: Buffer, attributes: int, max_timestamp: int) -> tuple[BatchHeader, Buffer]:
    """The batch with this timestamp type and greatest timestamp: all that a broker ever writes behind the CRC."""
    stamped = bytearray(data)
    _ATTRIBUTES.pack_into(stamped, CRC_START, attributes)
    _MAX_TIMESTAMP.pack_into(stamped, _MAX_TIMESTAMP_POSITION, max_timestamp)
    crc = crc32c(memoryview(stamped)[CRC_START:])
    _CRC.pack_into(stamped, _CRC_POSITION, crc)
    return header._replace(attributes=attributes, max_timestamp=max_timestamp, crc=crc), stamped
