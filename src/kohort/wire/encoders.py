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

from collections.abc import Callable
from functools import cache
from struct import Struct, pack
from textwrap import indent
from typing import Any, Final

from kohort.wire.record_batch import Buffer
from kohort.wire.schema import (
    NO_DEFAULT,
    STRUCT_FORMATS,
    EntityClass,
    Field,
    Schema,
    Shape,
    implicit_default,
    plain,
    schema_of,
)

FrameEncoder = Callable[[int, object], list[Buffer]]
"""(correlation id, message) to the frame, its 4-byte size in front. One buffer, and more only around record batches."""

BodyEncoder = Callable[[object], list[Buffer]]
"""A message to its bytes, without a header or a size."""

_NO_TAGS: Final = b"\0"
_ZERO_UUID: Final = bytes(16)


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


@cache
def frame_encoder(entity: EntityClass, flexible_header: bool) -> FrameEncoder:
    """A writer of whole response frames, whose header has tagged fields (v1) or not (v0)."""
    return _compile_frame(entity, flexible_header, with_defaults=False)


@cache
def body_encoder(entity: EntityClass) -> BodyEncoder:
    return _compile_body(entity, with_defaults=False)


@cache
def _compile_frame(entity: EntityClass, flexible_header: bool, with_defaults: bool) -> FrameEncoder:
    writer = _Writer("encode", "correlation_id, value", with_defaults)
    writer.fixed("i", "correlation_id")
    if flexible_header:
        writer.zero()
    writer.entity(schema_of(entity), "value")
    writer.flush()
    if writer.has_records:
        writer.line("frames.append(join(out))")
        writer.line("frames[0] = sum(map(len, frames)).to_bytes(4, 'big') + frames[0]")
        writer.line("return frames")
    else:
        writer.line("body = join(out)")
        writer.line("return [len(body).to_bytes(4, 'big') + body]")

    def complete(correlation_id: int, message: object) -> list[Buffer]:
        return _compile_frame(entity, flexible_header, with_defaults=True)(correlation_id, message)

    encoder: FrameEncoder = writer.compiled(complete)
    return encoder


@cache
def _compile_body(entity: EntityClass, with_defaults: bool) -> BodyEncoder:
    writer = _Writer("encode", "value", with_defaults)
    writer.entity(schema_of(entity), "value")
    writer.flush()
    writer.line("frames.append(join(out))" if writer.has_records else "return [join(out)]")
    if writer.has_records:
        writer.line("return frames")

    def complete(message: object) -> list[Buffer]:
        return _compile_body(entity, with_defaults=True)(message)

    encoder: BodyEncoder = writer.compiled(complete)
    return encoder


def _records_size(records: Any) -> int:
    """Bytes of a `records` value: a tuple of buffers, or one buffer."""
    return sum(map(len, records)) if type(records) is tuple else len(records)


def _extend_frames(frames: list[Buffer], records: Any) -> None:
    if type(records) is tuple:
        frames += records
    else:
        frames.append(records)


class _Writer:
    """The source of one function, growing line by line.

    Fixed-width values wait in a run until something of variable width ends it, pieces wait in a list until the control
    flow branches: so the function has few calls of struct and few of `out +=`.
    """

    def __init__(self, name: str, parameters: str, with_defaults: bool, shared: "_Writer | None" = None) -> None:
        self.name = name
        self.parameters = parameters
        self.with_defaults = with_defaults
        self.has_records = False
        self.lines: list[str] = []
        self.depth = 1
        self.run_format = ""
        self.run_values: list[str] = []
        self.pieces: list[str] = []
        self.namespace: dict[str, Any] = shared.namespace if shared else _namespace()

    def fresh(self, stem: str, value: Any = None) -> str:
        """A name used nowhere else, bound to the value for the compiled code."""
        name = f"{stem}{len(self.namespace)}"
        self.namespace[name] = value
        return name

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def fixed(self, struct_format: str, expression: str) -> None:
        self.run_format += struct_format
        self.run_values.append(expression)

    def zero(self) -> None:
        """A zero byte: an empty set of tags."""
        self.run_format += "x"

    def piece(self, expression: str) -> None:
        self.end_run()
        self.pieces.append(expression)

    def end_run(self) -> None:
        if not self.run_format:
            return
        if not self.run_values:
            self.pieces.append(repr(bytes(len(self.run_format))))
        else:
            name = self.fresh("pack", Struct(">" + self.run_format).pack)
            self.pieces.append(f"{name}({', '.join(self.run_values)})")
        self.run_format, self.run_values = "", []

    def flush(self) -> None:
        self.end_run()
        if self.pieces:
            self.line(f"out += ({', '.join(self.pieces)},)")
        self.pieces = []

    def access(self, holder: str, field: Field) -> str:
        """The expression that reads a field of a message."""
        default = field.default
        if default is NO_DEFAULT and field.attribute == "throttle_time_ms":
            default = 0
        if not self.with_defaults or default is NO_DEFAULT:
            return f"{holder}.{field.attribute}"
        return f"getattr({holder}, {field.attribute!r}, {self.fresh('default', default)})"

    # Entities and their fields

    def entity(self, schema: Schema, holder: str) -> None:
        for field in schema.fields:
            self.field(field, schema, self.access(holder, field))
        if not schema.flexible:
            return
        if not schema.tagged:
            self.zero()
            return
        function = _compile_tags(schema, self)
        untouched = " and ".join(self.is_default(field, self.access(holder, field)) for field in schema.tagged)
        tags = self.fresh("tags")
        self.line(f"{tags} = no_tags if {untouched} else {function}({holder})")
        self.piece(tags)

    def field(self, field: Field, schema: Schema, value: str) -> None:
        match field.shape:
            case Shape.PRIMITIVE:
                # RequestHeader.client_id kept its old form when its header became flexible.
                is_legacy = schema.name == "RequestHeader"
                self.primitive(field.kafka_type, field.nullable, schema.flexible and not is_legacy, value)
            case Shape.ENTITY:
                self.nested(field, value)
            case Shape.PRIMITIVE_ARRAY | Shape.ENTITY_ARRAY:
                self.array(field, schema.flexible, value)

    def nested(self, field: Field, value: str) -> None:
        name = self.fresh("value")
        self.line(f"{name} = {value}")
        schema = schema_of(_entity_of(field))
        if not field.nullable:
            self.entity(schema, name)
            return
        # KIP-893: a byte of -1 for null, of 1 in front of a struct.
        self.flush()
        self.line(f"if {name} is None:")
        self.line("    out.append(b'\\xff')")
        self.line("else:")
        self.depth += 1
        self.piece("b'\\1'")
        self.entity(schema, name)
        self.flush()
        self.depth -= 1

    def primitive(self, kafka_type: str, nullable: bool, flexible: bool, value: str) -> None:
        if kafka_type == "uuid":
            name = self.fresh("uuid")
            self.line(f"{name} = {value}")
            self.piece(f"zero_uuid if {name} is None else {name}.int.to_bytes(16, 'big')")
        elif kafka_type in STRUCT_FORMATS:
            self.fixed(STRUCT_FORMATS[kafka_type], value)
        elif kafka_type == "records":
            self.records(flexible, value)
        else:
            self.sized(kafka_type, nullable, flexible, value)

    def sized(self, kafka_type: str, nullable: bool, flexible: bool, value: str) -> None:
        """A string or bytes: its length, then itself."""
        name = self.fresh("text" if kafka_type == "string" else "data")
        encode = ".encode()" if kafka_type == "string" else ""
        if not nullable:
            self.line(f"{name} = {value}{encode}")
            self.length("len", name, flexible, "h" if kafka_type == "string" else "i")
            self.piece(name)
            return
        size = self.fresh("size")
        self.line(f"{name} = {value}")
        self.line(f"if {name} is None:")
        self.line(f"    {name} = b''; {size} = -1")
        self.line("else:")
        if encode:
            self.line(f"    {name} = {name}{encode}")
        self.line(f"    {size} = len({name})")
        self.length("", size, flexible, "h" if kafka_type == "string" else "i")
        self.piece(name)

    def length(self, function: str, name: str, flexible: bool, struct_format: str) -> None:
        """A length or count, -1 for null: one less than the varint in flexible versions, fixed-width in others."""
        expression = f"{function}({name})" if function else name
        if flexible:
            self.piece(f"varints[{expression} + 1]")
        else:
            self.fixed(struct_format, expression)

    def records(self, flexible: bool, value: str) -> None:
        self.has_records = True
        name, size = self.fresh("records"), self.fresh("size")
        self.line(f"{name} = {value}")
        self.line(f"{size} = -1 if {name} is None else records_size({name})")
        self.length("", size, flexible, "i")
        self.flush()
        self.line(f"if {size} > 0:")
        self.line("    frames.append(join(out))")
        self.line("    out = []")
        self.line(f"    extend_frames(frames, {name})")

    def array(self, field: Field, flexible: bool, value: str) -> None:
        items, item = self.fresh("items"), self.fresh("item")
        self.line(f"{items} = {value}")
        if field.nullable:
            size = self.fresh("size")
            self.line(f"if {items} is None:")
            self.line(f"    {items} = (); {size} = -1")
            self.line("else:")
            self.line(f"    {size} = len({items})")
            self.length("", size, flexible, "i")
        else:
            self.length("len", items, flexible, "i")
        if field.kafka_type in STRUCT_FORMATS and field.kafka_type != "uuid":
            self.piece(f"pack(f'>{{len({items})}}{STRUCT_FORMATS[field.kafka_type]}', *{items})")
            return
        self.flush()
        self.line(f"for {item} in {items}:")
        self.depth += 1
        if field.entity is None:
            self.primitive(field.kafka_type, False, flexible, item)
        else:
            self.entity(schema_of(field.entity), item)
        self.flush()
        self.depth -= 1

    def is_default(self, field: Field, value: str) -> str:
        """The condition under which a tagged field is left out. Structs are compared field by field: the message's
        class is not kio's."""
        if field.is_array:
            return f"not {value}"
        if field.entity is not None:
            schema = schema_of(field.entity)
            return " and ".join(
                self.is_default(_with_default_of(inner, field.default), f"{value}.{inner.attribute}")
                for inner in schema.fields + schema.tagged
            )
        default = implicit_default(field) if field.default is NO_DEFAULT else field.default
        if field.kafka_type == "uuid":
            return f"({value} is None or not {value}.int)"
        return f"{value} is None" if default is None else f"{value} == {default!r}"

    def compiled(self, complete: Callable[..., Any] | None = None) -> Any:
        """The function, ready to be called; `complete` is what to call instead when an attribute is missing."""
        start = ["    out = []"] + (["    frames = []"] if self.has_records else [])
        body = "\n".join(start + self.lines)
        if complete is not None and not self.with_defaults:
            self.namespace["complete"] = complete
            refuge = f"    except AttributeError:\n        return complete({self.parameters})"
            body = f"    try:\n{indent(body, '    ')}\n{refuge}"
        source = f"def {self.name}({self.parameters}):\n{body}\n"
        exec(compile(source, f"<kohort.wire.encoders {self.name}>", "exec"), self.namespace)
        return self.namespace[self.name]


def _compile_tags(schema: Schema, parent: _Writer) -> str:
    """The name of a function that writes those tagged fields of an entity that are not at their default."""
    writer = _Writer(parent.fresh("write_tags"), "value", parent.with_defaults, parent)
    writer.line("count = 0")
    for field in schema.tagged:
        value = parent.fresh("value")
        function = _compile_tagged_value(field, schema, parent)
        writer.line(f"{value} = {writer.access('value', field)}")
        writer.line(f"if not ({writer.is_default(field, value)}):")
        writer.line(f"    data = {function}({value})")
        writer.line(f"    out += (varints[{field.tag}], varints[len(data)], data)")
        writer.line("    count += 1")
    writer.line("return varints[count] + join(out)")
    writer.compiled()
    return writer.name


def _compile_tagged_value(field: Field, schema: Schema, parent: _Writer) -> str:
    writer = _Writer(parent.fresh("write_tagged"), "value", parent.with_defaults, parent)
    # A tag that is there is not null: its value has the form of a field that cannot be.
    writer.field(field._replace(nullable=False), schema, "value")
    writer.flush()
    writer.line("return join(out)")
    writer.compiled()
    return writer.name


def _with_default_of(inner: Field, struct: Any) -> Field:
    """A field of a tagged struct, with the value that it has in the struct's own default."""
    return inner if struct is NO_DEFAULT else inner._replace(default=plain(getattr(struct, inner.name)))


def _entity_of(field: Field) -> EntityClass:
    if field.entity is None:
        raise TypeError(f"{field.name} is no entity")
    return field.entity


def _namespace() -> dict[str, Any]:
    return {
        "varints": _VARINTS,
        "join": b"".join,
        "pack": pack,
        "no_tags": _NO_TAGS,
        "zero_uuid": _ZERO_UUID,
        "records_size": _records_size,
        "extend_frames": _extend_frames,
    }
