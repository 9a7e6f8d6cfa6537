import pytest

from kohort.model.setting import parse, render
from kohort.model.settings import BrokerSettings
from kohort.model.topic_settings import TOPIC_SETTINGS, inherited, topic_config
from kohort.model.topics import TimestampType, TopicConfig


def test_a_topic_of_a_default_broker_has_the_default_config() -> None:
    assert topic_config({}, BrokerSettings()) == TopicConfig()


def test_every_default_is_a_value_that_the_setting_allows() -> None:
    for each in TOPIC_SETTINGS.values():
        text = render(each.setting.default)
        assert text is not None
        assert parse(each.setting, text) == each.setting.default


@pytest.mark.parametrize(
    ("settings", "retention_ms"),
    [
        (BrokerSettings(), 168 * 3_600_000),
        (BrokerSettings(log_retention_hours=1), 3_600_000),
        (BrokerSettings(log_retention_hours=1, log_retention_minutes=2), 120_000),
        (BrokerSettings(log_retention_hours=1, log_retention_minutes=2, log_retention_ms=3), 3),
        (BrokerSettings(log_retention_hours=-1), -1),
        (BrokerSettings(log_retention_minutes=-1), -1),
    ],
)
def test_retention_is_in_milliseconds_before_minutes_before_hours(settings: BrokerSettings, retention_ms: int) -> None:
    assert inherited("retention.ms", settings) == retention_ms
    assert topic_config({}, settings).retention_ms == retention_ms


def test_what_a_topic_sets_itself_counts_more_than_the_broker() -> None:
    settings = BrokerSettings(log_retention_ms=9, log_message_timestamp_type="LogAppendTime")
    config = topic_config({"retention.ms": "5", "cleanup.policy": "compact"}, settings)
    assert (config.retention_ms, config.cleanup_compact, config.cleanup_delete) == (5, True, False)
    assert config.message_timestamp_type is TimestampType.LOG_APPEND_TIME


def test_an_empty_cleanup_policy_neither_deletes_nor_compacts() -> None:
    config = topic_config({"cleanup.policy": ""}, BrokerSettings())
    assert (config.cleanup_compact, config.cleanup_delete) == (False, False)


def test_every_broker_setting_a_topic_inherits_reaches_its_config() -> None:
    changed = BrokerSettings(
        message_max_bytes=1,
        compression_type="zstd",
        compression_gzip_level=1,
        compression_lz4_level=1,
        compression_zstd_level=1,
        min_insync_replicas=2,
        log_cleanup_policy=("compact",),
        log_retention_ms=1,
        log_retention_bytes=1,
        log_segment_bytes=1 << 20,
        log_roll_ms=1,
        log_index_interval_bytes=1,
        log_index_size_max_bytes=5,
        log_segment_delete_delay_ms=1,
        log_cleaner_delete_retention_ms=1,
        log_cleaner_min_compaction_lag_ms=1,
        log_cleaner_max_compaction_lag_ms=1,
        log_cleaner_min_cleanable_ratio=0.1,
        log_message_timestamp_type="LogAppendTime",
        log_message_timestamp_before_max_ms=1,
        log_message_timestamp_after_max_ms=1,
    )
    config, default = topic_config({}, changed), TopicConfig()
    same = [name for name in TopicConfig.__slots__ if getattr(config, name) == getattr(default, name)]
    assert same == []
