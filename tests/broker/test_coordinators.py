"""The coordinators: where groups live, the first use of an org, loading, losing connections, and stopping."""

import asyncio
from typing import Any

import pytest

from kohort.broker.coordinators import OFFSETS_TOPIC, partition_of_group
from kohort.broker.shard import Shard
from kohort.model.commands.catalog import (
    AlterConfigs,
    ConfigChange,
    ConfigOperation,
    DeleteTopics,
    Metadata,
    Resource,
    ResourceChanges,
    ResourceType,
    TopicQuery,
)
from kohort.model.commands.groups import (
    ConnectionLost,
    ConsumerGroupHeartbeat,
    DeleteGroup,
    JoinGroup,
    ListGroups,
    Origin,
    Protocol,
)
from kohort.model.errors import ErrorCode, Refused
from kohort.model.ids import DEFAULT_ORG, OrgId
from kohort.model.settings import BrokerSettings
from tests.broker.broker_in_memory import BrokerInMemory
from tests.machines.groups.committers import codes, commit, fetch, offsets

ELSEWHERE = OrgId(7)


@pytest.fixture
def broker() -> BrokerInMemory:
    broker = BrokerInMemory(settings=BrokerSettings(offsets_topic_num_partitions=5))
    broker.create("orders", 3)
    return broker


def names(broker: BrokerInMemory, org_id: OrgId = DEFAULT_ORG) -> list[str]:
    return sorted(group.group_id for group in broker.ask(ListGroups(), org_id).groups)


@pytest.mark.parametrize(
    ("group_id", "partition"),
    [("", 0), ("g", 3), ("orders-app", 5), ("grüppe", 12), ("𝄞", 44), ("polygenelubricants", 0)],
)
def test_a_group_is_in_the_partition_where_java_puts_it(group_id: str, partition: int) -> None:
    """As Utils.abs(groupId.hashCode()) % 50 says; the last one's hash is the least number there is."""
    assert partition_of_group(group_id, 50) == partition


def test_the_first_command_makes_the_offsets_topic_of_its_org(broker: BrokerInMemory) -> None:
    assert OFFSETS_TOPIC not in [topic.name for topic in broker.ask(Metadata(None)).topics]
    assert broker.ask(fetch("g", {"orders": (0,)})).error_code == 0
    (topic,) = broker.ask(Metadata((TopicQuery(OFFSETS_TOPIC),))).topics
    assert (topic.is_internal, len(topic.partitions)) == (True, 5)
    (missing,) = broker.ask(Metadata((TopicQuery(OFFSETS_TOPIC),), allow_auto_topic_creation=False), ELSEWHERE).topics
    assert missing.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_commands_that_come_while_the_topic_is_made_are_answered_in_time(broker: BrokerInMemory) -> None:
    waiting = [broker.send(commit(f"g{number}", {"orders": {0: number}})) for number in range(20)]
    forgotten = broker.send(commit("forgotten", {"orders": {0: 1}}))
    assert forgotten.pending is not None
    forgotten.pending.forget()
    broker.advance(100)
    assert [codes(sent.answer) for sent in waiting] == [{("orders", 0): 0}] * 20
    assert not forgotten.is_answered
    assert names(broker) == sorted(f"g{number}" for number in range(20))


def test_groups_of_one_name_in_two_orgs_never_meet(broker: BrokerInMemory) -> None:
    broker.create("orders", 1, org_id=ELSEWHERE)
    broker.ask(commit("g", {"orders": {0: 5}}))
    assert names(broker, ELSEWHERE) == []
    broker.ask(commit("g", {"orders": {0: 6}}), ELSEWHERE)
    assert offsets(broker.ask(fetch("g"))) == {("orders", 0): 5}
    assert offsets(broker.ask(fetch("g"), ELSEWHERE)) == {("orders", 0): 6}


def test_groups_and_offsets_outlive_a_restart(broker: BrokerInMemory) -> None:
    for number in range(20):
        broker.ask(commit(f"g{number}", {"orders": {number % 3: number}}))
    before = broker.ask(ListGroups()).groups
    broker.restart()
    broker.advance(10)
    assert sorted(broker.ask(ListGroups()).groups) == sorted(before)
    assert offsets(broker.ask(fetch("g7"))) == {("orders", 1): 7}


def test_as_long_as_groups_are_being_loaded_commands_are_told_to_come_again(
    broker: BrokerInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.ask(commit("g", {"orders": {0: 5}}))
    load, may_load = Shard.load, asyncio.Event()

    async def load_when_allowed(shard: Shard[Any]) -> None:
        await may_load.wait()
        await load(shard)

    broker.stop()
    with monkeypatch.context() as patch:
        broker.broker = broker.make_broker(broker.store.open())
        broker.loop.run_until_complete(broker.broker._catalog.load())
        patch.setattr(Shard, "load", load_when_allowed)
        broker.loop.call_soon(broker.broker._coordinators.start)
        broker.turn()
        for command in (fetch("g"), commit("g", {"orders": {0: 6}}), ListGroups()):
            refused = broker.ask(command)
            assert isinstance(refused, Refused)
            assert refused.error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    may_load.set()
    broker.advance(10)
    assert offsets(broker.ask(fetch("g"))) == {("orders", 0): 5}


def test_groups_that_are_asked_for_are_loaded_first(broker: BrokerInMemory, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(20):
        broker.ask(commit(f"g{number}", {"orders": {0: number}}))
    load, order = Shard.load, list[int]()

    async def load_and_note(shard: Shard[Any]) -> None:
        order.append(shard._log.id.partition)
        await load(shard)

    broker.stop()
    broker.broker = broker.make_broker(broker.store.open())
    broker.loop.run_until_complete(broker.broker._catalog.load())
    monkeypatch.setattr(Shard, "load", load_and_note)
    broker.loop.call_soon(broker.broker._coordinators.start)
    while not order:
        broker.turn()
    refused = broker.send(fetch("g19"))
    broker.advance(10)
    assert refused.answer.error_code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert order[1] == partition_of_group("g19", 5) != 1
    assert sorted(order) == [0, 1, 2, 3, 4]


def test_shards_know_the_topics_there_are_when_a_command_comes(broker: BrokerInMemory) -> None:
    broker.ask(fetch("g"))
    broker.create("bills", 2)
    assert codes(broker.ask(commit("g", {"bills": {1: 5}}))) == {("bills", 1): 0}
    broker.ask(DeleteTopics((TopicQuery("bills"),)))
    assert offsets(broker.ask(fetch("g"))) == {}
    assert codes(broker.ask(commit("g", {"bills": {1: 5}}))) == {("bills", 1): 3}


def test_listing_the_groups_of_an_org_that_has_none_makes_no_topic(broker: BrokerInMemory) -> None:
    assert names(broker) == []
    assert OFFSETS_TOPIC not in [topic.name for topic in broker.ask(Metadata(None)).topics]


def test_a_deleted_offsets_topic_takes_all_groups_with_it_and_is_made_anew(broker: BrokerInMemory) -> None:
    broker.ask(commit("g", {"orders": {0: 5}}))
    broker.ask(DeleteTopics((TopicQuery(OFFSETS_TOPIC),)))
    assert offsets(broker.ask(fetch("g"))) == {}
    assert names(broker) == []


# Connections


def heartbeat(group_id: str, connection_id: int) -> ConsumerGroupHeartbeat:
    return ConsumerGroupHeartbeat(
        group_id,
        f"m{connection_id}",
        0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=("orders",),
        topic_partitions=(),
        origin=Origin("client", "/127.0.0.1", "", connection_id),
    )


def test_only_shards_that_heard_of_a_connection_hear_that_it_is_lost(
    broker: BrokerInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.ask(heartbeat("a", 1))
    broker.ask(heartbeat("a", 2))
    broker.ask(heartbeat("b", 1))
    told: list[tuple[int, int]] = []
    shards = broker.broker._coordinators._orgs[DEFAULT_ORG].shards
    for partition, shard in enumerate(shards):

        def handle(org_id: OrgId, command: Any, answer_to: Any, partition: int = partition) -> None:
            told.append((partition, command.connection_id))

        monkeypatch.setattr(shard, "handle", handle)
    broker.ask(ConnectionLost(1))
    assert sorted(told) == sorted((partition_of_group(group_id, 5), 1) for group_id in ("a", "b"))
    told.clear()
    broker.ask(ConnectionLost(1))
    broker.ask(ConnectionLost(3))
    assert told == []
    broker.ask(ConnectionLost(2))
    assert told == [(partition_of_group("a", 5), 2)]


# What groups are given


def test_a_deleted_group_is_gone_for_good(broker: BrokerInMemory) -> None:
    broker.ask(commit("g", {"orders": {0: 5}}))
    assert broker.ask(DeleteGroup("g")).error_code == 0
    assert broker.ask(DeleteGroup("g")).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    broker.restart()
    broker.advance(10)
    assert names(broker) == []


def test_a_store_that_takes_too_long_is_told_in_time_and_what_it_did_counts(
    broker: BrokerInMemory, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.ask(fetch("g"))
    log = broker.broker._partitions.named(DEFAULT_ORG, OFFSETS_TOPIC, partition_of_group("g", 5)).log
    append, kept_back = log.append, list[Any]()
    monkeypatch.setattr(type(log), "append", lambda log, *arguments: kept_back.append(arguments))
    sent = broker.send(commit("g", {"orders": {0: 5}}))
    broker.advance(4900)
    assert not sent.is_answered
    broker.advance(700)
    assert sent.answer.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    monkeypatch.undo()
    for arguments in kept_back:
        append(*arguments)
    broker.advance(10)
    assert offsets(broker.ask(fetch("g"))) == {("orders", 0): 5}


def test_whoever_waits_for_other_members_or_comes_later_hears_that_the_broker_stops(broker: BrokerInMemory) -> None:
    join = JoinGroup("g", "", "consumer", 10_000, (Protocol("range", b""),), 10_000)
    broker.ask(fetch("g"))
    waiting = broker.send(join)
    assert not waiting.is_answered
    broker.broker.stop_coordinating()
    assert waiting.answer.error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert broker.ask(fetch("g")).error_code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    broker.stop()


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_group_is_led_as_it_was_configured(broker: BrokerInMemory, is_restarted: bool) -> None:
    changes = (ConfigChange("consumer.heartbeat.interval.ms", ConfigOperation.SET, "7000"),)
    broker.ask(heartbeat("other", 2))
    broker.ask(AlterConfigs((ResourceChanges(Resource(ResourceType.GROUP_CONFIG, "g"), changes),)))
    if is_restarted:
        broker.restart()
        broker.advance(10)
    assert broker.ask(heartbeat("g", 1)).heartbeat_interval_ms == 7000
    assert broker.ask(heartbeat("yet another", 3)).heartbeat_interval_ms == 1000
