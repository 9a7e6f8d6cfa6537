"""Kafka's own command line tools at consumer groups of both protocols: what they show, what they change."""

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic
from tests.compat.group_members import (
    LIBRDKAFKA,
    Kind,
    StartMember,
    each_of,
    group_name,
    numbers,
    produce_evenly,
    wait_until_read,
)
from tests.compat.kafka_tools import KafkaTools, ToolHost
from tests.compat.members.member import Member

pytestmark = [pytest.mark.kafka, pytest.mark.usefixtures("consumer_groups")]

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
FORMATTERS = "org.apache.kafka.tools.consumer"
HOST_AND_CLIENT = ["/127.0.0.1", "rdkafka"]

each_protocol = each_of(LIBRDKAFKA[0], LIBRDKAFKA[3])


class Groups:
    """ConsumerGroupCommand: each answer is its lines but for the heading, a line its words."""

    def __init__(self, tools: ToolHost, bootstrap: str) -> None:
        self._tools = tools
        self._bootstrap = bootstrap

    def ask(self, *arguments: str) -> list[list[str]]:
        printed = self._run(*arguments)
        assert "Error" not in printed, printed
        lines = [line.split() for line in printed.splitlines() if line.strip()]
        return sorted(line for line in lines if line[0] not in ("GROUP", "TOPIC"))

    def refused(self, *arguments: str) -> str:
        printed = self._run(*arguments)
        assert "Error" in printed, printed
        return printed

    def _run(self, *arguments: str) -> str:
        """It says what failed, and exits with 0 nevertheless."""
        _, printed = self._tools.run(GROUPS, "--bootstrap-server", self._bootstrap, *arguments)
        return printed


@pytest.fixture(scope="module")
def tools() -> Iterator[ToolHost]:
    host = ToolHost()
    yield host
    host.close()


@pytest.fixture
def groups(tools: ToolHost, broker: BrokerProcess) -> Groups:
    return Groups(tools, broker.bootstrap)


@pytest.fixture
def topic(broker: BrokerProcess, make_topic: MakeTopic) -> str:
    """Two partitions of ten records each."""
    name = make_topic(2)
    produce_evenly(broker, name, 2, numbers(0, 20))
    return name


def live_member(broker: BrokerProcess, start_member: StartMember, kind: Kind, group: str, topic: str) -> Member:
    """A member that owns both partitions, and committed one."""
    member = start_member(kind, broker, group, [topic], instance_id="i")
    wait_until_read([member], 20)
    member.commit((topic, 0), 7, "")
    return member


def test_groups_are_listed_by_state_and_type(
    groups: Groups, broker: BrokerProcess, topic: str, start_member: StartMember
) -> None:
    classic, consumer = group_name(), group_name()
    for kind, group in ((LIBRDKAFKA[0], classic), (LIBRDKAFKA[3], consumer)):
        live_member(broker, start_member, kind, group, topic)

    def listed(*filters: str) -> list[list[str]]:
        return [line for line in groups.ask("--list", *filters) if line[0] in (classic, consumer)]

    assert listed() == sorted([[classic], [consumer]])
    assert listed("--state") == sorted([[classic, "Stable"], [consumer, "Stable"]])
    assert listed("--state", "empty") == []
    assert listed("--type", "consumer") == [[consumer, "Consumer"]]
    assert listed("--state", "stable", "--type", "classic") == [[classic, "Classic", "Stable"]]


@each_protocol
def test_a_live_group_is_described_and_not_changed(
    groups: Groups, broker: BrokerProcess, topic: str, start_member: StartMember, kind: Kind
) -> None:
    group = group_name()
    live_member(broker, start_member, kind, group, topic)
    describe = ["--describe", "--group", group]

    def described(*what: str) -> list[list[str]]:
        return groups.ask(*describe, *what)

    is_consumer = kind.strategy == "consumer"
    strategy = "uniform" if is_consumer else "range"
    epoch, owned = ("2" if is_consumer else "-"), f"{topic}:0,1"

    offsets = described("--offsets")
    member_id = offsets[0][6]
    who = [member_id, *HOST_AND_CLIENT]
    assert offsets == [[group, topic, "0", "7", "10", "3", *who], [group, topic, "1", "-", "10", "-", *who]]
    assert [line[3] for line in described("--offsets", "--verbose")] == ["-", "-"]  # no leader epoch was committed
    ((*known, current_epoch, current, target_epoch, target),) = _padded(described("--members", "--verbose"), 10)
    assert known == [group, member_id, "i", *HOST_AND_CLIENT, "2"]
    assert (current, target) == (owned, owned if is_consumer else "-")
    assert (current_epoch == target_epoch == "-") is not is_consumer
    (state,) = described("--state")
    assert state == [group, broker.bootstrap, "(1)", strategy, "Stable", "1"]
    ((*_, group_epoch, target_group_epoch, members),) = described("--state", "--verbose")
    assert group_epoch == target_group_epoch == (current_epoch if is_consumer else epoch)
    assert members == "1"

    assert "GroupNotEmptyException" in groups.refused("--delete", "--group", group)
    assert "current state is Stable" in groups.refused(
        "--reset-offsets", "--group", group, "--topic", topic, "--to-earliest", "--execute"
    )
    assert "GroupSubscribedToTopicException" in groups.refused("--delete-offsets", "--group", group, "--topic", topic)
    assert described("--offsets") == offsets


def _padded(lines: list[list[str]], width: int) -> list[list[str]]:
    """A classic member has no target assignment, and the tool prints nothing for it."""
    return [line + ["-"] * (width - len(line)) for line in lines]


@each_protocol
def test_offsets_of_an_empty_group_are_reset_and_deleted(
    groups: Groups, broker: BrokerProcess, topic: str, start_member: StartMember, kind: Kind
) -> None:
    group = group_name()
    member = start_member(kind, broker, group, [topic])
    wait_until_read([member], 20)
    member.close()

    def reset(scope: str, *how: str) -> list[list[str]]:
        return groups.ask("--reset-offsets", "--group", group, "--topic", scope, *how)

    def offsets() -> list[list[str]]:
        return [line[2:6] for line in groups.ask("--describe", "--group", group)]

    assert offsets() == [["0", "10", "10", "0"], ["1", "10", "10", "0"]]
    assert reset(topic, "--to-earliest", "--dry-run") == [[group, topic, "0", "0"], [group, topic, "1", "0"]]
    assert offsets() == [["0", "10", "10", "0"], ["1", "10", "10", "0"]]
    assert reset(f"{topic}:0", "--to-offset", "3", "--execute") == [[group, topic, "0", "3"]]
    assert reset(topic, "--shift-by", "-2", "--execute") == [[group, topic, "0", "1"], [group, topic, "1", "8"]]
    assert offsets() == [["0", "1", "10", "9"], ["1", "8", "10", "2"]]
    assert reset(topic, "--to-latest", "--execute") == [[group, topic, "0", "10"], [group, topic, "1", "10"]]
    assert [topic, "0", "Successful"] in groups.ask("--delete-offsets", "--group", group, "--topic", f"{topic}:0")
    assert offsets() == [["1", "10", "10", "0"]]
    assert "was successful" in " ".join(groups.ask("--delete", "--group", group)[0])
    assert "GroupIdNotFoundException" in groups.refused("--delete", "--group", group)
    assert "GroupIdNotFoundException" in groups.refused("--describe", "--group", group)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_verifiable_consumer_is_given_partitions_reads_and_commits(
    kafka_tools: KafkaTools, topic: str, protocol: str
) -> None:
    printed = kafka_tools.run(
        "org.apache.kafka.tools.VerifiableConsumer",
        *("--topic", topic, "--group-id", group_name(), "--group-protocol", protocol, "--max-messages", "20"),
    )
    events = [json.loads(line) for line in printed.splitlines()]

    def happened(name: str) -> list[dict[str, Any]]:
        return [event for event in events if event["name"] == name]

    (assigned,) = happened("partitions_assigned")
    assert sorted(each["partition"] for each in assigned["partitions"]) == [0, 1]
    assert sum(event["count"] for event in happened("records_consumed")) == 20
    assert all(event["success"] for event in happened("offsets_committed"))
    last = {each["partition"]: each["offset"] for event in happened("offsets_committed") for each in event["offsets"]}
    assert last == {0: 10, 1: 10}
    (revoked,) = happened("partitions_revoked")
    assert revoked["partitions"] == assigned["partitions"]


Record = dict[str, Any]


def last_of_each_group(
    kafka_tools: KafkaTools, topic: str, group_of: Callable[[Record], str], wanted: set[str], *options: str
) -> dict[str, Record]:
    """The last record of each group in an internal topic, as the console consumer prints it.

    The consumer stops after a time without records. On a busy machine that may be before its first: it is asked again.
    """
    for patience_ms in (3000, 10_000, 30_000):
        arguments = ["--topic", topic, "--from-beginning", "--timeout-ms", str(patience_ms), *options]
        printed = kafka_tools.run(CONSOLE_CONSUMER, *arguments)
        records = {group_of(record): record for record in _decoded(printed)}
        if wanted <= records.keys():
            return records
    raise AssertionError(f"nothing is kept of {wanted - records.keys()}")


def _decoded(printed: str) -> Iterator[Record]:
    """JSON with or without line breaks between."""
    decoder, position, end = json.JSONDecoder(), 0, len(printed.rstrip())
    while position < end:
        record, position = decoder.raw_decode(printed, position + (printed[position] == "\n"))
        yield record


@pytest.mark.slow
def test_kafkas_formatters_read_what_is_kept_of_commits_and_groups(
    kafka_tools: KafkaTools, broker: BrokerProcess, topic: str, start_member: StartMember
) -> None:
    classic, consumer, begun_ms = group_name(), group_name(), time.time() * 1000
    for kind, group in ((LIBRDKAFKA[0], classic), (LIBRDKAFKA[3], consumer)):
        live_member(broker, start_member, kind, group, topic)

    def read(formatter: str, *wanted: str) -> dict[str, Record]:
        options = ["--formatter", f"{FORMATTERS}.{formatter}"]

        def group_of(record: Record) -> str:
            return str(record["key"]["data"]["group"])

        return last_of_each_group(kafka_tools, "__consumer_offsets", group_of, set(wanted), *options)

    commits = read("OffsetsMessageFormatter", classic, consumer)
    for group in (classic, consumer):
        assert commits[group]["key"] == {"type": 1, "data": {"group": group, "topic": topic, "partition": 0}}
        assert commits[group]["value"]["version"] == 4
        commit = commits[group]["value"]["data"]
        assert (commit["offset"], commit["leaderEpoch"]) == (7, -1)
        assert begun_ms - 1 <= commit["commitTimestamp"] <= time.time() * 1000

    metadata = read("GroupMetadataMessageFormatter", classic)
    assert consumer not in metadata
    assert metadata[classic]["key"] == {"type": 2, "data": {"group": classic}}
    assert metadata[classic]["value"]["version"] == 3
    value = metadata[classic]["value"]["data"]
    (member,) = value.pop("members")
    assert value.pop("currentStateTimestamp") >= begun_ms - 1
    leader = member["memberId"]
    assert value == {"protocolType": "consumer", "generation": 1, "protocol": "range", "leader": leader}
    known = (member["groupInstanceId"], member["clientId"], member["clientHost"], member["sessionTimeout"])
    assert known == ("i", "rdkafka", "/127.0.0.1", 45000)


def test_the_flight_recorder_tells_of_each_rebalance(
    target: str, kafka_tools: KafkaTools, broker: BrokerProcess, topic: str, start_member: StartMember
) -> None:
    if target == "kafka":
        pytest.skip("Kafka keeps no such record")
    groups = {"classic": group_name(), "consumer": group_name()}
    for kind, group in ((LIBRDKAFKA[0], groups["classic"]), (LIBRDKAFKA[3], groups["consumer"])):
        wait_until_read([start_member(kind, broker, group, [topic])], 20)

    def group_of(event: Record) -> str:
        return str(event["group_id"])

    events = last_of_each_group(kafka_tools, "__group_events", group_of, set(groups.values()))

    for protocol, group in groups.items():
        event = events[group]
        assert (event["event"], event["protocol"]) == ("GroupRebalanced", protocol)
        assert event["identity"].startswith("cgp_")
        (joined,) = event["joined"]
        moves = [(each["topic"], each["partition"], each["from_member"], each["to_member"]) for each in event["moves"]]
        assert moves == [(topic, 0, None, joined), (topic, 1, None, joined)]
        assert event["to_epoch"] > event["from_epoch"]
        assert event["took_ms"] == event["ended_ms"] - event["began_ms"]
