"""What a group of the consumer protocol may set for itself: Kafka's settings by name, and the values they come to.

Decides what a group's settings may say: each has a broker setting that stands in for it, and others that bound it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from kohort.model.setting import ConfigError, Setting, Value, parse, render
from kohort.model.settings import BROKER_SETTINGS, BrokerSettings, value_of

_PREFIX: Final = "group."
"""What a group's setting is called as a setting of the broker begins with this."""
_SESSION_TIMEOUT: Final = "consumer.session.timeout.ms"
_HEARTBEAT_INTERVAL: Final = "consumer.heartbeat.interval.ms"
_ASSIGNMENT_INTERVAL: Final = "consumer.assignment.interval.ms"
_BOUNDED: Final = (_HEARTBEAT_INTERVAL, _SESSION_TIMEOUT)


def _of_broker(name: str) -> Setting:
    broker = BROKER_SETTINGS[_PREFIX + name]
    return Setting(name, broker.config_type, broker.default, broker.documentation, broker.check, dynamic=True)


GROUP_SETTINGS: Final[Mapping[str, Setting]] = {
    name: _of_broker(name) for name in (_ASSIGNMENT_INTERVAL, _HEARTBEAT_INTERVAL, _SESSION_TIMEOUT)
}
"""The table, by name, in the order of names."""


class GroupSettings(NamedTuple):
    """How a group is led."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int


def synonym_of(name: str) -> str:
    """The broker setting that stands in for a group's."""
    return _PREFIX + name


def checked_group_configs(configs: Mapping[str, str], broker: BrokerSettings) -> dict[str, str]:
    """A group's own settings in the spelling that they are kept in; ConfigError if they are wrong, each or together."""
    unknown = next((name for name in configs if name not in GROUP_SETTINGS), None)
    if unknown is not None:
        raise ConfigError(f"Unknown group config name: {unknown}")
    checked = {name: render(parse(GROUP_SETTINGS[name], text)) or "" for name, text in configs.items()}
    for name in _BOUNDED:
        least, most = (synonym_of(name).replace("consumer.", f"consumer.{bound}.", 1) for bound in ("min", "max"))
        value = _in_force(name, checked, broker)
        if value < value_of(broker, least):
            raise ConfigError(f"{name} must be greater than or equal to {least}")
        if value > value_of(broker, most):
            raise ConfigError(f"{name} must be less than or equal to {most}")
    if _in_force(_SESSION_TIMEOUT, checked, broker) <= _in_force(_HEARTBEAT_INTERVAL, checked, broker):
        raise ConfigError(f"{_SESSION_TIMEOUT} must be greater than {_HEARTBEAT_INTERVAL}")
    return checked


def group_settings(configs: Mapping[str, str], broker: BrokerSettings) -> GroupSettings:
    """How a group with these settings of its own, checked before, is led."""
    return GroupSettings(
        _in_force(_SESSION_TIMEOUT, configs, broker),
        _in_force(_HEARTBEAT_INTERVAL, configs, broker),
        _in_force(_ASSIGNMENT_INTERVAL, configs, broker),
    )


def _in_force(name: str, configs: Mapping[str, str], broker: BrokerSettings) -> Value:
    return parse(GROUP_SETTINGS[name], configs[name]) if name in configs else value_of(broker, synonym_of(name))
