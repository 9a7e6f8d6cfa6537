"""Refuses strings that are longer than Kafka lets any string be, wherever in a message they lie.

Flexible versions could say longer ones, and kio reads them; but what the broker writes down of a request (the name
of a group, the id of a member) has room for no more, and Kafka closes the connection. A frame that is no longer than a
string may be holds none that is too long, so hardly any message is ever looked through.

Next hop: back to messages.py.
"""

from dataclasses import fields, is_dataclass
from typing import Final

from kohort.wire.errors import DecodeError

MAX_STRING_BYTES: Final = 32_767
_MOST_BYTES_A_CHARACTER: Final = 4


def refuse_long_strings(message: str, value: object) -> None:
    """DecodeError if there is one in this value of a message, an entity of kio or any part of one."""
    if isinstance(value, str):
        is_suspect = len(value) > MAX_STRING_BYTES // _MOST_BYTES_A_CHARACTER
        if is_suspect and len(value.encode("utf-8", "surrogatepass")) > MAX_STRING_BYTES:
            raise DecodeError(f"{message} has a string of more than {MAX_STRING_BYTES} bytes")
    elif isinstance(value, tuple):
        for item in value:
            refuse_long_strings(message, item)
    elif is_dataclass(value):
        for field in fields(value):
            refuse_long_strings(message, getattr(value, field.name))
