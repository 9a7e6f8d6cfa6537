"""Hostile requests: whatever bytes a client sends, a decoder answers with a message or a DecodeError, in little memory.

kio ends the process when it is led to reserve too much, so the bombs go off in a process of their own, under a limit.
"""

import random
import resource
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.static.constants import EntityType

from kohort.wire.encoders import body_encoder
from kohort.wire.messages import DecodeError, decode_request_header, request_decoder
from kohort.wire.schema import EntityClass, schema_of
from kohort.wire.unknown_tags import without_unknown_tags
from tests.wire.entities import ALL_ENTITIES, NEWEST_ENTITIES, entities, load, message

SEED: Final = 20_251_119
SECONDS: Final = 5
ADDRESS_SPACE: Final = 2 << 30

REQUESTS: Final = {
    (entity.__api_key__, entity.__version__): entity
    for entity in map(load, ALL_ENTITIES.values())
    if entity.__type__ is EntityType.request
}
NEWEST_FLEXIBLE_REQUESTS: Final = [
    name
    for name in ALL_ENTITIES
    if name in NEWEST_ENTITIES and name.endswith("request") and load(ALL_ENTITIES[name]).__flexible__
]
BOMBS: Final = [
    b"\xff\xff\xff\x7f",
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"\xff\xff\xff\xff\x0f",
    b"\xff\xff\xff\xff\x07",
    b"\x80\x80\x80\x80\x08",
    b"\x00\x10\x00\x00",
    b"\xff" * 12,
    b"\x01\x63\x05hello",
]


def decode_anything(api_key: int, version: int, body: bytes) -> None:
    with suppress(DecodeError):
        request_decoder(api_key, version)(memoryview(body).toreadonly(), 0)


def sound_bodies(entity: EntityClass) -> list[bytes]:
    """A few sound requests, the same ones on every run."""
    bodies: list[bytes] = []

    @settings(max_examples=6, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(entities(entity))
    def collect(value: Any) -> None:
        bodies.append(b"".join(body_encoder(entity)(message(value))))

    collect()
    return bodies


def mutated(body: bytes, source: random.Random) -> bytes:
    """The body with a byte changed, a length made a bomb, a piece taken out or doubled, or its end cut off."""
    start = source.randrange(len(body) + 1)
    end = min(len(body), start + source.randrange(6))
    match source.randrange(5):
        case 0:
            return body[:start] + bytes([source.randrange(256)]) + body[start + 1 :]
        case 1:
            bomb = source.choice(BOMBS)
            return body[:start] + bomb + body[start + source.choice([0, len(bomb)]) :]
        case 2:
            return body[:start] + body[end:]
        case 3:
            return body[:end] + body[start:]
        case _:
            return body[:start]


def fuzz(seed: int, seconds: float) -> int:
    """Decodes mutated requests for so long; how many. Anything but DecodeError ends it."""
    source = random.Random(seed)
    bodies = [(api, body) for api, entity in REQUESTS.items() for body in sound_bodies(entity)]
    end = time.monotonic() + seconds
    tried = 0
    while time.monotonic() < end:
        for (api_key, version), body in source.sample(bodies, 200):
            for _ in range(source.randrange(1, 4)):
                body = mutated(body, source)
            decode_anything(api_key, version, body)
            tried += 1
    return tried


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_mutated_requests_raise_nothing_but_decode_errors_within_little_memory() -> None:
    """In a process that may have 2 GB: an array reserved without a check would end it."""
    source = f"from {__name__} import *; limited(); print(fuzz({SEED}, {SECONDS}))"
    finished = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=110)
    assert finished.returncode == 0, f"seed {SEED}\n{finished.stderr[-2_000:]}"
    assert int(finished.stdout) > 1_000


def limited() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


@given(st.sampled_from(sorted(REQUESTS)), st.binary(max_size=60))
@settings(max_examples=400, deadline=None, database=None)
def test_arbitrary_bytes_raise_nothing_but_decode_errors(api: tuple[int, int], body: bytes) -> None:
    decode_anything(*api, body)


@given(st.binary(max_size=40))
@settings(max_examples=400, deadline=None, database=None)
def test_arbitrary_headers_raise_nothing_but_decode_errors(data: bytes) -> None:
    try:
        header, start = decode_request_header(memoryview(data))
    except DecodeError:
        return
    assert 10 <= start <= len(data)
    assert len(header.client_id.encode()) <= len(data)


@pytest.mark.parametrize("name", NEWEST_FLEXIBLE_REQUESTS)
def test_a_message_without_unknown_tags_is_copied_as_it_is(name: str) -> None:
    entity = load(ALL_ENTITIES[name])

    @settings(max_examples=5, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(entities(entity))
    def holds(value: Any) -> None:
        body = b"".join(body_encoder(entity)(message(value)))
        assert without_unknown_tags(schema_of(entity), memoryview(body), 0) == body

    holds()
