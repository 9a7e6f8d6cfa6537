"""The broker's settings: each field is a setting, and the table of them at once. Only what works here is listed.

Decides what a flag, an environment variable or a line of a file may say, and refuses the rest with what is allowed.
Kafka's names where the thing is Kafka's (a field's name with dots for underscores); ours are `durability` and
`kohort.*`. What a topic may set for itself is in topic_settings.py.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from kohort.model.commands.catalog import ConfigType
from kohort.model.setting import (
    INT_MAX,
    LONG_MAX,
    Check,
    ConfigError,
    Setting,
    Value,
    at_least,
    between,
    gzip_level,
    list_of,
    one_of,
    parse,
    unlimited_or_at_least,
)

_BOOLEAN: Final = ConfigType.BOOLEAN
_DOUBLE: Final = ConfigType.DOUBLE
_INT: Final = ConfigType.INT
_LIST: Final = ConfigType.LIST
_LONG: Final = ConfigType.LONG
_STRING: Final = ConfigType.STRING

ALIASES: Final = {"broker.id": "node.id", "log.dir": "log.dirs"}
"""Older names of Kafka's for the same thing."""

COMPRESSION_TYPES: Final = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")


def _setting(
    config_type: ConfigType, default: Value, documentation: str, check: Check | None = None, *, dynamic: bool = False
) -> Any:
    """A field of BrokerSettings that is a setting. Any, because the annotation beside it says the type."""
    details = {"config_type": config_type, "documentation": documentation, "check": check, "dynamic": dynamic}
    return field(default=default, metadata={"setting": details})


class Listener(NamedTuple):
    """Where clients connect: PLAINTEXT://host:port."""

    name: str
    host: str
    port: int


def parse_listener(text: str) -> Listener:
    """The listener that a text like PLAINTEXT://127.0.0.1:9092 stands for; ConfigError says what is wrong with it."""
    name, separator, address = text.partition("://")
    host, colon, port = address.rpartition(":")
    if not separator or not colon or not port.isascii() or not port.isdigit() or int(port[:6]) > 65535:
        raise ConfigError(
            f"A listener is written PLAINTEXT://host:port, with a port of 0 to 65535, but this is: {text}"
        )
    if name != "PLAINTEXT":
        raise ConfigError(f"The only security protocol of a listener is PLAINTEXT, but this one says {name}: {text}")
    return Listener(name, host.removeprefix("[").removesuffix("]"), int(port))


def _one_listener(name: str, value: Value) -> str | None:
    if len(value) != 1:
        return f"{name} must name one listener, such as PLAINTEXT://127.0.0.1:9092, but it names {len(value)}."
    try:
        parse_listener(value[0])
    except ConfigError as error:
        return f"Invalid value {value[0]} for configuration {name}: {error}"
    return None


def _one_listener_if_any(name: str, value: Value) -> str | None:
    return _one_listener(name, value) if value else None


def _one_directory(name: str, value: Value) -> str | None:
    if len(value) == 1 and value[0]:
        return None
    return f"{name} must name one directory, but it names {len(value)}."


def _assignors(name: str, value: Value) -> str | None:
    return list_of("uniform", "range")(name, value) if value else f"{name} must name an assignor."


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerSettings:
    """Every setting of a broker as a value. Immutable: a changed one is a new BrokerSettings."""

    # Who the broker is and where it listens

    node_id: int = _setting(_INT, 1, "The id of this broker. It must not change while its data is kept.", at_least(0))
    broker_rack: str | None = _setting(_STRING, None, "The rack this broker tells clients that it stands in.")
    listeners: tuple[str, ...] = _setting(
        _LIST, ("PLAINTEXT://127.0.0.1:9092",), "Where the broker listens; port 0 takes any free port.", _one_listener
    )
    advertised_listeners: tuple[str, ...] = _setting(
        _LIST, (), "Where clients are told to connect, if not to the listener itself.", _one_listener_if_any
    )
    log_dirs: tuple[str, ...] = _setting(
        _LIST, ("kohort-data",), "The directory that everything is in.", _one_directory
    )

    # kohort's own

    durability: str = _setting(
        _STRING,
        "fsync",
        "When an acks=all write and a change of state is acknowledged: 'fsync' once it is on the disk, "
        "'os' once the operating system has it.",
        one_of("fsync", "os"),
    )
    kohort_memory_bytes: int = _setting(
        _LONG,
        256 << 20,
        "About how much memory, and disk for the write-ahead log, what was written last may take: fetches are answered "
        "from it, and writers wait when it is full of what is still to be settled.",
        at_least(64 << 20),
    )

    # Topics

    num_partitions: int = _setting(_INT, 1, "Partitions of a topic that was made without saying how many.", at_least(1))
    default_replication_factor: int = _setting(
        ConfigType.SHORT,
        1,
        "Replicas of a topic that was made without saying how many. kohort keeps one.",
        between(1, 1),
    )
    auto_create_topics_enable: bool = _setting(
        _BOOLEAN, True, "Make a topic when a client asks for one that is missing."
    )
    delete_topic_enable: bool = _setting(_BOOLEAN, True, "Let clients delete topics.")

    # What a topic has that does not set it itself (topic_settings.py)

    message_max_bytes: int = _setting(
        _INT, 1_048_588, "The largest record batch that is taken, as compressed.", at_least(0), dynamic=True
    )
    compression_type: str = _setting(
        _STRING,
        "producer",
        "How batches are compressed in the log; 'producer' keeps them as they came.",
        one_of(*COMPRESSION_TYPES),
        dynamic=True,
    )
    compression_gzip_level: int = _setting(_INT, -1, "The level if compression.type is gzip.", gzip_level, dynamic=True)
    compression_lz4_level: int = _setting(
        _INT, 9, "The level if compression.type is lz4.", between(1, 17), dynamic=True
    )
    compression_zstd_level: int = _setting(
        _INT, 3, "The level if compression.type is zstd.", between(-131072, 22), dynamic=True
    )
    min_insync_replicas: int = _setting(
        _INT, 1, "In-sync replicas that an acks=all write needs. kohort keeps one replica.", at_least(1), dynamic=True
    )
    log_cleanup_policy: tuple[str, ...] = _setting(
        _LIST,
        ("delete",),
        "What happens to old records: 'delete' by age and size, 'compact' to the last of each key, both, or neither.",
        list_of("compact", "delete"),
        dynamic=True,
    )
    log_retention_ms: int | None = _setting(
        _LONG,
        None,
        "How long records are kept, -1 for ever. Not set: log.retention.minutes, then log.retention.hours count.",
        unlimited_or_at_least(1),
        dynamic=True,
    )
    log_retention_minutes: int | None = _setting(
        _INT, None, "The same in minutes, if log.retention.ms is not set.", unlimited_or_at_least(1)
    )
    log_retention_hours: int = _setting(
        _INT, 168, "The same in hours, if neither of the others is set.", unlimited_or_at_least(1)
    )
    log_retention_bytes: int = _setting(
        _LONG, -1, "How many bytes of a partition are kept, -1 for any number.", dynamic=True
    )
    log_segment_bytes: int = _setting(_INT, 1 << 30, "How large a segment file grows.", at_least(1 << 20), dynamic=True)
    log_roll_ms: int | None = _setting(
        _LONG, None, "How long a segment file is written to. Not set: log.roll.hours counts.", at_least(1), dynamic=True
    )
    log_roll_hours: int = _setting(_INT, 168, "The same in hours, if log.roll.ms is not set.", at_least(1))
    log_index_interval_bytes: int = _setting(
        _INT, 4096, "About how many bytes lie between two entries of an offset index.", at_least(0), dynamic=True
    )
    log_index_size_max_bytes: int = _setting(
        _INT, 10 << 20, "How large the index of a segment grows.", at_least(4), dynamic=True
    )
    log_segment_delete_delay_ms: int = _setting(
        _LONG, 60_000, "How long the file of a deleted segment stays on the disk.", at_least(0), dynamic=True
    )
    log_cleaner_delete_retention_ms: int = _setting(
        _LONG, 86_400_000, "How long tombstones stay in a compacted log.", at_least(0), dynamic=True
    )
    log_cleaner_min_compaction_lag_ms: int = _setting(
        _LONG, 0, "How long a record is safe from compaction.", at_least(0), dynamic=True
    )
    log_cleaner_max_compaction_lag_ms: int = _setting(
        _LONG, LONG_MAX, "How long compaction of a record may be put off.", at_least(1), dynamic=True
    )
    log_cleaner_min_cleanable_ratio: float = _setting(
        _DOUBLE, 0.5, "The part of a log that must be uncompacted before it is compacted.", between(0, 1), dynamic=True
    )
    log_message_timestamp_type: str = _setting(
        _STRING,
        "CreateTime",
        "Whose clock a record's timestamp is from: the producer's (CreateTime) or the broker's (LogAppendTime).",
        one_of("CreateTime", "LogAppendTime"),
        dynamic=True,
    )
    log_message_timestamp_before_max_ms: int = _setting(
        _LONG, LONG_MAX, "How far a producer's timestamp may lie in the past.", at_least(0), dynamic=True
    )
    log_message_timestamp_after_max_ms: int = _setting(
        _LONG, 3_600_000, "How far a producer's timestamp may lie in the future.", at_least(0), dynamic=True
    )

    # Groups of the classic protocol

    group_min_session_timeout_ms: int = _setting(
        _INT, 6000, "The shortest session timeout that a classic member may ask for.", at_least(1)
    )
    group_max_session_timeout_ms: int = _setting(
        _INT, 1_800_000, "The longest session timeout that a classic member may ask for.", at_least(1)
    )
    group_initial_rebalance_delay_ms: int = _setting(
        _INT, 300, "How long an empty group waits for more members before its first rebalance.", at_least(0)
    )
    group_max_size: int = _setting(_INT, INT_MAX, "How many members a classic group may have.", at_least(1))

    # Groups of the consumer protocol (KIP-848)

    group_coordinator_rebalance_protocols: tuple[str, ...] = _setting(
        _LIST, ("classic", "consumer"), "The protocols that groups may follow.", list_of("classic", "consumer")
    )
    group_consumer_session_timeout_ms: int = _setting(
        _INT, 45_000, "How long a member of a consumer group may be silent before it is taken for dead.", at_least(1)
    )
    group_consumer_min_session_timeout_ms: int = _setting(
        _INT, 10_000, "The shortest session timeout that a group may be given.", at_least(1)
    )
    group_consumer_max_session_timeout_ms: int = _setting(
        _INT, 300_000, "The longest session timeout that a group may be given.", at_least(1)
    )
    group_consumer_heartbeat_interval_ms: int = _setting(
        _INT, 1000, "How often a member of a consumer group is told to send heartbeats.", at_least(1)
    )
    group_consumer_min_heartbeat_interval_ms: int = _setting(
        _INT, 100, "The shortest heartbeat interval that a group may be given.", at_least(1)
    )
    group_consumer_max_heartbeat_interval_ms: int = _setting(
        _INT, 15_000, "The longest heartbeat interval that a group may be given.", at_least(1)
    )
    group_consumer_max_size: int = _setting(_INT, INT_MAX, "How many members a consumer group may have.", at_least(1))
    group_consumer_assignors: tuple[str, ...] = _setting(
        _LIST,
        ("uniform", "range"),
        "The assignors that members may choose among; the first is that of those who do not.",
        _assignors,
    )
    group_consumer_assignment_interval_ms: int = _setting(
        _INT, 0, "How long a target assignment stands at least before another is made.", between(0, 15_000)
    )
    group_consumer_migration_policy: str = _setting(
        _STRING,
        "bidirectional",
        "Which groups with members may change their protocol: to the consumer protocol (upgrade), back to the classic "
        "one (downgrade), both, or none.",
        one_of("disabled", "bidirectional", "upgrade", "downgrade"),
    )
    group_consumer_regex_refresh_interval_ms: int = _setting(
        _INT, 600_000, "How often regular expressions of subscriptions are matched anew.", at_least(10_000)
    )

    # All groups, and their offsets

    group_push_enable: bool = _setting(
        _BOOLEAN,
        True,
        "Hold heartbeats that have nothing to say, of clients that bear it, so that news reaches members at once.",
    )
    group_lost_connection_grace_ms: int = _setting(
        _INT,
        -1,
        "How long a dynamic member may be silent after its connection broke. -1: the larger of 3 s and 2.5 times its "
        "heartbeat cadence; 0: as long as its session.",
        at_least(-1),
    )
    offset_metadata_max_bytes: int = _setting(
        _INT, 4096, "How many characters the metadata of a committed offset may have.", at_least(0)
    )
    offsets_commit_timeout_ms: int = _setting(
        _INT, 5000, "How long the store may take to confirm a change of a group before it has failed.", at_least(1)
    )
    offsets_retention_minutes: int = _setting(
        _INT, 10_080, "How long offsets are kept that no group needs any more.", at_least(1)
    )
    offsets_retention_check_interval_ms: int = _setting(
        _LONG, 600_000, "How often offsets are looked through for what retention takes.", at_least(1)
    )
    offsets_topic_num_partitions: int = _setting(
        _INT, 50, "Partitions of __consumer_offsets. It must not change while an org has that topic.", at_least(1)
    )
    offsets_topic_segment_bytes: int = _setting(
        _INT, 104_857_600, "The segment.bytes of __consumer_offsets.", at_least(1 << 20)
    )

    # Housekeeping

    producer_id_expiration_ms: int = _setting(
        _INT, 86_400_000, "How long an idempotent producer that is silent is remembered.", at_least(1), dynamic=True
    )

    # Connections and requests

    max_connections: int = _setting(_INT, INT_MAX, "How many connections there may be.", at_least(0))
    max_connections_per_ip: int = _setting(_INT, INT_MAX, "How many connections one address may have.", at_least(0))
    connections_max_idle_ms: int = _setting(_LONG, 600_000, "How long a silent connection is kept; below 0, for ever.")
    socket_request_max_bytes: int = _setting(_INT, 100 << 20, "The largest request that is read.", at_least(1))
    queued_max_request_bytes: int = _setting(
        _LONG,
        256 << 20,
        "How many bytes of requests may wait in memory before sockets are not read; -1 for any number.",
    )
    fetch_max_bytes: int = _setting(_INT, 55 << 20, "The largest answer to a fetch.", at_least(1024))
    max_incremental_fetch_session_cache_slots: int = _setting(
        _INT, 1000, "How many incremental fetch sessions are kept.", at_least(0)
    )


BROKER_SETTINGS: Final[Mapping[str, Setting]] = {
    name: Setting(name, default=each.default, **each.metadata["setting"])
    for each in fields(BrokerSettings)
    for name in (each.name.replace("_", "."),)
}
"""The table, by name."""


def value_of(settings: BrokerSettings, name: str) -> Value:
    """The value of a setting by its name."""
    return getattr(settings, name.replace(".", "_"))


def parse_settings(texts: Mapping[str, str]) -> BrokerSettings:
    """The settings that texts by name stand for; ConfigError for a name that is none or a value that is not allowed."""
    values: dict[str, Value] = {}
    for given_name, text in texts.items():
        name = ALIASES.get(given_name, given_name)
        setting = BROKER_SETTINGS.get(name)
        if setting is None:
            raise ConfigError(_unknown(given_name))
        attribute = name.replace(".", "_")
        value = parse(setting, text)
        if values.setdefault(attribute, value) != value:
            raise ConfigError(f"{given_name} and {name} are the same setting, but were given different values.")
    settings = BrokerSettings(**values)
    _check_together(settings)
    return settings


_BOUNDED: Final = ("group.consumer.session.timeout.ms", "group.consumer.heartbeat.interval.ms")
"""Settings whose names with "min." and "max." in them are those of their bounds."""


def _check_together(settings: BrokerSettings) -> None:
    """ConfigError for values each of which may be, but not with the others."""
    for name in _BOUNDED:
        least, most = (name.replace("consumer.", f"consumer.{bound}.", 1) for bound in ("min", "max"))
        value, low, high = (value_of(settings, each) for each in (name, least, most))
        if not low <= value <= high:
            raise ConfigError(f"{name} is {value}, but must lie between {least} ({low}) and {most} ({high}).")
    interval_ms, session_ms = settings.group_consumer_heartbeat_interval_ms, settings.group_consumer_session_timeout_ms
    if interval_ms >= session_ms:
        raise ConfigError(
            f"group.consumer.heartbeat.interval.ms is {interval_ms}, but must be less than "
            f"group.consumer.session.timeout.ms ({session_ms})."
        )
    if settings.group_min_session_timeout_ms > settings.group_max_session_timeout_ms:
        raise ConfigError(
            f"group.min.session.timeout.ms is {settings.group_min_session_timeout_ms}, but must not be more than "
            f"group.max.session.timeout.ms ({settings.group_max_session_timeout_ms})."
        )
    if "classic" not in settings.group_coordinator_rebalance_protocols:
        raise ConfigError("group.coordinator.rebalance.protocols must have classic in it: it cannot be switched off.")


def _unknown(name: str) -> str:
    """Names the few that may have been meant, or else all there are."""
    near = get_close_matches(name, BROKER_SETTINGS, n=3)
    if near:
        return f"Unknown setting {name}. Did you mean {' or '.join(near)}?"
    return f"Unknown setting {name}. The settings are: {', '.join(sorted(BROKER_SETTINGS))}."


def overlaid(settings: BrokerSettings, *layers: Mapping[str, str]) -> BrokerSettings:
    """The settings with what was changed while the broker ran; a later layer counts more than an earlier one."""
    values = {
        name.replace(".", "_"): parse(BROKER_SETTINGS[name], text) for layer in layers for name, text in layer.items()
    }
    return replace(settings, **values) if values else settings
