"""What `kohort serve` understands: flags, environment, file and defaults, in this order."""

from pathlib import Path

import pytest

from kohort.cli.arguments import broker_settings, parse_command_line, settings_page
from kohort.model.setting import ConfigError
from kohort.model.settings import BrokerSettings


def settings_of(*arguments: str, **environment: str) -> BrokerSettings:
    return broker_settings(parse_command_line(["serve", *arguments]), environment)


def test_without_anything_the_defaults_hold() -> None:
    assert settings_of() == BrokerSettings()


def test_a_flag_counts_more_than_the_environment_and_that_more_than_the_file(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("# mine\n\nnum.partitions=2\nlog.retention.ms=3\nmessage.max.bytes = 4\n")
    settings = settings_of(
        f"--config={file}", "--set", "num.partitions=6", KOHORT_NUM_PARTITIONS="5", KOHORT_LOG_RETENTION_MS="7"
    )
    assert (settings.num_partitions, settings.log_retention_ms, settings.message_max_bytes) == (6, 7, 4)


def test_host_and_port_change_only_what_they_say() -> None:
    assert settings_of("--port", "0").listeners == ("PLAINTEXT://127.0.0.1:0",)
    assert settings_of("--host", "::1").listeners == ("PLAINTEXT://[::1]:9092",)
    assert settings_of("--port", "1", KOHORT_LISTENERS="PLAINTEXT://0.0.0.0:9").listeners == ("PLAINTEXT://0.0.0.0:1",)
    assert settings_of("--advertised-host", "me").advertised_listeners == ("PLAINTEXT://me:9092",)


def test_an_unknown_environment_variable_of_ours_is_refused_with_what_was_meant() -> None:
    with pytest.raises(ConfigError, match=r"num\.partition\b.*num\.partitions"):
        settings_of(KOHORT_NUM_PARTITION="5")


def test_a_line_that_is_no_setting_is_refused_with_its_place(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=2\nnonsense\n")
    with pytest.raises(ConfigError, match=r"server\.properties:2.*name=value"):
        settings_of(f"--config={file}")


def test_a_bad_value_is_refused_with_what_is_allowed() -> None:
    with pytest.raises(ConfigError, match="fsync"):
        settings_of("--durability", "maybe")
    with pytest.raises(ConfigError, match="port of 0 to 65535"):
        settings_of("--port", "99999")


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        settings_of(f"--config={tmp_path / 'none'}")


def test_the_settings_page_lists_each_setting_with_its_default() -> None:
    page = settings_page()
    assert "num.partitions=1\n" in page
    assert "durability=fsync\n" in page


def test_the_flags_of_consumer_groups_are_settings_by_another_name() -> None:
    settings = settings_of("--consumer-session-timeout-ms=20000", "--consumer-assignors", "range,uniform")
    assert settings.group_consumer_session_timeout_ms == 20_000
    assert settings.group_consumer_assignors == ("range", "uniform")


def test_the_new_protocol_is_on_unless_it_is_turned_off() -> None:
    assert settings_of().group_coordinator_rebalance_protocols == ("classic", "consumer")
    assert settings_of("--enable-new-protocol").group_coordinator_rebalance_protocols == ("classic", "consumer")
    assert settings_of("--no-enable-new-protocol").group_coordinator_rebalance_protocols == ("classic",)
