"""What happens, as lines that a person can read: values without what they leave at its default, ids cut short.

Next hop: run.py, which prints them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any
from uuid import UUID

from kohort.model.ids import NO_TOPIC_ID
from kohort.model.topics import Topic

NOT_TOLD = frozenset({"throttle_time_ms", "metadata_hash", "committed_leader_epochs", "leader_epochs", "client_host"})
"""Fields that say nothing here."""
_UNSET = object()


def readable(value: Any) -> str:
    match value:
        case UUID():
            return "no-id" if value == NO_TOPIC_ID else str(value)[:4]
        case Enum():
            return value.name
        case Topic():
            return f"{value.name}={readable(value.topic_id)}/{value.partitions}"
        case Mapping():
            return "{" + ", ".join(f"{key}: {readable(each)}" for key, each in value.items()) + "}"
        case str() | int() | float() | None:
            return str(value)
        case frozenset() | set():
            return "{" + ", ".join(sorted(map(readable, value))) + "}"
    if hasattr(value, "_fields") or is_dataclass(value):
        return _call(value)
    if isinstance(value, tuple | list):
        return "[" + ", ".join(map(readable, value)) + "]"
    return repr(value)


def _call(value: Any) -> str:
    return type(value).__name__ + "(" + ", ".join(_told_fields(value)) + ")"


def _told_fields(value: Any) -> Iterator[str]:
    for name, default in _defaults(value).items():
        told = getattr(value, name)
        if name not in NOT_TOLD and told != default:
            yield f"{name}={readable(told)}"


def _defaults(value: Any) -> dict[str, Any]:
    if hasattr(value, "_fields"):
        return {name: value._field_defaults.get(name, _UNSET) for name in value._fields}
    return {each.name: _UNSET if each.default is MISSING else each.default for each in fields(value)}
