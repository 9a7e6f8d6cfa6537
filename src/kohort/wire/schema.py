"""What a Kafka message looks like on the wire, read from kio's classes.

kio describes a message as a dataclass whose fields carry their Kafka type as metadata. This module turns that into
plain values for those who generate code from it: encoders.py writes messages, bounds.py checks them before kio reads
them. It knows nothing of bytes.
"""

from dataclasses import MISSING, fields, is_dataclass
from datetime import timedelta
from enum import Enum, auto
from functools import cache
from struct import calcsize
from typing import Any, Final, NamedTuple, get_args
from uuid import UUID

EntityClass = Any
"""One of kio's classes: a dataclass for one version of one message, or of a struct within. Any, because mypy takes no
class for hashable."""

NO_DEFAULT: Final = MISSING
"""Stands for the default of a field that has none."""

STRUCT_FORMATS: Final = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "float64": "d",
    "error_code": "h",
    "timedelta_i32": "i",
    "timedelta_i64": "q",
    "datetime_i64": "q",
    "uuid": "16s",
}
"""The Kafka types of fixed width, as struct names them."""

_MILLISECOND: Final = timedelta(milliseconds=1)


class Shape(Enum):
    """How a field's values are arranged."""

    PRIMITIVE = auto()
    PRIMITIVE_ARRAY = auto()
    ENTITY = auto()
    ENTITY_ARRAY = auto()


class Field(NamedTuple):
    """One field of an entity. `entity` for the two entity shapes, `kafka_type` for the two primitive ones."""

    name: str
    attribute: str
    shape: Shape
    kafka_type: str
    entity: EntityClass | None
    nullable: bool
    tag: int | None
    default: Any

    @property
    def is_array(self) -> bool:
        return self.shape is Shape.PRIMITIVE_ARRAY or self.shape is Shape.ENTITY_ARRAY


class Schema(NamedTuple):
    """An entity: its fields in the order they are written, and its tagged fields by tag."""

    name: str
    flexible: bool
    fields: tuple[Field, ...]
    tagged: tuple[Field, ...]

    @property
    def has_compact_strings(self) -> bool:
        """RequestHeader.client_id kept its old form when its header became flexible."""
        return self.flexible and self.name != "RequestHeader"


@cache
def schema_of(entity: EntityClass) -> Schema:
    described = [_describe(field) for field in fields(entity)]
    return Schema(
        name=entity.__name__,
        flexible=entity.__flexible__,
        fields=tuple(field for field in described if field.tag is None),
        tagged=tuple(sorted((field for field in described if field.tag is not None), key=lambda field: field.tag or 0)),
    )


def field_width(field: Field) -> int | None:
    """Bytes that one value of a field's type takes, None if they differ."""
    return calcsize(">" + STRUCT_FORMATS[field.kafka_type]) if field.kafka_type in STRUCT_FORMATS else None


@cache
def fixed_size(schema: Schema) -> int | None:
    """Bytes that every value of an entity takes, its empty set of tags included; None if they differ."""
    widths = [None if field.is_array else field_width(field) for field in schema.fields]
    if schema.tagged or None in widths:
        return None
    return sum(width or 0 for width in widths) + schema.flexible


@cache
def has_records(schema: Schema) -> bool:
    """Whether there are record batches somewhere in it."""
    return any(
        field.kafka_type == "records" or (field.entity is not None and has_records(schema_of(field.entity)))
        for field in schema.fields
    )


def plain(value: Any) -> Any:
    """kio's value as a message carries it: times are milliseconds."""
    return value // _MILLISECOND if isinstance(value, timedelta) else value


def implicit_default(field: Field) -> Any:
    """What Kafka takes for a primitive field that names no default: null, empty or zero."""
    if field.nullable:
        return None
    if field.kafka_type in ("string", "bytes"):
        return "" if field.kafka_type == "string" else b""
    return 0


def _describe(field: Any) -> Field:
    kind, nullable = _without_none(field.type)
    arguments = get_args(kind)
    item = _without_none(arguments[0])[0] if arguments else kind
    is_entity = is_dataclass(item)
    if arguments:
        shape = Shape.ENTITY_ARRAY if is_entity else Shape.PRIMITIVE_ARRAY
    else:
        shape = Shape.ENTITY if is_entity else Shape.PRIMITIVE
    kafka_type = field.metadata.get("kafka_type", "")
    is_time = kafka_type.startswith(("timedelta", "datetime"))
    return Field(
        name=field.name,
        attribute=f"{field.name}_ms" if is_time else field.name,
        shape=shape,
        kafka_type=kafka_type,
        entity=item if is_entity else None,
        nullable=nullable and not (item is UUID or is_time),
        tag=field.metadata.get("tag"),
        default=_default(field.default, is_time),
    )


def _default(value: Any, is_time: bool) -> Any:
    if is_time and value is None:
        return -1
    return plain(value)


def _without_none(kind: Any) -> tuple[Any, bool]:
    """The type without its `| None`, and whether it had one."""
    arguments = get_args(kind)
    if type(None) in arguments:
        return next(argument for argument in arguments if argument is not type(None)), True
    return kind, False
