"""Postcard, the bytes of our own values: records in machines' logs, later commands between gateway and broker.

A codec is compiled from a type's annotations: Python source that writes and reads its fields in order, so that a record
costs about a microsecond. The format names no fields and holds no types; who reads must know what was written.

    bool            one byte, 0 or 1            Optional          0, or 1 and the value
    int             zigzag, then a varint       tuple[X, ...]     the count, then each
    float           8 bytes, little-endian      tuple[X, Y]       each in order
    str, bytes      the length, then the bytes  Mapping[K, V]     the count, then keys and values in turn
    UUID            16 bytes                    NamedTuple and    their fields in order
    Enum            the member's place           dataclass

Lengths, counts and places are varints: seven bits a byte, the lowest first. Every count is held against the bytes that
are left before anything is made for it. Bytes behind a value are the caller's: a later version may have added fields.
"""

import dataclasses
import types
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cache
from struct import Struct
from struct import error as struct_error
from typing import Any, Final, Generic, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints
from uuid import UUID

from kohort.wire.errors import DecodeError

T = TypeVar("T")

_FLOAT: Final = Struct("<d")
_LEAST_INT: Final = -(1 << 63)
_GREATEST_INT: Final = (1 << 63) - 1
_GREATEST_VARINT: Final = (1 << 64) - 1
_MAX_VARINT_SIZE: Final = 10


class Codec(NamedTuple, Generic[T]):
    encode: Callable[[T], bytes]
    """ValueError for a number that does not fit in 64 bits."""
    decode: Callable[[bytes, int], tuple[T, int]]
    """(data, position): the value there and the position behind it; DecodeError if there is none."""


@cache
def codec(kind: type[T]) -> Codec[T]:
    """The codec of a type; TypeError if it holds something that has no bytes."""
    source = _Source()
    encode_body = source.indented(source.write(kind, "value"))
    decode_body = source.indented(source.read(kind, "value"), 2)
    text = f"""
def encode(value):
    out = bytearray()
{encode_body}
    return bytes(out)

def decode(data, position):
    end = len(data)
    try:
{decode_body}
    except (IndexError, ValueError, struct_error) as failure:
        raise DecodeError(f"no " + {kind.__name__!r} + f": {{failure}}") from failure
    if position > end:
        raise DecodeError("the data ends within a " + {kind.__name__!r})
    return value, position
"""
    # The source is made of annotations only, never of data.
    exec(compile(text, f"<postcard of {kind.__name__}>", "exec"), source.names)
    return Codec(source.names["encode"], source.names["decode"])


class _Source:
    """Source lines that write or read a value, and the names they use."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {
            "DecodeError": DecodeError,
            "FLOAT": _FLOAT,
            "read_rest": _read_rest,
            "struct_error": struct_error,
            "write_signed": _write_signed,
            "write_varint": _write_varint,
            "UUID": UUID,
        }
        self._count = 0

    @staticmethod
    def indented(lines: list[str], depth: int = 1) -> str:
        return "\n".join("    " * depth + line for line in lines or ["pass"])

    def _inner(self, lines: list[str]) -> list[str]:
        return ["    " + line for line in lines or ["pass"]]

    def _fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}_{self._count}"

    def _named(self, thing: object, stem: str) -> str:
        name = self._fresh(stem)
        self.names[name] = thing
        return name

    # Writing

    def write(self, kind: Any, value: str) -> list[str]:
        """Lines that append the value of this expression to `out`."""
        kind = _plain(kind)
        optional, arguments = _optional(kind), get_args(kind)
        if optional is not None:
            some = self.write(optional, value)
            return [f"if {value} is None:", "    out.append(0)", "else:", *self._inner(["out.append(1)", *some])]
        if kind is bool:
            return [f"out.append(1 if {value} else 0)"]
        if kind is int:
            return [f"write_signed(out, {value})"]
        if kind is float:
            return [f"out += FLOAT.pack({value})"]
        if kind is bytes:
            return [f"write_varint(out, len({value}))", f"out += {value}"]
        if kind is str:
            text = self._fresh("text")
            return [f"{text} = {value}.encode()", f"write_varint(out, len({text}))", f"out += {text}"]
        if kind is UUID:
            return [f"out += {value}.bytes"]
        if _is_sequence(kind):
            item = self._fresh("item")
            each = self._inner(self.write(arguments[0], item))
            return [f"write_varint(out, len({value}))", f"for {item} in {value}:", *each]
        if _is_mapping(kind):
            key, item = self._fresh("key"), self._fresh("item")
            each = self._inner([*self.write(arguments[0], key), *self.write(arguments[1], item)])
            return [f"write_varint(out, len({value}))", f"for {key}, {item} in {value}.items():", *each]
        if get_origin(kind) is tuple:
            items = [self._fresh("item") for _ in arguments]
            lines = [line for each, item in zip(arguments, items) for line in self.write(each, item)]
            return [f"({', '.join(items)},) = {value}", *lines]
        if isinstance(kind, type) and issubclass(kind, Enum):
            places = self._named({member: place for place, member in enumerate(kind)}, "places")
            return [f"write_varint(out, {places}[{value}])"]
        return [line for name, each in _fields(kind) for line in self.write(each, f"{value}.{name}")]

    # Reading

    def read(self, kind: Any, into: str) -> list[str]:
        """Lines that read from `data` at `position` into this variable, and move the position."""
        kind = _plain(kind)
        optional, arguments = _optional(kind), get_args(kind)
        if optional is not None:
            some = self._inner(self.read(optional, into))
            return [*self._read_flag(into), f"if {into}:", *some, "else:", f"    {into} = None"]
        if kind is bool:
            return [*self._read_flag(into), f"{into} = {into} == 1"]
        if kind is int:
            return [*self._read_varint(into), f"{into} = ({into} >> 1) ^ -({into} & 1)"]
        if kind is float:
            return [f"{into} = FLOAT.unpack_from(data, position)[0]", "position += 8"]
        if kind is bytes or kind is str:
            convert = "" if kind is bytes else ".decode()"
            size = self._fresh("size")
            # What leaves the data comes out short; that is found out once, at the end.
            slice_of = f"{into} = data[position : position + {size}]{convert}"
            return [*self._read_varint(size), slice_of, f"position += {size}"]
        if kind is UUID:
            return [f"{into} = UUID(bytes=data[position : position + 16])", "position += 16"]
        if _is_sequence(kind):
            item = self._fresh("item")
            each = [*self.read(arguments[0], item), f"{into}.append({item})"]
            return [*self._read_each(into, "[]", each), f"{into} = tuple({into})"]
        if _is_mapping(kind):
            key, item = self._fresh("key"), self._fresh("item")
            each = [*self.read(arguments[0], key), *self.read(arguments[1], item), f"{into}[{key}] = {item}"]
            return self._read_each(into, "{}", each)
        if get_origin(kind) is tuple:
            items = [self._fresh("item") for _ in arguments]
            lines = [line for each, item in zip(arguments, items) for line in self.read(each, item)]
            return [*lines, f"{into} = ({', '.join(items)},)"]
        if isinstance(kind, type) and issubclass(kind, Enum):
            members = self._named(tuple(kind), "members")
            return [*self._read_varint(into), f"{into} = {members}[{into}]"]
        fields = [(name, each, self._fresh(name)) for name, each in _fields(kind)]
        lines = [line for _, each, variable in fields for line in self.read(each, variable)]
        arguments_text = ", ".join(variable for _, _, variable in fields)
        return [*lines, f"{into} = {self._named(kind, kind.__name__)}({arguments_text})"]

    def _read_flag(self, into: str) -> list[str]:
        refusal = f'    raise DecodeError(f"a flag of {{{into}}}")'
        return [f"{into} = data[position]", "position += 1", f"if {into} > 1:", refusal]

    def _read_varint(self, into: str) -> list[str]:
        rest = f"    {into}, position = read_rest(data, position, {into})"
        return [f"{into} = data[position]", "position += 1", f"if {into} > 0x7F:", rest]

    def _read_each(self, into: str, empty: str, each: list[str]) -> list[str]:
        """A count, then so many of `each`. Whatever is counted has at least one byte."""
        count = self._fresh("count")
        refusal = f'    raise DecodeError(f"a count of {{{count}}} in {{end - position}} bytes")'
        return [
            *self._read_varint(count),
            f"if {count} > end - position:",
            refusal,
            f"{into} = {empty}",
            f"for _ in range({count}):",
            *self._inner(each),
        ]


# What the annotations say


def _plain(kind: Any) -> Any:
    """A NewType is what it is made of."""
    while hasattr(kind, "__supertype__"):
        kind = kind.__supertype__
    return kind


def _optional(kind: Any) -> Any:
    """X of X | None; None for any other type."""
    if get_origin(kind) not in (Union, types.UnionType):
        return None
    some = [each for each in get_args(kind) if each is not type(None)]
    if len(some) != 1:
        raise TypeError(f"{kind} has no bytes: of several types only X | None is known")
    return some[0]


def _is_sequence(kind: Any) -> bool:
    if get_origin(kind) is not tuple or get_args(kind)[1:] != (Ellipsis,):
        return False
    if not _has_bytes(get_args(kind)[0]):
        raise TypeError(f"{kind} has no bound: its items have no bytes")
    return True


def _is_mapping(kind: Any) -> bool:
    return get_origin(kind) is Mapping


def _has_bytes(kind: Any) -> bool:
    """Whether a value of this type takes at least one byte, so that a count of them is bounded by the data."""
    kind = _plain(kind)
    if get_origin(kind) is tuple and get_args(kind)[1:] != (Ellipsis,):
        return any(_has_bytes(each) for each in get_args(kind))
    if get_origin(kind) is None and not issubclass(kind, (int, float, str, bytes, UUID, Enum)):
        return any(_has_bytes(each) for _, each in _fields(kind))
    return True


def _fields(kind: Any) -> list[tuple[str, Any]]:
    hints = get_type_hints(kind)
    if dataclasses.is_dataclass(kind):
        return [(field.name, hints[field.name]) for field in dataclasses.fields(kind)]
    if isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
        return [(name, hints[name]) for name in kind._fields]
    raise TypeError(f"{kind} has no bytes")


# What the compiled source calls


def _write_signed(out: bytearray, value: int) -> None:
    if not _LEAST_INT <= value <= _GREATEST_INT:
        raise ValueError(f"{value} does not fit in 64 bits")
    _write_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _read_rest(data: bytes, position: int, first: int) -> tuple[int, int]:
    """The rest of a varint whose first byte says that there is more."""
    value, shift, byte = first & 0x7F, 7, 0x80
    while byte > 0x7F:
        if shift == 7 * _MAX_VARINT_SIZE:
            raise DecodeError(f"a varint of more than {_MAX_VARINT_SIZE} bytes")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
    if value > _GREATEST_VARINT:
        raise DecodeError("a varint of more than 64 bits")
    return value, position
