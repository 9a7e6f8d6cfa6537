"""Our encoders against kio's writer and reader, for every message of every version of every API."""

from io import BytesIO
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from kio.serial import entity_reader, entity_writer

from kohort.wire.bounds import bounds_check
from kohort.wire.encoders import body_encoder, frame_encoder
from kohort.wire.schema import EntityClass, schema_of
from tests.wire.entities import ALL_ENTITIES, NEWEST_ENTITIES, entities, load, message

FEW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
NEWEST_RESPONSES = [name for name in ALL_ENTITIES if name in NEWEST_ENTITIES and name.endswith("response")]


def written_by_kio(entity: EntityClass, value: Any) -> bytes:
    buffer = BytesIO()
    entity_writer(entity)(buffer, value)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in NEWEST_ENTITIES else pytest.mark.slow) for name in ALL_ENTITIES]
)
def test_our_bytes_are_the_bytes_of_kios_writer_and_kio_reads_the_value_back(name: str) -> None:
    entity = load(ALL_ENTITIES[name])
    encode, read, check = body_encoder(entity), entity_reader(entity), bounds_check(entity)

    @FEW
    @given(entities(entity))
    def holds(value: Any) -> None:
        ours = b"".join(encode(message(value)))
        assert ours == written_by_kio(entity, value)
        assert read(ours, 0) == (value, len(ours))
        if check is not None:
            check(memoryview(ours), 0)

    holds()


@pytest.mark.parametrize("name", NEWEST_RESPONSES)
def test_a_frame_is_its_size_the_correlation_id_and_the_body(name: str) -> None:
    entity = load(ALL_ENTITIES[name])
    encode = frame_encoder(entity, entity.__header_schema__.__flexible__)
    header_tags = b"\0" if entity.__header_schema__.__flexible__ else b""

    @FEW
    @given(st.integers(-(2**31), 2**31 - 1), entities(entity))
    def holds(correlation_id: int, value: Any) -> None:
        body = correlation_id.to_bytes(4, "big", signed=True) + header_tags + written_by_kio(entity, value)
        assert b"".join(encode(correlation_id, message(value))) == len(body).to_bytes(4, "big") + body

    holds()


def without_defaults(value: Any) -> Any:
    """The value with every attribute at its default left out."""
    if isinstance(value, tuple):
        return tuple(without_defaults(item) for item in value)
    if not hasattr(type(value), "__dataclass_fields__"):
        return value
    schema = schema_of(type(value))
    plain = message(value)
    return SimpleNamespace(
        **{
            field.attribute: without_defaults(getattr(value, field.name))
            if field.entity is not None
            else getattr(plain, field.attribute)
            for field in schema.fields + schema.tagged
            if getattr(plain, field.attribute) != field.default and getattr(value, field.name) != field.default
        }
    )


@pytest.mark.parametrize("name", NEWEST_RESPONSES)
def test_an_attribute_that_a_message_lacks_is_written_as_its_default(name: str) -> None:
    entity = load(ALL_ENTITIES[name])
    encode = body_encoder(entity)

    @FEW
    @given(entities(entity))
    def holds(value: Any) -> None:
        assert b"".join(encode(without_defaults(value))) == written_by_kio(entity, value)

    holds()
