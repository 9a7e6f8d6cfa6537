"""__consumer_offsets, read by Kafka's own formatters: what lies there is Kafka's, also behind a snapshot."""

import json
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import StartBroker
from tests.compat.group_members import wait_until
from tests.compat.kafka_tools import KafkaTools

PARTITIONS = 100
ROUNDS = 60
"""So many commits that the log was trimmed to a snapshot more than once."""


@pytest.fixture
def broker(start_broker: StartBroker) -> BrokerProcess:
    broker = start_broker({"offsets.topic.num.partitions": "1"})
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_topics([NewTopic("orders", PARTITIONS, 1)]).values():
        made.result()
    return broker


def read(tools: KafkaTools, formatter: str) -> list[dict[str, Any]]:
    printed = tools.run(
        "org.apache.kafka.tools.consumer.ConsoleConsumer",
        *("--topic", "__consumer_offsets", "--partition", "0", "--offset", "earliest", "--timeout-ms", "5000"),
        *("--formatter", f"org.apache.kafka.tools.consumer.{formatter}"),
    )
    decoder, position, found = json.JSONDecoder(), printed.find('{"key"'), []
    while position >= 0:
        record, end = decoder.raw_decode(printed, position)
        found.append(record)
        position = printed.find('{"key"', end)
    return found


def test_kafkas_formatters_read_offsets_and_groups(broker: BrokerProcess, tmp_path: Any) -> None:
    settings = {"bootstrap.servers": broker.bootstrap, "group.id": "g", "enable.auto.commit": False}
    consumer = Consumer({**settings, "group.protocol": "classic"})
    consumer.subscribe(["orders"])
    wait_until(lambda: consumer.poll(0.1) is not None or len(consumer.assignment()) == PARTITIONS, "all were assigned")
    for number in range(ROUNDS):
        offsets = [TopicPartition("orders", index, number * 1000 + index) for index in range(PARTITIONS)]
        consumer.commit(offsets=offsets, asynchronous=False)
    consumer.close()
    tools = KafkaTools(broker.bootstrap, tmp_path)
    last = {}
    for record in read(tools, "OffsetsMessageFormatter"):
        assert (record["key"]["type"], record["value"]["version"]) == (1, 4)
        key, value = record["key"]["data"], record["value"]["data"]
        assert (key["group"], key["topic"]) == ("g", "orders")
        last[key["partition"]] = value["offset"]
    assert last == {index: (ROUNDS - 1) * 1000 + index for index in range(PARTITIONS)}
    generations = [
        (record["key"]["data"]["group"], record["value"]["data"]["generation"], len(record["value"]["data"]["members"]))
        for record in read(tools, "GroupMetadataMessageFormatter")
    ]
    # The generation with the consumer in it, unless a snapshot came later, and the one that it left behind.
    assert generations[-1] == ("g", 2, 0)
    assert set(generations) <= {("g", 1, 1), ("g", 2, 0)}
