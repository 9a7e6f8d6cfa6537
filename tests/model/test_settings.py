import pytest

from kohort.model.setting import ConfigError, parse, render
from kohort.model.settings import (
    BROKER_SETTINGS,
    BrokerSettings,
    Listener,
    overlaid,
    parse_listener,
    parse_settings,
    value_of,
)


def test_nothing_given_is_every_default() -> None:
    assert parse_settings({}) == BrokerSettings()


def test_every_default_is_a_value_that_the_setting_allows() -> None:
    for setting in BROKER_SETTINGS.values():
        text = render(setting.default)
        if text is not None:
            assert parse(setting, text) == setting.default


def test_texts_become_values_of_the_settings_type() -> None:
    given = {
        "node.id": "7",
        "auto.create.topics.enable": "False",
        "log.cleanup.policy": "compact, delete",
        "log.cleaner.min.cleanable.ratio": "0.25",
        "broker.rack": "r1",
        "durability": "os",
    }
    settings = parse_settings(given)
    values = [value_of(settings, name) for name in given]
    assert values == [7, False, ("compact", "delete"), 0.25, "r1", "os"]


@pytest.mark.parametrize(
    ("name", "near"), [("num.partition", "num.partitions"), ("log.retentionms", "log.retention.ms")]
)
def test_a_misspelt_name_is_refused_with_the_name_that_was_meant(name: str, near: str) -> None:
    with pytest.raises(ConfigError, match=rf"Unknown setting {name}\. Did you mean .*{near}"):
        parse_settings({name: "1"})


def test_a_name_like_no_other_is_refused_with_all_that_are_allowed() -> None:
    with pytest.raises(ConfigError, match="The settings are: ") as refusal:
        parse_settings({"zookeeper": "1"})
    assert all(name in str(refusal.value) for name in BROKER_SETTINGS)


@pytest.mark.parametrize(
    ("name", "text", "allowed"),
    [
        ("num.partitions", "0", "Value must be at least 1"),
        ("num.partitions", "many", "Not a number of type INT"),
        ("default.replication.factor", "3", "Value must be no more than 1"),
        ("durability", "fast", "String must be one of: fsync, os"),
        ("log.retention.ms", "0", "unlimited .-1. or, equal or greater than 1"),
        ("listeners", "PLAINTEXT://a:1,PLAINTEXT://b:2", "must name one listener"),
        ("listeners", "9092", "PLAINTEXT://host:port"),
        ("listeners", "SSL://a:1", "only security protocol of a listener is PLAINTEXT"),
        ("log.dirs", "/a,/b", "must name one directory"),
        ("num.partitions", "9" * 1_000_000, "Not a number of type INT"),
    ],
)
def test_a_value_that_is_not_allowed_is_refused_with_what_is(name: str, text: str, allowed: str) -> None:
    with pytest.raises(ConfigError, match=allowed):
        parse_settings({name: text})


def test_older_names_of_kafka_mean_the_same_setting() -> None:
    assert parse_settings({"broker.id": "4", "log.dir": "/data"}) == BrokerSettings(node_id=4, log_dirs=("/data",))
    with pytest.raises(ConfigError, match="are the same setting"):
        parse_settings({"broker.id": "4", "node.id": "5"})


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("PLAINTEXT://127.0.0.1:9092", Listener("PLAINTEXT", "127.0.0.1", 9092)),
        ("PLAINTEXT://:0", Listener("PLAINTEXT", "", 0)),
        ("PLAINTEXT://[::1]:9092", Listener("PLAINTEXT", "::1", 9092)),
    ],
)
def test_a_listener_is_a_protocol_a_host_and_a_port(text: str, listener: Listener) -> None:
    assert parse_listener(text) == listener


@pytest.mark.parametrize(
    "text", ["", "PLAINTEXT://", "PLAINTEXT://a", "PLAINTEXT://a:65536", "PLAINTEXT://a:-1", "a:1"]
)
def test_what_is_no_listener_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="PLAINTEXT://host:port"):
        parse_listener(text)


def test_later_layers_of_changes_count_more() -> None:
    settings = overlaid(
        BrokerSettings(), {"message.max.bytes": "1", "log.retention.ms": "5"}, {"message.max.bytes": "2"}
    )
    assert (settings.message_max_bytes, settings.log_retention_ms, settings.log_retention_hours) == (2, 5, 168)


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (
            {"group.consumer.session.timeout.ms": "5000"},
            "group.consumer.session.timeout.ms is 5000, but must lie between group.consumer.min.session.timeout.ms "
            "(10000) and group.consumer.max.session.timeout.ms (300000).",
        ),
        (
            {"group.consumer.max.session.timeout.ms": "30000"},
            "group.consumer.session.timeout.ms is 45000, but must lie between group.consumer.min.session.timeout.ms "
            "(10000) and group.consumer.max.session.timeout.ms (30000).",
        ),
        (
            {"group.consumer.heartbeat.interval.ms": "15000", "group.consumer.session.timeout.ms": "12000"},
            "group.consumer.heartbeat.interval.ms is 15000, but must be less than group.consumer.session.timeout.ms "
            "(12000).",
        ),
        (
            {"group.min.session.timeout.ms": "9000", "group.max.session.timeout.ms": "8000"},
            "group.min.session.timeout.ms is 9000, but must not be more than group.max.session.timeout.ms (8000).",
        ),
        (
            {"group.coordinator.rebalance.protocols": "consumer"},
            "group.coordinator.rebalance.protocols must have classic in it: it cannot be switched off.",
        ),
    ],
)
def test_values_that_may_not_be_together_are_refused_with_all_that_matter(texts: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError) as refusal:
        parse_settings(texts)
    assert str(refusal.value) == problem
