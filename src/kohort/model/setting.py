"""What a setting is: a name, a type, what is allowed, and the sentence that refuses anything else, as Kafka words it.

Decides whether a text is a value of a setting. Never knows which settings there are: settings.py lists the broker's,
topic_settings.py a topic's.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from kohort.model.commands.catalog import ConfigType

Value = Any
"""bool, int, float, str, tuple[str, ...] or None, as the setting's type says."""

Check = Callable[[str, Value], str | None]
"""(name, value): why the value is not allowed, as a whole sentence, or None."""

INT_MAX: Final = (1 << 31) - 1
LONG_MAX: Final = (1 << 63) - 1

_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]+")
_NUMBER: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_GREATEST: Final = {ConfigType.SHORT: (1 << 15) - 1, ConfigType.INT: INT_MAX, ConfigType.LONG: LONG_MAX}


class ConfigError(Exception):
    """A setting that does not exist, or a value it cannot have. The message says what is allowed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A setting by Kafka's name, or by ours where the thing is ours. `dynamic` ones change while the broker runs."""

    name: str
    config_type: ConfigType
    default: Value
    documentation: str
    check: Check | None = None
    dynamic: bool = False


def parse(setting: Setting, text: str) -> Value:
    """The value that a text stands for; ConfigError says why it is none."""
    value = _convert(setting, text)
    refusal = setting.check(setting.name, value) if setting.check else None
    if refusal is not None:
        raise ConfigError(refusal)
    return value


def render(value: Value) -> str | None:
    """A value as text, in the one spelling that Kafka's tools show."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


def _convert(setting: Setting, text: str) -> Value:
    trimmed = text.strip()
    match setting.config_type:
        case ConfigType.BOOLEAN:
            if trimmed.lower() not in ("true", "false"):
                raise ConfigError(_invalid(setting.name, text, "Expected value to be either true or false"))
            return trimmed.lower() == "true"
        case ConfigType.SHORT | ConfigType.INT | ConfigType.LONG:
            greatest = _GREATEST[setting.config_type]
            # The length is looked at first: int() of a megabyte of digits takes minutes.
            if (
                len(trimmed) > 20
                or not _WHOLE_NUMBER.fullmatch(trimmed)
                or not -greatest - 1 <= int(trimmed) <= greatest
            ):
                raise ConfigError(_invalid(setting.name, text, f"Not a number of type {setting.config_type.name}"))
            return int(trimmed)
        case ConfigType.DOUBLE:
            if not _NUMBER.fullmatch(trimmed):
                raise ConfigError(_invalid(setting.name, text, "Not a number of type DOUBLE"))
            return float(trimmed)
        case ConfigType.LIST:
            # A word twice in a list says nothing more, and its first place counts.
            return tuple(dict.fromkeys(re.split(r"\s*,\s*", trimmed))) if trimmed else ()
        case _:
            return text


def _invalid(name: str, value: object, reason: str) -> str:
    return f"Invalid value {value} for configuration {name}: {reason}"


# What may be allowed


def between(least: float | None, most: float | None) -> Check:
    """A number no less than one and no more than the other; None is without bound, and so is a value not given."""

    def check(name: str, value: Value) -> str | None:
        if value is not None and least is not None and value < least:
            return _invalid(name, value, f"Value must be at least {least}")
        if value is not None and most is not None and value > most:
            return _invalid(name, value, f"Value must be no more than {most}")
        return None

    return check


def at_least(least: float) -> Check:
    return between(least, None)


def one_of(*allowed: str) -> Check:
    def check(name: str, value: Value) -> str | None:
        return None if value in allowed else _invalid(name, value, f"String must be one of: {', '.join(allowed)}")

    return check


def list_of(*allowed: str) -> Check:
    """Each word of the list is one of these; the empty list is allowed."""

    def check(name: str, value: Value) -> str | None:
        for word in value:
            if not word:
                return f"Configuration '{name}' values must not be empty."
            if word not in allowed:
                return _invalid(name, word, f"String must be one of: {', '.join(allowed)}")
        return None

    return check


def unlimited_or_at_least(least: int) -> Check:
    """-1, which is without limit, or a number of at least this."""

    def check(name: str, value: Value) -> str | None:
        if value is None or value == -1 or value >= least:
            return None
        return (
            f"Invalid value {value} for configuration {name}: must be unlimited (-1) or, equal or greater than {least}"
        )

    return check


def gzip_level(name: str, value: Value) -> str | None:
    if value == -1 or 1 <= value <= 9:
        return None
    return _invalid(name, value, "Value must be between 1 and 9 or equal to -1")


def throttled_replicas(name: str, value: Value) -> str | None:
    if value in ((), ("*",)) or all(re.fullmatch(r"[0-9]+:[0-9]+", replica) for replica in value):
        return None
    return _invalid(
        name,
        f"[{', '.join(value)}]",
        f"{name} must be the literal '*' or a list of replicas in the following format: "
        "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
    )
