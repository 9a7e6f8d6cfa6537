"""Compiles a check of a message's array counts, to be made before kio reads the message.

kio's native reader reserves memory for as many items as a count announces, and ends the process when there is not
enough: a Metadata request of 40 bytes that announces 2^31 topics would kill the broker. So no count reaches kio before
it is known that the frame has bytes enough for so many items. What else a length can do wrong, kio refuses by itself.

The check walks a message as far as its last array: in most messages of one topic that is a handful of steps, and a
message without arrays has no check. The position never goes back and each item is at least one byte, so a walk takes no
more steps than the frame has bytes. To leave the frame is an IndexError or a struct.error, which messages.py makes a
DecodeError.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct, calcsize
from typing import Any

from kohort.wire.errors import DecodeError
from kohort.wire.schema import STRUCT_FORMATS, EntityClass, Field, Schema, schema_of

BoundsCheck = Callable[[memoryview, int], None]


def read_unsigned_varint(data: memoryview, position: int) -> tuple[int, int]:
    """The varint at the position, and the position behind it; IndexError if it leaves the data."""
    value = shift = 0
    while True:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
        if shift > 28:
            raise DecodeError("a varint of more than 5 bytes")


@cache
def bounds_check(entity: EntityClass) -> BoundsCheck | None:
    """The check for this message, None if it needs none."""
    schema = schema_of(entity)
    if not _has_arrays(schema):
        return None
    walk = _Walk()
    walk.entity(schema, "True")
    check: BoundsCheck = walk.compiled(entity.__name__)
    return check


def _too_many(name: str, count: int, position: int) -> DecodeError:
    return DecodeError(f"{name} announces {count} items at byte {position}, more than the frame can hold")


@cache
def _has_arrays(schema: Schema) -> bool:
    return any(_leads_to_array(field) for field in schema.fields + schema.tagged)


def _leads_to_array(field: Field) -> bool:
    return field.is_array or (field.entity is not None and _has_arrays(schema_of(field.entity)))


@cache
def _fixed_size(schema: Schema) -> int | None:
    """Bytes that every value of an entity takes, None if they differ."""
    if schema.flexible or any(field.kafka_type not in STRUCT_FORMATS or field.is_array for field in schema.fields):
        return None
    return sum(_least_size(field, schema.flexible) for field in schema.fields)


@cache
def _least_size(field: Field, flexible: bool) -> int:
    """Bytes that a field takes at least."""
    if field.is_array:
        return 1 if flexible else 4
    if field.entity is not None:
        return 1 if field.nullable else _least_entity_size(schema_of(field.entity))
    if field.kafka_type in STRUCT_FORMATS:
        return calcsize(">" + STRUCT_FORMATS[field.kafka_type])
    if flexible:
        return 1
    return 2 if field.kafka_type == "string" else 4


@cache
def _least_entity_size(schema: Schema) -> int:
    return sum(_least_size(field, schema.flexible) for field in schema.fields) + schema.flexible


class _Walk:
    """The source of one check, growing line by line; `skipped` bytes wait to be added to the position."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.depth = 1
        self.skipped = 0
        self.names = 0

    def fresh(self, stem: str) -> str:
        self.names += 1
        return f"{stem}{self.names}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def flush(self) -> None:
        if self.skipped:
            self.line(f"position += {self.skipped}")
        self.skipped = 0

    def entity(self, schema: Schema, is_last: str | None) -> None:
        """Walks over an entity. `is_last`: the condition under which nothing behind it has to be checked, if any."""
        needed = [field for field in schema.fields if _leads_to_array(field)]
        tags_needed = any(_leads_to_array(field) for field in schema.tagged)
        for field in schema.fields:
            ends_walk = bool(needed) and field is needed[-1] and not tags_needed
            self.field(field, schema, is_last if ends_walk else None)
        if schema.flexible:
            self.tags(schema)

    def field(self, field: Field, schema: Schema, is_last: str | None) -> None:
        if field.is_array:
            self.array(field, schema.flexible, is_last)
        elif field.entity is not None:
            self.nested(field, is_last)
        elif field.kafka_type in STRUCT_FORMATS:
            self.skipped += _least_size(field, schema.flexible)
        else:
            self.sized(field.kafka_type, schema.flexible and schema.name != "RequestHeader")

    def nested(self, field: Field, is_last: str | None) -> None:
        schema = schema_of(field.entity) if field.entity else None
        if schema is None:
            return
        if not field.nullable:
            self.entity(schema, is_last)
            return
        self.flush()
        self.line("position += 1")
        # kio and Kafka take any byte below zero for null.
        self.line("if data[position - 1] < 128:")
        self.depth += 1
        self.entity(schema, is_last)
        self.flush()
        self.line("pass")
        self.depth -= 1

    def length(self, name: str, flexible: bool, struct_format: str = "i") -> None:
        """Reads a length or count: 0 for null, and for what kio refuses because it is negative."""
        self.flush()
        if flexible:
            self.line(f"{name} = data[position] - 1; position += 1")
            self.line(f"if {name} > 126:")
            self.line(f"    {name}, position = read_unsigned_varint(data, position - 1); {name} -= 1")
        else:
            width = calcsize(struct_format)
            self.line(f"{name}, = read_{struct_format}(data, position); position += {width}")
        self.line(f"if {name} < 0: {name} = 0")

    def sized(self, kafka_type: str, flexible: bool) -> None:
        size = self.fresh("size")
        self.length(size, flexible, "h" if kafka_type == "string" else "i")
        self.line(f"position += {size}")

    def array(self, field: Field, flexible: bool, is_last: str | None) -> None:
        count = self.fresh("count")
        self.length(count, flexible)
        schema = schema_of(field.entity) if field.entity else None
        item = field._replace(nullable=False, shape=field.shape, entity=field.entity)
        least = _least_entity_size(schema) if schema else _least_item_size(item, flexible)
        self.line(f"if {count} > (end - position) // {least}:")
        self.line(f"    raise too_many({field.name!r}, {count}, position)")
        holds_arrays = schema is not None and _has_arrays(schema)
        if is_last and not holds_arrays:
            self.line("return" if is_last == "True" else f"if {is_last}: return")
            if is_last == "True":
                return
        fixed = _fixed_size(schema) if schema else _fixed_item_size(field)
        if fixed is not None:
            self.line(f"position += {count} * {fixed}")
            return
        index = self.fresh("index")
        self.line(f"for {index} in range({count}):")
        self.depth += 1
        if schema is None:
            self.sized(field.kafka_type, flexible)
        else:
            last = f"{index} == {count} - 1"
            self.entity(schema, (last if is_last == "True" else f"{is_last} and {last}") if is_last else None)
        self.flush()
        self.depth -= 1

    def tags(self, schema: Schema) -> None:
        """Walks over tagged fields; those that hold arrays are looked into."""
        count, tag, size = self.fresh("count"), self.fresh("tag"), self.fresh("size")
        self.flush()
        self.line(f"{count} = data[position]; position += 1")
        self.line(f"if {count} > 127: {count}, position = read_unsigned_varint(data, position - 1)")
        self.line(f"for _ in range({count}):")
        self.depth += 1
        self.line(f"{tag}, position = read_unsigned_varint(data, position)")
        self.line(f"{size}, position = read_unsigned_varint(data, position)")
        self.line(f"tag_end_{size} = position + {size}")
        for field in schema.tagged:
            if _leads_to_array(field):
                self.line(f"if {tag} == {field.tag}:")
                self.depth += 1
                self.field(field._replace(nullable=False), schema, None)
                self.flush()
                self.depth -= 1
        self.line(f"if position > tag_end_{size}: raise DecodeError('a tagged field longer than it announces')")
        self.line(f"position = tag_end_{size}")
        self.depth -= 1

    def compiled(self, name: str) -> Any:
        source = "\n".join(["def check(data, position):", "    end = len(data)", *self.lines]) + "\n"
        namespace: dict[str, Any] = {
            "read_unsigned_varint": read_unsigned_varint,
            "read_h": Struct(">h").unpack_from,
            "read_i": Struct(">i").unpack_from,
            "too_many": _too_many,
            "DecodeError": DecodeError,
        }
        exec(compile(source, f"<kohort.wire.bounds {name}>", "exec"), namespace)
        return namespace["check"]


def _fixed_item_size(field: Field) -> int | None:
    return calcsize(">" + STRUCT_FORMATS[field.kafka_type]) if field.kafka_type in STRUCT_FORMATS else None


def _least_item_size(field: Field, flexible: bool) -> int:
    """Bytes that an item of an array of primitives takes at least."""
    fixed = _fixed_item_size(field)
    if fixed is not None:
        return fixed
    if flexible:
        return 1
    return 2 if field.kafka_type == "string" else 4
