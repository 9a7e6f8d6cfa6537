"""What a version means where versions differ: the command that a request becomes, and the answer its client gets."""

from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kohort.model.commands import catalog, data
from kohort.model.errors import ErrorCode
from kohort.model.ids import NO_TOPIC_ID
from tests.gateway.client import Gateway, frame
from tests.gateway.scripted_carrier import ScriptedCarrier

METADATA, LIST_OFFSETS, FIND_COORDINATOR, DESCRIBE_CLUSTER, ALTER_CONFIGS, INCREMENTAL = 3, 2, 10, 60, 33, 44
FETCH, PRODUCE = 1, 0
SOME_ID = UUID(int=5)


def ask(api_key: int, version: int, **fields: Any) -> tuple[list[object], Any]:
    """The commands that a request became, and its answer as kio decodes it."""
    carrier = ScriptedCarrier()
    client = Gateway(carrier).connect()
    client.send(frame(api_key, version, 1, SimpleNamespace(**fields)))
    return carrier.commands, client.answer(api_key, version)


def metadata(version: int, topics: Any, **fields: Any) -> tuple[list[object], Any]:
    return ask(
        METADATA,
        version,
        topics=topics,
        allow_auto_topic_creation=fields.get("auto", True),
        include_cluster_authorized_operations=fields.get("operations", False),
        include_topic_authorized_operations=fields.get("operations", False),
    )


@pytest.mark.parametrize(("version", "topics"), [(0, ()), (1, None), (12, None)])
def test_metadata_of_every_topic(version: int, topics: Any) -> None:
    commands, _ = metadata(version, topics)
    assert commands == [catalog.Metadata(None, allow_auto_topic_creation=True)]


def test_metadata_of_no_topic_is_asked_for_with_an_empty_list_since_version_1() -> None:
    commands, _ = metadata(1, ())
    assert commands == [catalog.Metadata((), allow_auto_topic_creation=True)]


@pytest.mark.parametrize("name", [None, "", "orders"])
def test_metadata_by_id_since_version_12_whatever_name_stands_beside_it(name: str | None) -> None:
    commands, _ = metadata(12, (SimpleNamespace(topic_id=SOME_ID, name=name),), auto=False)
    assert commands == [catalog.Metadata((catalog.TopicQuery(None, SOME_ID),), allow_auto_topic_creation=False)]


@pytest.mark.parametrize(("topic_id", "name"), [(SOME_ID, "orders"), (None, None)])
def test_metadata_by_id_before_version_12_is_an_invalid_request(topic_id: UUID | None, name: str | None) -> None:
    commands, answer = metadata(10, (SimpleNamespace(topic_id=topic_id, name=name),))
    assert commands == []
    assert [topic.error_code for topic in answer.topics] == [ErrorCode.INVALID_REQUEST]


def test_authorized_operations_are_kafkas_of_a_cluster_without_acls_and_only_told_when_asked() -> None:
    _, answer = metadata(10, None, operations=True)
    assert answer.cluster_authorized_operations == 8096
    assert answer.topics[0].topic_authorized_operations == 3576
    _, answer = metadata(10, None)
    assert answer.cluster_authorized_operations == answer.topics[0].topic_authorized_operations == -(1 << 31)


def list_offsets(version: int, *timestamps: int) -> tuple[list[object], Any]:
    partitions = tuple(
        SimpleNamespace(partition_index=index, timestamp=timestamp, current_leader_epoch=-1)
        for index, timestamp in enumerate(timestamps)
    )
    topics = (SimpleNamespace(name="orders", partitions=partitions),)
    return ask(LIST_OFFSETS, version, replica_id=-1, isolation_level=1, topics=topics, timeout_ms=1000)


@pytest.mark.parametrize(("timestamp", "since"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11)])
def test_a_meaning_of_list_offsets_is_unsupported_in_versions_before_it_was_made(timestamp: int, since: int) -> None:
    commands, answer = list_offsets(since - 1, -1, timestamp)
    assert commands == [
        data.ListOffsets((data.TopicTimes("orders", (data.PartitionTime(0, -1),)),), read_committed=True)
    ]
    found = {part.partition_index: part.error_code for topic in answer.topics for part in topic.partitions}
    assert found == {0: ErrorCode.NONE, 1: ErrorCode.UNSUPPORTED_VERSION}
    _, answer = list_offsets(since, -1, timestamp)
    assert [part.error_code for part in answer.topics[0].partitions] == [ErrorCode.NONE, ErrorCode.NONE]


@pytest.mark.parametrize("version", range(7))
def test_the_coordinator_is_the_gateway_s_own_address(version: int) -> None:
    commands, answer = ask(FIND_COORDINATOR, version, key="group", key_type=0, coordinator_keys=("group",))
    found = answer.coordinators[0] if version >= 4 else answer
    assert (found.error_code, found.node_id, found.host, found.port) == (0, 1, "kohort.example", 9092)
    assert commands == []


@pytest.mark.parametrize("key_type", [2, 9])
@pytest.mark.parametrize("version", [3, 6])
def test_there_are_coordinators_of_groups_and_transactions_only(version: int, key_type: int) -> None:
    _, answer = ask(FIND_COORDINATOR, version, key="x", key_type=key_type, coordinator_keys=("x",))
    found = answer.coordinators[0] if version >= 4 else answer
    assert (found.error_code, found.node_id) == (ErrorCode.INVALID_REQUEST, -1)


@pytest.mark.parametrize(
    ("endpoint_type", "expected"),
    [(1, ErrorCode.NONE), (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)],
)
def test_a_cluster_is_described_by_its_brokers_and_not_by_controllers(endpoint_type: int, expected: ErrorCode) -> None:
    _, answer = ask(
        DESCRIBE_CLUSTER,
        2,
        include_cluster_authorized_operations=True,
        endpoint_type=endpoint_type,
        include_fenced_brokers=True,
    )
    assert answer.error_code == expected
    assert bool(answer.brokers) == (expected == ErrorCode.NONE)


def test_the_old_alter_configs_replaces_and_the_incremental_one_does_not() -> None:
    config = SimpleNamespace(name="retention.ms", value="1", config_operation=3)
    resources = (SimpleNamespace(resource_type=2, resource_name="orders", configs=(config,)),)
    (replacing,), _ = ask(ALTER_CONFIGS, 2, resources=resources, validate_only=True)
    (changing,), _ = ask(INCREMENTAL, 1, resources=resources, validate_only=False)
    resource = catalog.Resource(2, "orders")
    assert replacing == catalog.AlterConfigs(
        (catalog.ResourceChanges(resource, (catalog.ConfigChange("retention.ms", 0, "1"),)),), True, replace=True
    )
    assert changing == catalog.AlterConfigs(
        (catalog.ResourceChanges(resource, (catalog.ConfigChange("retention.ms", 3, "1"),)),)
    )


def fetch(version: int) -> data.Fetch:
    partition = SimpleNamespace(
        partition=3,
        fetch_offset=40,
        partition_max_bytes=1000,
        current_leader_epoch=6,
        last_fetched_epoch=5,
        log_start_offset=-1,
        replica_directory_id=None,
        high_watermark=(1 << 63) - 1,
    )
    (command,), _ = ask(
        FETCH,
        version,
        cluster_id=None,
        replica_id=-1,
        replica_state=SimpleNamespace(replica_id=-1, replica_epoch=-1),
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=2000,
        isolation_level=1,
        session_id=8,
        session_epoch=2,
        topics=(SimpleNamespace(topic="orders", topic_id=SOME_ID, partitions=(partition,)),),
        forgotten_topics_data=(SimpleNamespace(topic="old", topic_id=SOME_ID, partitions=(1, 2)),),
        rack_id="",
    )
    assert isinstance(command, data.Fetch)
    return command


def test_fetch_says_what_its_version_can_say() -> None:
    by_name = data.TopicFetch("orders", NO_TOPIC_ID, (data.PartitionFetch(3, 40, 1000),))
    assert fetch(4) == data.Fetch((by_name,), 500, 1, 2000, read_committed=True)
    assert fetch(7)[5:8] == (8, 2, (data.ForgottenTopic("old", NO_TOPIC_ID, (1, 2)),))
    assert fetch(9).topics[0].partitions[0].current_leader_epoch == 6
    assert fetch(12).topics[0].partitions[0].last_fetched_epoch == 5
    by_id = fetch(13)
    assert by_id.by_topic_id
    assert (by_id.topics[0].topic, by_id.topics[0].topic_id) == ("", SOME_ID)
    assert by_id.forgotten == (data.ForgottenTopic("", SOME_ID, (1, 2)),)


@pytest.mark.parametrize("version", [3, 6, 7, 9, 12, 13])
def test_produce_says_what_its_version_can_say(version: int) -> None:
    partition = SimpleNamespace(index=2, records=b"bytes")
    topic = SimpleNamespace(name="orders", topic_id=SOME_ID, partition_data=(partition,))
    (command,), _ = ask(PRODUCE, version, transactional_id="tx", acks=-1, timeout_ms=1500, topic_data=(topic,))
    name, topic_id = ("", SOME_ID) if version >= 13 else ("orders", NO_TOPIC_ID)
    assert command == data.Produce(
        (data.TopicProduce(name, topic_id, (data.PartitionProduce(2, b"bytes"),)),),
        acks=-1,
        timeout_ms=1500,
        transactional_id="tx",
        allows_zstd=version >= 7,
    )


def test_described_partitions_have_no_null_lists_which_the_java_admin_client_does_not_survive() -> None:
    _, answer = ask(75, 0, topics=(SimpleNamespace(name="orders"),), response_partition_limit=2000, cursor=None)
    (partition,) = answer.topics[0].partitions
    assert (partition.eligible_leader_replicas, partition.last_known_elr) == ((), ())
