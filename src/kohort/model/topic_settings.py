"""What a topic may set for itself: Kafka's settings by name, and the TopicConfig they come to.

Decides what a topic's settings may say and what it has that sets nothing itself: each setting has broker settings
that stand in for it, the first that has a value counts. Kafka's tools send some settings that mean nothing to a single
replica on a store of our own; they are checked and kept like the others, and say "No effect here."
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kohort.model.commands.catalog import ConfigType
from kohort.model.setting import (
    LONG_MAX,
    Check,
    ConfigError,
    Setting,
    Value,
    at_least,
    parse,
    render,
    throttled_replicas,
)
from kohort.model.settings import BROKER_SETTINGS, BrokerSettings, value_of
from kohort.model.topics import TimestampType, TopicConfig


@dataclass(frozen=True, slots=True)
class Synonym:
    """A broker setting that stands in for a topic's, in a unit of this many of the topic setting's."""

    name: str
    factor: int = 1


@dataclass(frozen=True, slots=True)
class TopicSetting:
    setting: Setting
    synonyms: tuple[Synonym, ...] = ()


def _of_broker(name: str, *synonyms: Synonym | str) -> TopicSetting:
    """A topic setting that is what the first of these broker settings is: same type, same bounds."""
    as_synonyms = tuple(each if isinstance(each, Synonym) else Synonym(each) for each in synonyms)
    broker = BROKER_SETTINGS[as_synonyms[0].name]
    last = as_synonyms[-1]
    default = BROKER_SETTINGS[last.name].default
    default = default * last.factor if last.factor != 1 else default
    setting = Setting(name, broker.config_type, default, broker.documentation, broker.check, dynamic=True)
    return TopicSetting(setting, as_synonyms)


def _without_effect(name: str, config_type: ConfigType, default: Value, check: Check | None = None) -> TopicSetting:
    return TopicSetting(Setting(name, config_type, default, "No effect here.", check, dynamic=True))


def _not_enabled(name: str, value: Value) -> str | None:
    if not value:
        return None
    return "Tiered Storage functionality is disabled in the broker. Topic cannot be configured with remote log storage."


_MINUTE_MS: Final = 60_000
_HOUR_MS: Final = 3_600_000

TOPIC_SETTINGS: Final[Mapping[str, TopicSetting]] = {
    each.setting.name: each
    for each in (
        _of_broker("cleanup.policy", "log.cleanup.policy"),
        _of_broker("compression.gzip.level", "compression.gzip.level"),
        _of_broker("compression.lz4.level", "compression.lz4.level"),
        _of_broker("compression.type", "compression.type"),
        _of_broker("compression.zstd.level", "compression.zstd.level"),
        _of_broker("delete.retention.ms", "log.cleaner.delete.retention.ms"),
        _of_broker("file.delete.delay.ms", "log.segment.delete.delay.ms"),
        _without_effect("flush.messages", ConfigType.LONG, LONG_MAX, at_least(1)),
        _without_effect("flush.ms", ConfigType.LONG, LONG_MAX, at_least(0)),
        _without_effect("follower.replication.throttled.replicas", ConfigType.LIST, (), throttled_replicas),
        _of_broker("index.interval.bytes", "log.index.interval.bytes"),
        _without_effect("leader.replication.throttled.replicas", ConfigType.LIST, (), throttled_replicas),
        _without_effect("local.retention.bytes", ConfigType.LONG, -2, at_least(-2)),
        _without_effect("local.retention.ms", ConfigType.LONG, -2, at_least(-2)),
        _of_broker("max.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
        _of_broker("max.message.bytes", "message.max.bytes"),
        _of_broker("message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms"),
        _of_broker("message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms"),
        _of_broker("message.timestamp.type", "log.message.timestamp.type"),
        _of_broker("min.cleanable.dirty.ratio", "log.cleaner.min.cleanable.ratio"),
        _of_broker("min.compaction.lag.ms", "log.cleaner.min.compaction.lag.ms"),
        _of_broker("min.insync.replicas", "min.insync.replicas"),
        _without_effect("preallocate", ConfigType.BOOLEAN, False),
        _without_effect("remote.log.copy.disable", ConfigType.BOOLEAN, False),
        _without_effect("remote.log.delete.on.disable", ConfigType.BOOLEAN, False),
        _without_effect("remote.storage.enable", ConfigType.BOOLEAN, False, _not_enabled),
        _of_broker("retention.bytes", "log.retention.bytes"),
        TopicSetting(
            # Unlike log.retention.ms, 0 is allowed: Kafka's tools set it to empty a topic.
            Setting(
                "retention.ms",
                ConfigType.LONG,
                168 * _HOUR_MS,
                "How long records are kept, -1 for ever.",
                at_least(-1),
                dynamic=True,
            ),
            (
                Synonym("log.retention.ms"),
                Synonym("log.retention.minutes", _MINUTE_MS),
                Synonym("log.retention.hours", _HOUR_MS),
            ),
        ),
        _of_broker("segment.bytes", "log.segment.bytes"),
        _of_broker("segment.index.bytes", "log.index.size.max.bytes"),
        _without_effect("segment.jitter.ms", ConfigType.LONG, 0, at_least(0)),
        _of_broker("segment.ms", "log.roll.ms", Synonym("log.roll.hours", _HOUR_MS)),
        _without_effect("unclean.leader.election.enable", ConfigType.BOOLEAN, False),
    )
}
"""The table, by name, in the order of names."""


def inherited(name: str, broker: BrokerSettings) -> Value:
    """What a topic has that does not set this itself."""
    topic_setting = TOPIC_SETTINGS[name]
    for synonym in topic_setting.synonyms:
        value = value_of(broker, synonym.name)
        if value is not None:
            # -1 is "without limit" in every unit.
            return value * synonym.factor if synonym.factor != 1 and value != -1 else value
    return topic_setting.setting.default


def parse_topic_setting(name: str, text: str) -> Value:
    """The value of one setting; ConfigError for a name that is none or a value that is not allowed."""
    if name not in TOPIC_SETTINGS:
        raise ConfigError(f"Unknown topic config name: {name}")
    return parse(TOPIC_SETTINGS[name].setting, text)


def checked_configs(configs: Mapping[str, str], broker: BrokerSettings) -> dict[str, str]:
    """A topic's own settings in the spelling that they are kept in; ConfigError if they are wrong, each or together."""
    checked = {name: render(parse_topic_setting(name, text)) or "" for name, text in configs.items()}
    least, most = (_in_force(name, checked, broker) for name in ("min.compaction.lag.ms", "max.compaction.lag.ms"))
    if least > most:
        raise ConfigError(
            f"conflict topic config setting min.compaction.lag.ms ({least}) > max.compaction.lag.ms ({most})"
        )
    return checked


def topic_config(configs: Mapping[str, str], broker: BrokerSettings) -> TopicConfig:
    """How a topic with these settings of its own, checked before, is kept."""

    def value(name: str) -> Value:
        return _in_force(name, configs, broker)

    return TopicConfig(
        cleanup_delete="delete" in value("cleanup.policy"),
        cleanup_compact="compact" in value("cleanup.policy"),
        compression_type=value("compression.type"),
        compression_gzip_level=value("compression.gzip.level"),
        compression_lz4_level=value("compression.lz4.level"),
        compression_zstd_level=value("compression.zstd.level"),
        delete_retention_ms=value("delete.retention.ms"),
        file_delete_delay_ms=value("file.delete.delay.ms"),
        index_interval_bytes=value("index.interval.bytes"),
        max_compaction_lag_ms=value("max.compaction.lag.ms"),
        max_message_bytes=value("max.message.bytes"),
        message_timestamp_type=TimestampType(value("message.timestamp.type")),
        message_timestamp_before_max_ms=value("message.timestamp.before.max.ms"),
        message_timestamp_after_max_ms=value("message.timestamp.after.max.ms"),
        min_cleanable_dirty_ratio=value("min.cleanable.dirty.ratio"),
        min_compaction_lag_ms=value("min.compaction.lag.ms"),
        min_insync_replicas=value("min.insync.replicas"),
        retention_bytes=value("retention.bytes"),
        retention_ms=value("retention.ms"),
        segment_bytes=value("segment.bytes"),
        segment_index_bytes=value("segment.index.bytes"),
        segment_ms=value("segment.ms"),
    )


def _in_force(name: str, configs: Mapping[str, str], broker: BrokerSettings) -> Value:
    return parse_topic_setting(name, configs[name]) if name in configs else inherited(name, broker)
