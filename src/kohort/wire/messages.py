"""Frames to requests, and answers to frames: the door of this room for Kafka's messages.

kio reads requests (each version has a class of its own) after bounds.py has seen that its array counts are honest;
encoders.py writes answers. Whatever is wrong with a frame comes out as one DecodeError. It knows which APIs and
versions exist, not which of them the broker serves: that is the gateway's. A client's side (request_encoder,
response_decoder) is here for those who speak to a broker in Python.

Next hop of a request: gateway/apis/<api>.py. Next hop of an answer: gateway/connection.py.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import cache, lru_cache
from struct import Struct
from struct import error as StructError
from typing import Any, Final, NamedTuple

from kio.index import UnknownAPIKey, UnknownEntity, load_request_schema, load_response_schema
from kio.serial import entity_reader
from kio.serial.errors import SerialError

from kohort.wire.bounds import BoundsCheck, bounds_check, read_unsigned_varint
from kohort.wire.encoders import FrameEncoder, body_encoder, frame_encoder
from kohort.wire.errors import DecodeError as DecodeError
from kohort.wire.long_strings import MAX_STRING_BYTES, refuse_long_strings
from kohort.wire.record_batch import Buffer
from kohort.wire.schema import schema_of
from kohort.wire.unknown_tags import without_unknown_tags

Request = Any
"""A request as kio decoded it: a class for each version. Times are timedelta."""

Response = Any
"""An answer as kio decoded it, for a client."""

RequestEncoder = Callable[[int, str | None, object], list[Buffer]]
"""(correlation id, client id, message) to a whole frame."""

API_VERSIONS: Final = 18
_API_VERSIONS_FIRST_FLEXIBLE: Final = 3

_CORRELATION_ID_BEGIN: Final = 4
_CORRELATION_ID: Final = Struct(">i")
_FIXED_HEADER: Final = Struct(">hhih")
_MILLISECOND: Final = timedelta(milliseconds=1)

# What kio's reader and the bounds check raise for bytes that are no message: the last two when a value has no place in
# its Python type, such as a time beyond what timedelta can say.
_READ_FAILURES: Final = (SerialError, StructError, LookupError, ValueError, OverflowError)


class RequestHeader(NamedTuple):
    """What every request begins with. client_id is "" for a client that gave none."""

    api_key: int
    api_version: int
    correlation_id: int
    client_id: str


def milliseconds(duration: timedelta) -> int:
    return duration // _MILLISECOND


def correlation_id_of(frame: memoryview) -> int:
    """What a request is told apart by, which its answer repeats."""
    correlation_id: int = _CORRELATION_ID.unpack_from(frame, _CORRELATION_ID_BEGIN)[0]
    return correlation_id


def decode_request_header(frame: memoryview) -> tuple[RequestHeader, int]:
    """The header, and where the body begins.

    An ApiVersions request of an unknown version has a header too, so that it can be answered. The header of any other
    unknown API or version has no known form: DecodeError.
    """
    try:
        api_key, api_version, correlation_id, size = _FIXED_HEADER.unpack_from(frame)
        position = _FIXED_HEADER.size
        client_id = ""
        if size > 0:
            client_id = str(frame[position : position + size], "utf-8")
            position += size
            if position > len(frame):
                raise DecodeError(f"a client id of {size} bytes in a frame of {len(frame)}")
        elif size < -1:
            raise DecodeError(f"a client id of {size} bytes")
        if _has_flexible_header(api_key, api_version):
            if frame[position]:
                position = behind_tags(frame, position)
            else:
                position += 1
    except (StructError, IndexError, UnicodeDecodeError) as failure:
        raise DecodeError(f"a request header in {len(frame)} bytes: {failure}") from failure
    return RequestHeader(api_key, api_version, correlation_id, client_id), position


@cache
def request_decoder(api_key: int, version: int) -> Callable[[memoryview, int], Request]:
    """A reader of (frame, where the body begins). Bytes behind the body are left alone, as Kafka does."""
    schema = _load_schema(load_request_schema, api_key, version)
    return _bounded_reader(schema, bounds_check(schema))


@cache
def response_encoder(api_key: int, version: int) -> FrameEncoder:
    schema = _load_schema(load_response_schema, api_key, version)
    return frame_encoder(schema, schema.__header_schema__.__flexible__)


@cache
def request_encoder(api_key: int, version: int) -> RequestEncoder:
    """A client's writer of requests."""
    schema = _load_schema(load_request_schema, api_key, version)
    encode_body = body_encoder(schema)
    encode_header = body_encoder(schema.__header_schema__)

    def encode(correlation_id: int, client_id: str | None, message: object) -> list[Buffer]:
        header = _HeaderFields(api_key, version, correlation_id, client_id)
        frame = encode_header(header) + encode_body(message)
        return [sum(map(len, frame)).to_bytes(4, "big"), *frame]

    return encode


@cache
def response_decoder(api_key: int, version: int) -> Callable[[memoryview], tuple[int, Response]]:
    """A client's reader of frames (without their size): the correlation id, and the answer."""
    schema = _load_schema(load_response_schema, api_key, version)
    read = _bounded_reader(schema, bounds_check(schema))
    is_flexible = schema.__header_schema__.__flexible__

    def decode(frame: memoryview) -> tuple[int, Response]:
        try:
            start = behind_tags(frame, 4) if is_flexible else 4
        except IndexError as failure:
            raise DecodeError(f"a response header in {len(frame)} bytes") from failure
        return int.from_bytes(frame[:4], "big", signed=True), read(frame, start)

    return decode


class _HeaderFields(NamedTuple):
    request_api_key: int
    request_api_version: int
    correlation_id: int
    client_id: str | None


def _load_schema(load: Callable[[int, int], Any], api_key: int, version: int) -> Any:
    try:
        return load(api_key, version)
    except UnknownAPIKey:
        raise DecodeError(f"no API has the key {api_key}") from None
    except UnknownEntity as failure:
        raise DecodeError(f"the API with the key {api_key} has no version {version}") from failure


# Bounded, since clients choose what is remembered here: the versions of ApiVersions that no broker knows.
@lru_cache(maxsize=1024)
def _has_flexible_header(api_key: int, version: int) -> bool:
    if api_key == API_VERSIONS:
        return version >= _API_VERSIONS_FIRST_FLEXIBLE
    schema = _load_schema(load_request_schema, api_key, version)
    return bool(schema.__header_schema__.__flexible__)


def behind_tags(frame: memoryview, position: int) -> int:
    """The position behind the tagged fields that begin here; all of them are skipped."""
    count, position = read_unsigned_varint(frame, position)
    for _ in range(count):
        _tag, position = read_unsigned_varint(frame, position)
        size, position = read_unsigned_varint(frame, position)
        position += size
    if position > len(frame):
        raise DecodeError(f"tagged fields that end at byte {position} of a frame of {len(frame)}")
    return position


def _bounded_reader(schema: Any, check: BoundsCheck | None) -> Callable[[memoryview, int], Any]:
    read = entity_reader(schema)

    def decode(frame: memoryview, position: int) -> Any:
        try:
            if check is not None:
                check(frame, position)
            try:
                message, _size = read(frame, position)
            except KeyError:
                # kio's word for a tagged field it does not know.
                message, _size = read(without_unknown_tags(schema_of(schema), frame, position), 0)
        except _READ_FAILURES as failure:
            raise DecodeError(f"{schema.__name__} version {schema.__version__}: {failure}") from failure
        if len(frame) > MAX_STRING_BYTES:
            refuse_long_strings(schema.__name__, message)
        return message

    return decode
