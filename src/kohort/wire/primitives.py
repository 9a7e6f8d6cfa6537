"""Kafka's primitive types, read and written one after the other: for the structs that are no messages.

Strings, bytes and arrays of flexible structs are compact: their length is a varint, one more than it is. Whatever
leaves the data, and a count of more items than there are bytes, is a DecodeError. Messages are read by kio instead.

Next hop: group_records.py and consumer_protocol.py.
"""

from collections.abc import Callable
from struct import Struct, pack
from struct import error as StructError
from typing import Final, TypeVar
from uuid import UUID

from kohort.wire.errors import DecodeError

_INT16: Final = Struct(">h")
_INT32: Final = Struct(">i")
_INT64: Final = Struct(">q")

T = TypeVar("T")


class Reader:
    """Reads forward from the beginning of the data."""

    def __init__(self, data: bytes, flexible: bool = False) -> None:
        self._data: Final = data
        self._position = 0
        self.flexible = flexible

    @property
    def remaining(self) -> int:
        return len(self._data) - self._position

    def raw(self, size: int) -> bytes:
        if not 0 <= size <= self.remaining:
            raise DecodeError(f"{size} bytes where {self.remaining} are left")
        begin = self._position
        self._position = begin + size
        return self._data[begin : self._position]

    def int8(self) -> int:
        return int.from_bytes(self.raw(1), "big", signed=True)

    def int16(self) -> int:
        return self._fixed(_INT16)

    def int32(self) -> int:
        return self._fixed(_INT32)

    def int64(self) -> int:
        return self._fixed(_INT64)

    def uuid(self) -> UUID:
        return UUID(bytes=self.raw(16))

    def varint(self) -> int:
        value = shift = 0
        while shift <= 28:
            byte = self.raw(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
        raise DecodeError("a varint of more than 5 bytes")

    def string(self) -> str:
        text = self.nullable_string()
        if text is None:
            raise DecodeError("null where a string must be")
        return text

    def nullable_string(self) -> str | None:
        size = self.varint() - 1 if self.flexible else self.int16()
        if size == -1:
            return None
        try:
            return self.raw(size).decode()
        except UnicodeDecodeError as failure:
            raise DecodeError(f"a string that is not UTF-8: {failure}") from failure

    def sized_bytes(self) -> bytes:
        data = self.nullable_bytes()
        if data is None:
            raise DecodeError("null where bytes must be")
        return data

    def nullable_bytes(self) -> bytes | None:
        size = self.varint() - 1 if self.flexible else self.int32()
        return None if size == -1 else self.raw(size)

    def array(self, read_item: Callable[[], T]) -> tuple[T, ...]:
        """A null array is an empty one. Every item has at least one byte."""
        count = self.varint() - 1 if self.flexible else self.int32()
        if count == -1:
            return ()
        if not 0 <= count <= self.remaining:
            raise DecodeError(f"an array of {count} items in {self.remaining} bytes")
        return tuple([read_item() for _ in range(count)])

    def tags(self) -> dict[int, bytes]:
        """The tagged fields behind a flexible struct."""
        found: dict[int, bytes] = {}
        for _ in range(self.varint() if self.flexible else 0):
            tag = self.varint()
            found[tag] = self.raw(self.varint())
        return found

    def _fixed(self, struct: Struct) -> int:
        try:
            (value,) = struct.unpack_from(self._data, self._position)
        except StructError as failure:
            raise DecodeError(f"a number at byte {self._position} of {len(self._data)}") from failure
        self._position += struct.size
        number: int = value
        return number


class Writer:
    """Writes one field behind the other."""

    def __init__(self, flexible: bool = False) -> None:
        self._out = bytearray()
        self.flexible: Final = flexible

    def data(self) -> bytes:
        return bytes(self._out)

    def raw(self, data: bytes) -> None:
        self._out += data

    def fixed(self, struct_format: str, *values: object) -> None:
        """Numbers, as the struct module names their types."""
        self._out += pack(f">{struct_format}", *values)

    def varint(self, value: int) -> None:
        while value > 0x7F:
            self._out.append(value & 0x7F | 0x80)
            value >>= 7
        self._out.append(value)

    def string(self, text: str | None) -> None:
        data = None if text is None else text.encode()
        if self.flexible:
            self._compact(data)
        else:
            self.fixed("h", -1 if data is None else len(data))
            self._out += data or b""

    def sized_bytes(self, data: bytes | None) -> None:
        if self.flexible:
            self._compact(data)
        else:
            self.fixed("i", -1 if data is None else len(data))
            self._out += data or b""

    def count(self, count: int) -> None:
        """How many items an array has; they come next."""
        if self.flexible:
            self.varint(count + 1)
        else:
            self.fixed("i", count)

    def tags(self, fields: dict[int, bytes]) -> None:
        """The tagged fields behind a flexible struct, in the order of their tags."""
        self.varint(len(fields))
        for tag, data in fields.items():
            self.varint(tag)
            self.varint(len(data))
            self._out += data

    def _compact(self, data: bytes | None) -> None:
        if data is None:
            self.varint(0)
        else:
            self.varint(len(data) + 1)
            self._out += data
