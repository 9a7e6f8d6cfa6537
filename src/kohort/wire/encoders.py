"""Compiles a writer for a message: Python source, generated from its schema and run once.

kio's own writer visits every field through a chain of calls and writes into a stream, 13 us for a small answer. A
compiled writer names each attribute where it is needed, packs each run of fixed-width fields with one struct, and joins
the pieces once. For a partition of a ProduceResponse it reads like this:

    tags1 = NO_TAGS if value.current_leader.leader_id == -1 and ... else write_tags1(value)
    out += (pack1(value.index, value.error_code, value.base_offset, ...), varints[len(errors1) + 1], ..., tags1)

A message is any object with the attributes that schema.py names: times are integers of milliseconds, error codes are
integers. One value serves every version of an API, so it may have more attributes than a version writes. It may also
lack some: when an attribute is missing, a second writer is compiled that takes kio's defaults, and a throttle time of
0. A missing attribute that has no default remains an AttributeError, and a value out of range a struct.error: both are
faults of the caller.

Record batches are never copied: where a message has some, the frame is a list of buffers. Next hop: messages.py.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from struct import Struct
from typing import Any, Final

from kohort.wire.record_batch import Buffer
from kohort.wire.schema import (
    NO_DEFAULT,
    STRUCT_FORMATS,
    EntityClass,
    Field,
    Schema,
    Shape,
    fixed_size,
    has_records,
    implicit_default,
    plain,
    schema_of,
)
from kohort.wire.source import Source

FrameEncoder = Callable[[int, object], list[Buffer]]
"""(correlation id, message) to the frame, its 4-byte size in front. One buffer, and more only around record batches."""

BodyEncoder = Callable[[object], list[Buffer]]
"""A message to its bytes, without a header or a size."""

_ORIGIN: Final = __name__
_CORRELATION_ID_SIZE: Final = 4
_LARGEST_SHORT_VARINT: Final = 0x7F


def unsigned_varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


class _Varints(dict[int, bytes]):
    """Unsigned varints by value: the small ones, which nearly all are, are made once."""

    def __missing__(self, value: int) -> bytes:
        return unsigned_varint(value)


_VARINTS: Final = _Varints((value, unsigned_varint(value)) for value in range(512))


class _ArrayPackers(dict[int, Callable[..., bytes]]):
    """By the number of items, a function of (count as it is written, *items) for arrays of one fixed-width type."""

    def __init__(self, item_format: str, flexible: bool) -> None:
        super().__init__()
        self._item_format = item_format
        self._flexible = flexible

    def __missing__(self, size: int) -> Callable[..., bytes]:
        if self._flexible and size + 1 > _LARGEST_SHORT_VARINT:
            pack_items = Struct(f">{size}{self._item_format}").pack
            return lambda count, *items: _VARINTS[count] + pack_items(*items)
        packer = Struct(f">{'B' if self._flexible else 'i'}{size}{self._item_format}").pack
        if size <= _LARGEST_SHORT_VARINT:
            self[size] = packer
        return packer


@cache
def _array_packers(item_format: str, flexible: bool) -> _ArrayPackers:
    return _ArrayPackers(item_format, flexible)


@cache
def frame_encoder(entity: EntityClass, flexible_header: bool, with_defaults: bool = False) -> FrameEncoder:
    """A writer of whole response frames, whose header has tagged fields (v1) or not (v0)."""

    def complete(correlation_id: int, message: object) -> list[Buffer]:
        return frame_encoder(entity, flexible_header, True)(correlation_id, message)

    writer = _Writer("encode", "correlation_id, value", with_defaults, _namespace() | {"complete": complete})
    schema = schema_of(entity)
    with writer.attempt("complete(correlation_id, value)"):
        size = fixed_size(schema)
        if size is not None:
            writer.fixed("i", str(_CORRELATION_ID_SIZE + flexible_header + size))
        writer.fixed("i", "correlation_id")
        if flexible_header:
            writer.zero()
        if has_records(schema):
            writer.line("frames = []")
        writer.entity(schema, "value")
        writer.flush()
        if has_records(schema):
            writer.line("frames.append(join(out))")
            writer.line("frames[0] = sum(map(len, frames)).to_bytes(4, 'big') + frames[0]")
            writer.line("return frames")
        elif size is not None:
            writer.line("return out")
        else:
            writer.line("body = join(out)")
            writer.line("return [len(body).to_bytes(4, 'big') + body]")
    return writer.compiled(_ORIGIN)


@cache
def body_encoder(entity: EntityClass, with_defaults: bool = False) -> BodyEncoder:
    """A writer of anything that kio describes, for the client's side and for what is no message: bytes alone."""

    def complete(message: object) -> list[Buffer]:
        return body_encoder(entity, True)(message)

    writer = _Writer("encode", "value", with_defaults, _namespace() | {"complete": complete})
    schema = schema_of(entity)
    with writer.attempt("complete(value)"):
        if has_records(schema):
            writer.line("frames = []")
        writer.entity(schema, "value")
        writer.flush()
        if has_records(schema):
            writer.line("frames.append(join(out))")
            writer.line("return frames")
        else:
            writer.line("return [join(out)]")
    return writer.compiled(_ORIGIN)


class _Writer(Source):
    """The source of a writer.

    Fixed-width values wait in a run until something of variable width ends it, pieces wait in a list until the control
    flow branches: so the function has few calls of struct and few of `out +=`. Where record batches interrupt it, what
    was written so far goes into `frames`, and then the batches as they are.
    """

    def __init__(self, name: str, parameters: str, with_defaults: bool, namespace: dict[str, Any]) -> None:
        super().__init__(name, parameters, namespace)
        self.with_defaults = with_defaults
        self._is_open = False
        self._run_format = ""
        self._run_values: list[str] = []
        self._pieces: list[str] = []

    @contextmanager
    def attempt(self, otherwise: str) -> Iterator[None]:
        """What is written meanwhile gives way to another call when the message lacks an attribute."""
        if self.with_defaults:
            yield
            return
        with self.block("try:"):
            yield
        with self.block("except AttributeError:"):
            self.line(f"return {otherwise}")

    # Runs and pieces

    def fixed(self, struct_format: str, expression: str) -> None:
        self._run_format += struct_format
        self._run_values.append(expression)

    def zero(self) -> None:
        """A zero byte: an empty set of tags."""
        self._run_format += "x"

    def piece(self, expression: str) -> None:
        self._end_run()
        self._pieces.append(expression)

    def flush(self) -> None:
        """Everything that waits goes out, so that the control flow may branch."""
        self._end_run()
        if not self._is_open:
            self.line(f"out = [{', '.join(self._pieces)}]")
            self._is_open = True
        elif len(self._pieces) == 1:
            self.line(f"out.append({self._pieces[0]})")
        elif self._pieces:
            self.line(f"out += ({', '.join(self._pieces)})")
        self._pieces = []

    def _end_run(self) -> None:
        if self._run_values:
            pack_run = self.fresh("pack", Struct(">" + self._run_format).pack)
            self._pieces.append(f"{pack_run}({', '.join(self._run_values)})")
        elif self._run_format:
            self._pieces.append(repr(bytes(len(self._run_format))))
        self._run_format, self._run_values = "", []

    # Entities and their fields

    def entity(self, schema: Schema, holder: str) -> None:
        for field in schema.fields:
            self.field(field, schema, self.access(holder, field))
        if schema.tagged:
            function = self._tags_function(schema)
            untouched = " and ".join(_is_default(field, self.access(holder, field)) for field in schema.tagged)
            tags = self.fresh("tags")
            self.line(f"{tags} = no_tags if {untouched} else {function}({holder})")
            self.piece(tags)
        elif schema.flexible:
            self.zero()

    def access(self, holder: str, field: Field) -> str:
        """The expression that reads a field of a message."""
        default = field.default
        if default is NO_DEFAULT and field.attribute == "throttle_time_ms":
            default = 0
        if default is NO_DEFAULT or not self.with_defaults:
            return f"{holder}.{field.attribute}"
        return f"getattr({holder}, {field.attribute!r}, {self.fresh('default', default)})"

    def field(self, field: Field, schema: Schema, value: str) -> None:
        match field.shape:
            case Shape.PRIMITIVE:
                self.primitive(field, schema.has_compact_strings, value)
            case Shape.ENTITY:
                self._struct(field, value)
            case Shape.PRIMITIVE_ARRAY | Shape.ENTITY_ARRAY:
                self._array(field, schema.flexible, value)

    def primitive(self, field: Field, flexible: bool, value: str) -> None:
        match field.kafka_type:
            case "uuid":
                uuid = self.fresh("uuid")
                self.line(f"{uuid} = {value}")
                self.piece(f"zero_uuid if {uuid} is None else {uuid}.int.to_bytes(16, 'big')")
            case "records":
                self._records(flexible, value)
            case "string":
                self._sized(field, flexible, value, ".encode()", "h")
            case "bytes":
                self._sized(field, flexible, value, "", "i")
            case fixed_width:
                self.fixed(STRUCT_FORMATS[fixed_width], value)

    def _length(self, expression: str, flexible: bool, struct_format: str) -> None:
        """A length or count, -1 for null. Flexible versions have varints, one more than that."""
        if flexible:
            self.piece(f"varints[{expression} + 1]")
        else:
            self.fixed(struct_format, expression)

    def _sized(self, field: Field, flexible: bool, value: str, encode: str, struct_format: str) -> None:
        """A string or bytes: its length, then itself."""
        data, size = self.fresh("data"), self.fresh("size")
        if not field.nullable:
            self.line(f"{data} = {value}{encode}")
            self._length(f"len({data})", flexible, struct_format)
        elif flexible:
            self.line(f"{data} = {value}")
            with self.block(f"if {data} is None:"):
                self.line(f"{data} = null")
            with self.block("else:"):
                self.line(f"{data} = {data}{encode}")
                self.line(f"{data} = varints[len({data}) + 1] + {data}")
        else:
            self.line(f"{data} = {value}")
            with self.block(f"if {data} is None:"):
                self.line(f"{data} = empty; {size} = -1")
            with self.block("else:"):
                self.line(f"{data} = {data}{encode}; {size} = len({data})")
            self._length(size, flexible, struct_format)
        self.piece(data)

    def _records(self, flexible: bool, value: str) -> None:
        records, size = self.fresh("records"), self.fresh("size")
        self.line(f"{records} = {value}")
        self.line(f"{size} = records_size({records}) if {records} else -1 if {records} is None else 0")
        self._length(size, flexible, "i")
        self.flush()
        with self.block(f"if {size} > 0:"):
            self.line("frames.append(join(out))")
            self.line("out = []")
            self.line(f"extend_frames(frames, {records})")

    def _struct(self, field: Field, value: str) -> None:
        struct = self.fresh("struct")
        self.line(f"{struct} = {value}")
        schema = schema_of(field.entity)
        if not field.nullable:
            self.entity(schema, struct)
            return
        # KIP-893: a byte of -1 for null, of 1 in front of a struct.
        self.flush()
        with self.block(f"if {struct} is None:"):
            self.line("out.append(null_struct)")
        with self.block("else:"):
            self.piece("some_struct")
            self.entity(schema, struct)
            self.flush()

    def _array(self, field: Field, flexible: bool, value: str) -> None:
        items = self.fresh("items")
        self.line(f"{items} = {value}")
        if field.kafka_type in STRUCT_FORMATS and field.kafka_type != "uuid":
            self._packed_array(field, flexible, items)
            return
        if field.nullable:
            size = self.fresh("size")
            with self.block(f"if {items} is None:"):
                self.line(f"{items} = (); {size} = -1")
            with self.block("else:"):
                self.line(f"{size} = len({items})")
            self._length(size, flexible, "i")
        else:
            self._length(f"len({items})", flexible, "i")
        self.flush()
        item = self.fresh("item")
        with self.block(f"for {item} in {items}:"):
            if field.entity is None:
                self.primitive(field._replace(nullable=False), flexible, item)
            else:
                self.entity(schema_of(field.entity), item)
            self.flush()

    def _packed_array(self, field: Field, flexible: bool, items: str) -> None:
        """Items of fixed width: count and items in one piece."""
        packers = self.fresh("packers", _array_packers(STRUCT_FORMATS[field.kafka_type], flexible))
        empty = self.fresh("empty", b"\1" if flexible else bytes(4))
        count = f"len({items}) + 1" if flexible else f"len({items})"
        some = f"{packers}[len({items})]({count}, *{items})"
        if field.nullable:
            null = self.fresh("null", b"\0" if flexible else b"\xff" * 4)
            self.piece(f"{some} if {items} else {null} if {items} is None else {empty}")
        else:
            self.piece(f"{some} if len({items}) else {empty}")

    # Tagged fields

    def _tags_function(self, schema: Schema) -> str:
        """The name of a function that writes those tagged fields of an entity that are not at their default."""
        writer = _Writer(self.fresh("write_tags"), "value", self.with_defaults, self.namespace)
        writer.flush()
        writer.line("count = 0")
        for field in schema.tagged:
            value = self.fresh("value")
            writer.line(f"{value} = {writer.access('value', field)}")
            with writer.block(f"if not ({_is_default(field, value)}):"):
                writer.line(f"data = {self._tagged_value_function(field, schema)}({value})")
                writer.line(f"out += (varints[{field.tag}], varints[len(data)], data)")
                writer.line("count += 1")
        writer.line("return varints[count] + join(out)")
        writer.compiled(_ORIGIN)
        return writer.name

    def _tagged_value_function(self, field: Field, schema: Schema) -> str:
        writer = _Writer(self.fresh("write_tagged"), "value", self.with_defaults, self.namespace)
        # A tag that is there is not null: its value has the form of a field that cannot be.
        writer.field(field._replace(nullable=False), schema, "value")
        writer.flush()
        writer.line("return join(out)")
        writer.compiled(_ORIGIN)
        return writer.name


def _is_default(field: Field, value: str) -> str:
    """The condition under which a tagged field is left out. A struct is compared field by field, since the message's
    class is not kio's."""
    if field.is_array:
        return f"{value} is None" if field.default is None else f"not {value}"
    if field.entity is not None:
        schema = schema_of(field.entity)
        return " and ".join(
            _is_default(_with_default_of(inner, field.default), f"{value}.{inner.attribute}")
            for inner in schema.fields + schema.tagged
        )
    if field.kafka_type == "uuid":
        return f"({value} is None or not {value}.int)"
    default = implicit_default(field) if field.default is NO_DEFAULT else field.default
    return f"{value} is None" if default is None else f"{value} == {default!r}"


def _with_default_of(inner: Field, struct: Any) -> Field:
    """A field of a tagged struct, with the value that it has in the struct's own default."""
    return inner if struct is NO_DEFAULT else inner._replace(default=plain(getattr(struct, inner.name)))


def _records_size(records: Any) -> int:
    """Bytes of a `records` value: a tuple of buffers, or one buffer."""
    return sum(map(len, records)) if type(records) is tuple else len(records)


def _extend_frames(frames: list[Buffer], records: Any) -> None:
    if type(records) is tuple:
        frames += records
    else:
        frames.append(records)


def _namespace() -> dict[str, Any]:
    """What every writer's code may name."""
    return {
        "varints": _VARINTS,
        "join": b"".join,
        "empty": b"",
        "null": b"\0",
        "no_tags": b"\0",
        "null_struct": b"\xff",
        "some_struct": b"\1",
        "zero_uuid": bytes(16),
        "records_size": _records_size,
        "extend_frames": _extend_frames,
    }
