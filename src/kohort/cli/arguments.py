"""The command line of `kohort`: what may be typed, and the settings that come of it.

Decides which of flags, environment, file and defaults counts: in this order. Starts nothing.

Next hop: server.py, which runs what was asked.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from kohort import __version__
from kohort.model.setting import ConfigError
from kohort.model.settings import BROKER_SETTINGS, BrokerSettings, parse_listener, parse_settings

ENVIRONMENT_PREFIX: Final = "KOHORT_"

_FLAGS: Final = {
    "data_dir": "log.dirs",
    "node_id": "node.id",
    "durability": "durability",
    "consumer_session_timeout_ms": "group.consumer.session.timeout.ms",
    "consumer_heartbeat_interval_ms": "group.consumer.heartbeat.interval.ms",
    "consumer_assignors": "group.consumer.assignors",
    "consumer_max_group_size": "group.consumer.max.size",
    "consumer_min_session_timeout_ms": "group.consumer.min.session.timeout.ms",
    "consumer_max_session_timeout_ms": "group.consumer.max.session.timeout.ms",
    "enable_new_protocol": "group.coordinator.rebalance.protocols",
}
"""Flags that are a setting by another name."""

_EPILOG: Final = """\
Every setting can be given in four places; an earlier one counts more:
  a flag                    --set log.retention.ms=3600000
  the environment           KOHORT_LOG_RETENTION_MS=3600000
  a file                    log.retention.ms=3600000   in the file of --config, like Kafka's server.properties
  its default               see kohort serve --settings

Examples:
  kohort serve                                      127.0.0.1:9092, data in ./kohort-data
  kohort serve --port 0 --data-dir /tmp/try         any free port; the log says which
  kohort serve --durability os                      answer before the disk has it: faster, lost in a power cut
"""


def parse_command_line(arguments: Sequence[str]) -> argparse.Namespace:
    """What was typed. argparse itself ends the process for --help and for what it cannot read."""
    parser = argparse.ArgumentParser(
        prog="kohort", description="A Kafka-compatible broker that you pip install.", allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"kohort {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    serve = commands.add_parser(
        "serve",
        help="start a broker",
        description="Starts a broker.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    _add_serve_arguments(serve)
    return parser.parse_args(arguments)


def _add_serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="the address to listen on (127.0.0.1)")
    parser.add_argument("--port", help="the port to listen on, 0 for any free one (9092)")
    parser.add_argument("--advertised-host", help="the host that clients are told to connect to (as --host)")
    parser.add_argument("--advertised-port", help="the port that clients are told to connect to (as --port)")
    parser.add_argument("--data-dir", metavar="DIR", help="where everything is kept (./kohort-data)")
    parser.add_argument("--node-id", help="the id of this broker (1)")
    parser.add_argument(
        "--durability",
        help="a write is acknowledged when: fsync, the disk has it; os, the operating system has it (fsync)",
    )
    _add_group_arguments(parser)
    parser.add_argument("--config", metavar="FILE", type=Path, help="a file of settings, a line each: name=value")
    parser.add_argument(
        "--set", metavar="NAME=VALUE", action="append", default=[], dest="settings", help="any setting by its name"
    )
    parser.add_argument("--settings", action="store_true", dest="list_settings", help="list all settings and stop")
    parser.add_argument("--log-level", choices=["debug", "info", "warning", "error"], default="info")


def _add_group_arguments(parser: argparse.ArgumentParser) -> None:
    groups = parser.add_argument_group("consumer groups of the new protocol, KIP-848")
    groups.add_argument("--consumer-session-timeout-ms", help="how long a member may be silent (45000)")
    groups.add_argument("--consumer-heartbeat-interval-ms", help="how often members send heartbeats (1000)")
    groups.add_argument("--consumer-assignors", metavar="NAMES", help="the first is the default (uniform,range)")
    groups.add_argument("--consumer-max-group-size", help="how many members a group may have (2147483647)")
    groups.add_argument("--consumer-min-session-timeout-ms", help="the least that a group may be given (10000)")
    groups.add_argument("--consumer-max-session-timeout-ms", help="the most that a group may be given (300000)")
    protocol = groups.add_mutually_exclusive_group()
    protocol.add_argument(
        "--enable-new-protocol",
        action="store_const",
        const="classic,consumer",
        help="serve groups of this protocol beside classic ones (the default)",
    )
    protocol.add_argument(
        "--no-enable-new-protocol",
        action="store_const",
        const="classic",
        dest="enable_new_protocol",
        help="serve classic groups only",
    )


def broker_settings(typed: argparse.Namespace, environment: Mapping[str, str]) -> BrokerSettings:
    """The settings that file, environment and flags give together; ConfigError says what is wrong and where."""
    texts: dict[str, str] = {}
    if typed.config is not None:
        texts.update(_from_file(typed.config))
    texts.update(_from_environment(environment))
    texts.update(_from_flags(typed, texts))
    return parse_settings(texts)


def _from_file(path: Path) -> dict[str, str]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The file {path} cannot be read: {error}") from error
    texts: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if not stripped or stripped[0] in "#!":
            continue
        texts.update([_name_and_value(stripped, f"{path}:{number}")])
    return texts


def _from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name.removeprefix(ENVIRONMENT_PREFIX).lower().replace("_", "."): text
        for name, text in environment.items()
        if name.startswith(ENVIRONMENT_PREFIX)
    }


def _from_flags(typed: argparse.Namespace, given: Mapping[str, str]) -> dict[str, str]:
    texts = dict(_name_and_value(pair, "--set") for pair in typed.settings)
    texts.update({name: getattr(typed, flag) for flag, name in _FLAGS.items() if getattr(typed, flag) is not None})
    for name, host, port in (
        ("listeners", typed.host, typed.port),
        ("advertised.listeners", typed.advertised_host, typed.advertised_port),
    ):
        if host is not None or port is not None:
            before = parse_listener(texts.get(name) or given.get(name) or BROKER_SETTINGS["listeners"].default[0])
            host = before.host if host is None else host
            texts[name] = f"PLAINTEXT://{f'[{host}]' if ':' in host else host}:{before.port if port is None else port}"
    return texts


def _name_and_value(text: str, place: str) -> tuple[str, str]:
    name, separator, value = text.partition("=")
    if not separator:
        raise ConfigError(f"{place}: a setting is written name=value, but this is: {text}")
    return name.strip(), value.strip()


def settings_page() -> str:
    """All settings for people: name, default, what it is."""
    rows = []
    for name, setting in sorted(BROKER_SETTINGS.items()):
        default = ",".join(setting.default) if isinstance(setting.default, tuple) else setting.default
        rows.append(f"{name}={'' if default is None else default}\n    {setting.documentation}")
    return "\n".join(rows)
