"""kcat, as Debian ships it (with an older librdkafka of its own): list, produce, consume, query."""

import json
import shutil
import subprocess

import pytest

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed: scripts/setup.sh does it")


def test_the_cluster_is_listed(broker: BrokerProcess, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)

    listed = json.loads(_kcat(broker, "-L", "-J"))

    assert [each["name"] for each in listed["brokers"]] == [broker.bootstrap]
    (partitions,) = [each["partitions"] for each in listed["topics"] if each["topic"] == topic]
    assert [each["partition"] for each in partitions] == [0, 1, 2]
    assert {each["leader"] for each in partitions} == {listed["brokers"][0]["id"]}


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_what_is_piped_in_is_piped_out(broker: BrokerProcess, topic: str, codec: str) -> None:
    lines = "".join(f"key-{number}:value-{number}\n" for number in range(500))

    _kcat(broker, "-P", "-t", topic, "-K:", "-z", codec, stdin=lines)

    assert _kcat(broker, "-C", "-t", topic, "-p", "0", "-o", "beginning", "-e", "-q", "-K:") == lines


def test_consuming_begins_at_the_asked_offset_and_ends_after_the_asked_count(broker: BrokerProcess, topic: str) -> None:
    _kcat(broker, "-P", "-t", topic, stdin="".join(f"{number}\n" for number in range(100)))

    def consumed(offset: str, *more: str) -> list[str]:
        return _kcat(broker, "-C", "-t", topic, "-p", "0", "-o", offset, "-e", "-q", "-f", "%o=%s ", *more).split()

    assert consumed("40", "-c", "3") == ["40=40", "41=41", "42=42"]
    assert consumed("-2") == ["98=98", "99=99"]
    assert consumed("end") == []


def test_headers_and_timestamps_are_shown(broker: BrokerProcess, topic: str) -> None:
    _kcat(broker, "-P", "-t", topic, "-H", "trace=abc", "-H", "span=7", stdin="hello\n")

    shown = _kcat(broker, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", "%h %s %T")

    headers, value, timestamp = shown.split()
    assert (headers, value) == ("trace=abc,span=7", "hello")
    assert int(timestamp) > 1_600_000_000_000


def test_offsets_are_queried_by_time(broker: BrokerProcess, topic: str) -> None:
    _kcat(broker, "-P", "-t", topic, stdin="a\nb\n")

    assert _kcat(broker, "-Q", "-t", f"{topic}:0:1000").split() == [topic, "[0]", "offset", "0"]


def _kcat(broker: BrokerProcess, *arguments: str, stdin: str = "") -> str:
    finished = subprocess.run(
        ["kcat", "-b", broker.bootstrap, *arguments], input=stdin, capture_output=True, text=True, timeout=60
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout
