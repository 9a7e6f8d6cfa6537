"""Takes unknown tagged fields out of a message: kio refuses them, where Kafka's protocol asks to skip them.

A client that is newer than this broker may put such fields into any version of a message (KIP-482). They are rare, so
this copies the message field by field as its schema says, and only when kio has found one. It is for flexible versions
alone: the others have no tags. Malformed bytes are an IndexError or a DecodeError. Next hop: back to messages.py.
"""

from typing import Final

from kohort.wire.bounds import read_unsigned_varint
from kohort.wire.encoders import unsigned_varint
from kohort.wire.errors import DecodeError
from kohort.wire.schema import Field, Schema, field_width, schema_of

_NULL_STRUCT: Final = 0xFF


def without_unknown_tags(schema: Schema, data: memoryview, position: int) -> bytes:
    """The message that begins at this position, with those tagged fields only that its schema has."""
    copy = _Copy(data, position)
    copy.entity(schema)
    return bytes(copy.kept)


class _Copy:
    """Reads at a position and keeps what is to stay."""

    def __init__(self, data: memoryview, position: int) -> None:
        self.data = data
        self.position = position
        self.kept = bytearray()

    def entity(self, schema: Schema) -> None:
        for field in schema.fields:
            self._field(field)
        self._tags(schema)

    def _field(self, field: Field) -> None:
        if field.is_array:
            for _ in range(self._length()):
                self._one(field._replace(nullable=False))
        else:
            self._one(field)

    def _one(self, field: Field) -> None:
        """One value of a field's type."""
        width = field_width(field)
        if width is not None:
            self._keep(width)
        elif field.entity is None:
            self._keep(self._length())
        elif not field.nullable or self._keep(1)[0] != _NULL_STRUCT:
            self.entity(schema_of(field.entity))

    def _tags(self, schema: Schema) -> None:
        known = {field.tag: field for field in schema.tagged}
        outer, tags = self.kept, []
        for _ in range(self._varint()):
            tag, size = self._varint(), self._varint()
            field = known.get(tag)
            if field is None:
                self._skip(size)
                continue
            self.kept = bytearray()
            self._field(field._replace(nullable=False))
            tags.append(unsigned_varint(tag) + unsigned_varint(len(self.kept)) + self.kept)
        self.kept = outer
        self.kept += unsigned_varint(len(tags)) + b"".join(tags)

    def _varint(self) -> int:
        value, self.position = read_unsigned_varint(self.data, self.position)
        return value

    def _length(self) -> int:
        """A length or count, kept; 0 for null."""
        value = self._varint()
        self.kept += unsigned_varint(value)
        return max(value - 1, 0)

    def _skip(self, size: int) -> memoryview:
        end = self.position + size
        if end > len(self.data):
            raise DecodeError(f"a field that ends at byte {end} of a frame of {len(self.data)}")
        skipped = self.data[self.position : end]
        self.position = end
        return skipped

    def _keep(self, size: int) -> memoryview:
        kept = self._skip(size)
        self.kept += kept
        return kept
