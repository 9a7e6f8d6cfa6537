"""Compiles a check of a message's array counts, to be made before kio reads the message.

kio's native reader reserves memory for as many items as a count announces, and ends the process when there is not
enough: a Metadata request of 40 bytes that announces 2^31 topics would kill the broker. So no count reaches kio before
it is known that the frame has bytes enough for so many items. An item may be one byte in the frame and a hundred in
memory: so there is a bound to their number in all. What else a length can do wrong, kio refuses by itself.

The check walks a message as far as its last array: in most messages of one topic that is a handful of steps, and a
message without arrays has no check. The position never goes back and each item is at least one byte, so a walk takes no
more steps than the frame has bytes. To leave the frame is an IndexError or a struct.error, which messages.py makes a
DecodeError.
"""

from collections.abc import Callable
from functools import cache
from struct import Struct, calcsize
from typing import Any, Final

from kohort.wire.errors import DecodeError
from kohort.wire.schema import EntityClass, Field, Schema, field_width, fixed_size, schema_of
from kohort.wire.source import Source

BoundsCheck = Callable[[memoryview, int], None]

MAX_ITEMS: Final = 1_000_000
"""Items in all arrays of one message: ten times what a client with every partition of a large cluster names."""

_ALWAYS: Final = "True"
_MAX_VARINT_SHIFT: Final = 28


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
        if shift > _MAX_VARINT_SHIFT:
            raise DecodeError("a varint of more than 5 bytes")


@cache
def bounds_check(entity: EntityClass) -> BoundsCheck | None:
    """The check for this message, None if it needs none."""
    schema = schema_of(entity)
    if not _has_arrays(schema):
        return None
    walk = _Walk(schema.name)
    walk.entity(schema, _ALWAYS)
    return walk.compiled(__name__)


class _Walk(Source):
    """The source of one check; bytes of fixed width wait in `_skipped` to be added to the position."""

    def __init__(self, message: str) -> None:
        namespace: dict[str, Any] = {
            "message": message,
            "read_unsigned_varint": read_unsigned_varint,
            "read_h": Struct(">h").unpack_from,
            "read_i": Struct(">i").unpack_from,
            "too_many": _too_many,
            "null": _null,
            "wrong_size": _wrong_size,
        }
        super().__init__("check", "data, position", namespace)
        self._skipped = 0
        self._is_over = False
        self.line(f"end = len(data); budget = {MAX_ITEMS}")

    def entity(self, schema: Schema, is_last: str | None) -> None:
        """Walks over an entity. `is_last`: the condition under which nothing behind it has to be checked, if any."""
        with_arrays = [field for field in schema.fields if _leads_to_array(field)]
        may_end = bool(with_arrays) and not any(_leads_to_array(field) for field in schema.tagged)
        for field in schema.fields:
            ends_walk = may_end and field is with_arrays[-1]
            self._field(field, schema, is_last if ends_walk else None)
            if self._is_over:
                return
        if schema.flexible:
            self._tags(schema)

    def _flush(self) -> None:
        if self._skipped:
            self.line(f"position += {self._skipped}")
        self._skipped = 0

    def _field(self, field: Field, schema: Schema, is_last: str | None) -> None:
        if field.is_array:
            self._array(field, schema.flexible, is_last)
        elif field.entity is not None:
            self._struct(field, is_last)
        else:
            self._primitive(field, schema.has_compact_strings)

    def _struct(self, field: Field, is_last: str | None) -> None:
        if not field.nullable:
            self.entity(schema_of(field.entity), is_last)
            return
        self._flush()
        self.line("position += 1")
        # -1 is null to kio and every client; other negative bytes only to Kafka.
        with self.block("if data[position - 1] != 255:"):
            self.entity(schema_of(field.entity), is_last)
            self._flush()

    def _length(self, name: str, flexible: bool, struct_format: str) -> None:
        """Reads a length or count: -1 for null."""
        self._flush()
        if flexible:
            self.line(f"{name} = data[position] - 1; position += 1")
            with self.block(f"if {name} > 126:"):
                self.line(f"{name}, position = read_unsigned_varint(data, position - 1); {name} -= 1")
        else:
            self.line(f"{name}, = read_{struct_format}(data, position); position += {calcsize(struct_format)}")

    def _primitive(self, field: Field, flexible: bool) -> None:
        width = field_width(field)
        if width is not None:
            self._skipped += width
            return
        size = self.fresh("size")
        self._length(size, flexible, "h" if field.kafka_type == "string" else "i")
        # Negative is null, or something that kio refuses.
        self.line(f"if {size} > 0: position += {size}")

    def _array(self, field: Field, flexible: bool, is_last: str | None) -> None:
        count = self.fresh("count")
        self._length(count, flexible, "i")
        with self.block(f"if {count} < 0:"):
            self.line(f"{count} = 0" if field.nullable else f"raise null(message, {field.name!r}, position)")
        self.line(f"budget -= {count}")
        with self.block(f"if budget < 0 or {count} > (end - position) // {_least_item_size(field, flexible)}:"):
            self.line(f"raise too_many(message, {field.name!r}, {count}, position)")
        if is_last and not (field.entity is not None and _has_arrays(schema_of(field.entity))):
            if is_last == _ALWAYS:
                self._is_over = True
                return
            self.line(f"if {is_last}: return")
        size = _fixed_item_size(field)
        if size is not None:
            self.line(f"position += {count} * {size}")
            return
        index = self.fresh("index")
        is_last_item = f"{index} == {count} - 1"
        with self.block(f"for {index} in range({count}):"):
            if field.entity is None:
                self._primitive(field, flexible)
            elif is_last is None:
                self.entity(schema_of(field.entity), None)
            else:
                self.entity(
                    schema_of(field.entity), is_last_item if is_last == _ALWAYS else f"{is_last} and {is_last_item}"
                )
            self._flush()

    def _tags(self, schema: Schema) -> None:
        """Walks over tagged fields. Whatever size they announce, kio goes on where those it knows end: so that size has
        to be true, or the check would look at other bytes than kio."""
        count, tag, size, tag_end = self.fresh("count"), self.fresh("tag"), self.fresh("size"), self.fresh("tag_end")
        self._flush()
        self.line(f"{count} = data[position]; position += 1")
        with self.block(f"if {count} > 127:"):
            self.line(f"{count}, position = read_unsigned_varint(data, position - 1)")
        with self.block(f"for _ in range({count}):"):
            self.line(f"{tag}, position = read_unsigned_varint(data, position)")
            self.line(f"{size}, position = read_unsigned_varint(data, position)")
            self.line(f"{tag_end} = position + {size}")
            for number, field in enumerate(schema.tagged):
                with self.block(f"{'elif' if number else 'if'} {tag} == {field.tag}:"):
                    self._field(field._replace(nullable=False), schema, None)
                    self._flush()
                    self.line(f"if position != {tag_end}: raise wrong_size(message, {tag}, {size})")
            self.line(f"position = {tag_end}")


def _null(message: str, field: str, position: int) -> DecodeError:
    return DecodeError(f"{message}.{field} is null at byte {position}, which it may not be")


def _too_many(message: str, field: str, count: int, position: int) -> DecodeError:
    return DecodeError(f"{message}.{field} announces {count} items at byte {position}, more than the frame may hold")


def _wrong_size(message: str, tag: int, size: int) -> DecodeError:
    return DecodeError(f"{message} has a field of tag {tag} that is not {size} bytes long, as it announces")


@cache
def _has_arrays(schema: Schema) -> bool:
    return any(_leads_to_array(field) for field in schema.fields + schema.tagged)


def _leads_to_array(field: Field) -> bool:
    return field.is_array or (field.entity is not None and _has_arrays(schema_of(field.entity)))


def _fixed_item_size(field: Field) -> int | None:
    """Bytes that every item of an array takes, None if they differ."""
    if field.entity is None:
        return field_width(field)
    schema = schema_of(field.entity)
    # Whatever is flexible may hold tagged fields that nobody knows.
    return None if schema.flexible else fixed_size(schema)


def _least_item_size(field: Field, flexible: bool) -> int:
    """Bytes that an item of an array takes at least."""
    return _least_size(field, flexible) if field.entity is None else _least_entity_size(schema_of(field.entity))


@cache
def _least_entity_size(schema: Schema) -> int:
    tags = 1 if schema.flexible else 0
    return tags + sum(
        _least_array_size(schema.flexible) if field.is_array else _least_size(field, schema.flexible)
        for field in schema.fields
    )


def _least_array_size(flexible: bool) -> int:
    return 1 if flexible else 4


def _least_size(field: Field, flexible: bool) -> int:
    """Bytes that one value of a field's type takes at least."""
    if field.entity is not None:
        return 1 if field.nullable else _least_entity_size(schema_of(field.entity))
    width = field_width(field)
    if width is not None:
        return width
    if flexible:
        return 1
    return 2 if field.kafka_type == "string" else 4
