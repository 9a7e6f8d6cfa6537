"""Values of every Kafka message, for tests: what kio knows of, and how to make one at random."""

from datetime import UTC, datetime, timedelta
from pkgutil import resolve_name
from types import SimpleNamespace
from typing import Any

from hypothesis import strategies as st
from kio.schema.errors import ErrorCode
from kio.schema.index import schema_name_map
from kio.static.constants import EntityType

from kohort.wire.schema import EntityClass, Field, Shape, schema_of

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BITS = {"int8": 7, "int16": 15, "int32": 31, "int64": 63}
_UNSIGNED_BITS = {"uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}

# Long enough that a compact length takes two bytes, short enough that examples stay quick.
_TEXT = st.text(max_size=12) | st.sampled_from(["", "é" * 70, "x" * 126, "x" * 127, "x" * 300])
_BYTES = st.binary(max_size=12) | st.sampled_from([b"", b"\0" * 126, b"\xff" * 127, b"x" * 300])

_PRIMITIVES: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
    "string": _TEXT,
    "bytes": _BYTES,
    "records": _BYTES,
    "error_code": st.sampled_from(ErrorCode),
    "uuid": st.none() | st.uuids(),
    "timedelta_i32": st.integers(-(2**31), 2**31 - 1).map(lambda ms: timedelta(milliseconds=ms)),
    # Within what kio's writer, which goes through a float, says exactly.
    "timedelta_i64": st.integers(-(2**45), 2**45).map(lambda ms: timedelta(milliseconds=ms)),
    # Whole seconds: kio reads milliseconds through a float.
    "datetime_i64": st.integers(0, 2**37).map(lambda seconds: _EPOCH + timedelta(seconds=seconds)),
    **{name: st.integers(-(2**bits), 2**bits - 1) for name, bits in _BITS.items()},
    **{name: st.integers(0, 2**bits - 1) for name, bits in _UNSIGNED_BITS.items()},
}


def entity_path(name: str, version: int, kind: EntityType) -> str:
    return f"{name}-v{version}-{kind.name}"


ALL_ENTITIES: dict[str, str] = {
    entity_path(name, version, kind): path
    for name, versions in schema_name_map.items()
    for version, kinds in versions.items()
    for kind, path in kinds.items()
}
"""Every message, header and datum that kio has, by a name for people, to where its class is."""

NEWEST_ENTITIES: frozenset[str] = frozenset(
    entity_path(name, max(versions), kind)
    for name, versions in schema_name_map.items()
    for kind in versions[max(versions)]
)
"""Those of the newest version of each message."""


def load(path: str) -> EntityClass:
    return resolve_name(path)


def entities(entity: EntityClass) -> st.SearchStrategy[Any]:
    """kio's own instances of a message."""
    schema = schema_of(entity)
    return st.builds(entity, **{field.name: _values(field) for field in schema.fields + schema.tagged})


def message(value: Any) -> Any:
    """What the gateway would give the encoder for kio's value: times as integers, under names that say so."""
    if isinstance(value, tuple):
        return tuple(message(item) for item in value)
    if not hasattr(type(value), "__dataclass_fields__"):
        return value
    schema = schema_of(type(value))
    return SimpleNamespace(
        **{field.attribute: _plain(field, getattr(value, field.name)) for field in schema.fields + schema.tagged}
    )


def _plain(field: Field, value: Any) -> Any:
    if field.kafka_type.startswith("timedelta"):
        return value // timedelta(milliseconds=1)
    if field.kafka_type.startswith("datetime"):
        return -1 if value is None else (value - _EPOCH) // timedelta(milliseconds=1)
    return message(value)


def _values(field: Field) -> st.SearchStrategy[Any]:
    one = _PRIMITIVES[field.kafka_type] if field.entity is None else entities(field.entity)
    if field.is_array:
        one = _arrays(one, field.shape)
    is_optional = field.nullable or (field.kafka_type == "datetime_i64" and field.default == -1)
    return st.none() | one if is_optional else one


def _arrays(item: st.SearchStrategy[Any], shape: Shape) -> st.SearchStrategy[tuple[Any, ...]]:
    few = st.lists(item, max_size=2).map(tuple)
    if shape is Shape.ENTITY_ARRAY:
        return few
    # Enough of the same for a count of two bytes.
    return few | item.map(lambda value: (value,) * 130)
