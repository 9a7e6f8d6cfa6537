"""The broker as a whole: what it keeps over a restart, and how the data path follows the catalog."""

import pytest

from kohort.carrier.local import LocalCarrier
from kohort.model.commands.catalog import (
    AlterConfigs,
    ConfigChange,
    ConfigOperation,
    CreatePartitions,
    DeleteTopics,
    DescribeCluster,
    Metadata,
    NewPartitions,
    Resource,
    ResourceChanges,
    ResourceType,
    TopicQuery,
)
from kohort.model.commands.data import DescribeLogDirs, Fetch, PartitionFetch, TopicFetch
from kohort.model.errors import ErrorCode, ProtocolError
from kohort.model.ids import DEFAULT_ORG, OrgId
from kohort.model.settings import BrokerSettings
from kohort.store.log import LogConfig
from tests.broker.broker_in_memory import BrokerInMemory, batch_of, fetch, fetched, produce, produced, values_of


@pytest.fixture
def broker() -> BrokerInMemory:
    return BrokerInMemory()


def test_what_was_produced_is_fetched(broker: BrokerInMemory) -> None:
    broker.create("orders")
    assert broker.produce("orders", "a", "b").base_offset == 0
    assert broker.produce("orders", "c").base_offset == 2
    answer = fetched(broker.ask(fetch({("orders", 0): 0})))["orders", 0]
    assert values_of(answer) == ["a", "b", "c"]
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (3, 3, 0)


def test_topics_records_and_the_cluster_id_outlive_a_restart(broker: BrokerInMemory) -> None:
    broker.create("orders", 2)
    broker.produce("orders", "a", partition=1)
    cluster_id = broker.broker.cluster_id
    broker.restart()
    assert broker.broker.cluster_id == cluster_id
    assert len(cluster_id) == 22
    assert values_of(fetched(broker.ask(fetch({("orders", 1): 0})))["orders", 1]) == ["a"]
    assert broker.produce("orders", "b", partition=1).base_offset == 1


def test_a_producer_is_remembered_over_a_restart(broker: BrokerInMemory) -> None:
    broker.create("orders")
    batch = batch_of(["a"], broker.now_ms(), producer_id=7, producer_epoch=0, base_sequence=0)
    assert produced(broker.ask(produce("orders", batch))).base_offset == 0
    broker.restart()
    assert produced(broker.ask(produce("orders", batch))).base_offset == 0
    assert fetched(broker.ask(fetch({("orders", 0): 1})))["orders", 0].high_watermark == 1


def test_a_silent_producer_is_forgotten_after_its_time() -> None:
    broker = BrokerInMemory(settings=BrokerSettings(producer_id_expiration_ms=120_000))
    broker.create("orders")
    gap = batch_of(["c"], broker.now_ms(), producer_id=7, producer_epoch=0, base_sequence=5)
    broker.ask(produce("orders", batch_of(["a"], broker.now_ms(), producer_id=7, producer_epoch=0, base_sequence=0)))
    assert produced(broker.ask(produce("orders", gap))).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    broker.advance(181_000)
    assert produced(broker.ask(produce("orders", gap))).error_code == 0


def test_a_topic_is_found_by_its_id_and_by_its_name(broker: BrokerInMemory) -> None:
    topic_id = broker.create("orders")
    broker.produce("orders", "a")
    by_id = Fetch((TopicFetch("", topic_id, (PartitionFetch(0, 0, 1000),)),), 0, 1, 1000, by_topic_id=True)
    (topic,) = broker.ask(by_id).responses
    assert topic.topic_id == topic_id
    assert values_of(topic.partitions[0]) == ["a"]


def test_two_orgs_use_the_same_name_and_never_meet(broker: BrokerInMemory) -> None:
    other = OrgId(5)
    broker.create("orders")
    broker.create("orders", org_id=other)
    broker.produce("orders", "ours")
    broker.produce("orders", "theirs", org_id=other)
    assert values_of(fetched(broker.ask(fetch({("orders", 0): 0})))["orders", 0]) == ["ours"]
    assert values_of(fetched(broker.ask(fetch({("orders", 0): 0}), other))["orders", 0]) == ["theirs"]
    (described,) = broker.ask(DescribeLogDirs(None), other).results
    assert [topic.name for topic in described.topics] == ["orders"]


def test_a_topic_made_by_asking_for_it_can_be_produced_to_at_once(broker: BrokerInMemory) -> None:
    first = broker.ask(Metadata((TopicQuery("orders"),)))
    assert [topic.name for topic in first.topics] == ["orders"]
    assert broker.produce("orders", "a").error_code == 0


def test_a_topic_that_grows_has_its_new_partitions(broker: BrokerInMemory) -> None:
    broker.create("orders")
    assert broker.produce("orders", "a", partition=1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.ask(CreatePartitions((NewPartitions("orders", 3),)))
    assert broker.produce("orders", "a", partition=2).error_code == 0


def test_a_deleted_topic_is_gone_and_its_namesake_begins_anew(broker: BrokerInMemory) -> None:
    broker.create("orders")
    broker.produce("orders", "old")
    broker.ask(DeleteTopics((TopicQuery("orders"),)))
    assert broker.produce("orders", "a").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    broker.create("orders")
    assert broker.produce("orders", "new").base_offset == 0
    assert [log.topic for log in broker.store.logs()].count("orders") == 1
    broker.restart()
    assert values_of(fetched(broker.ask(fetch({("orders", 0): 0})))["orders", 0]) == ["new"]


def test_a_fetch_that_waits_hears_of_the_end_of_its_topic(broker: BrokerInMemory) -> None:
    broker.create("orders")
    waiting = broker.send(fetch({("orders", 0): 0}, max_wait_ms=60_000))
    broker.ask(DeleteTopics((TopicQuery("orders"),)))
    broker.turn()
    assert fetched(waiting.answer)["orders", 0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_log_that_no_topic_claims_is_deleted_at_the_start(broker: BrokerInMemory) -> None:
    broker.create("orders")
    log_id = next(log for log in broker.store.logs() if log.topic == "orders")
    orphan = log_id._replace(topic="left behind")
    broker.stop()
    broker.store.open()
    broker.store.log(orphan, LogConfig())
    broker.store.close()
    broker.start()
    assert orphan not in broker.store.logs()
    assert log_id in broker.store.logs()


def test_a_topic_keeps_to_its_changed_settings_at_once(broker: BrokerInMemory) -> None:
    broker.create("orders")
    _alter(broker, ResourceType.TOPIC, "orders", "max.message.bytes", "100")
    assert broker.produce("orders", "x" * 200).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_topic_keeps_to_the_changed_settings_of_its_broker_at_once(broker: BrokerInMemory) -> None:
    broker.create("orders")
    broker.create("invoices", max_message_bytes="1000")
    _alter(broker, ResourceType.BROKER, "1", "message.max.bytes", "100")
    assert broker.produce("orders", "x" * 200).error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert broker.produce("invoices", "x" * 200).error_code == 0
    broker.restart()
    assert broker.produce("orders", "x" * 200).error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_a_broker_with_an_older_claim_on_the_store_may_not_start(broker: BrokerInMemory) -> None:
    stale = broker.make_broker(store_epoch=0)
    with pytest.raises(ProtocolError) as refusal:
        broker.loop.run_until_complete(stale.start())
    assert refusal.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_a_carrier_of_the_same_process_passes_commands_as_they_are(broker: BrokerInMemory) -> None:
    answers: list[object] = []
    LocalCarrier(broker.broker.handle).send(DEFAULT_ORG, DescribeCluster(), answers.append)
    assert len(answers) == 1


def _alter(broker: BrokerInMemory, resource_type: ResourceType, name: str, setting: str, value: str) -> None:
    change = ConfigChange(setting, ConfigOperation.SET, value)
    answer = broker.ask(AlterConfigs((ResourceChanges(Resource(resource_type, name), (change,)),)))
    assert answer.resources[0].error_code == 0, answer.resources[0].error_message
