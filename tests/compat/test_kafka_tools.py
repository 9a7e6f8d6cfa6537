"""Kafka's own command line tools, 4.3.1: whoever knows Kafka reaches for these first."""

import json
import re

import pytest

from tests.compat.brokers import BrokerProcess
from tests.compat.conftest import MakeTopic
from tests.compat.kafka_tools import KafkaTools
from tests.compat.librdkafka import make_producer, produce_all, read_partition

pytestmark = pytest.mark.kafka

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"


def test_topics_are_created_listed_described_altered_and_deleted(kafka_tools: KafkaTools) -> None:
    topic = "made-by-topic-command"
    kafka_tools.run(TOPICS, "--create", "--topic", topic, "--partitions", "2", "--config", "retention.ms=1000000")
    assert topic in kafka_tools.run(TOPICS, "--list").split()

    kafka_tools.run(TOPICS, "--alter", "--topic", topic, "--partitions", "3")
    described = kafka_tools.run(TOPICS, "--describe", "--topic", topic)
    assert "PartitionCount: 3\tReplicationFactor: 1" in described
    assert "retention.ms=1000000" in described
    assert re.search(r"TopicId: [A-Za-z0-9_-]{22}\t", described)
    assert len(re.findall(r"Partition: \d\tLeader: 1\tReplicas: 1\tIsr: 1", described)) == 3

    kafka_tools.run(TOPICS, "--delete", "--topic", topic)
    assert topic not in kafka_tools.run(TOPICS, "--list").split()


def test_nothing_is_wrong_with_any_partition(kafka_tools: KafkaTools, topic: str) -> None:
    for complaint in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert kafka_tools.run(TOPICS, "--describe", complaint).strip() == ""


def test_a_topic_is_refused_in_kafkas_words(kafka_tools: KafkaTools, topic: str) -> None:
    assert f"Topic '{topic}' already exists" in kafka_tools.run_refused(TOPICS, "--create", "--topic", topic)
    too_many = kafka_tools.run_refused(TOPICS, "--create", "--topic", "replicated", "--replication-factor", "3")
    assert "replication factor of 3 cannot be reached" in too_many


def test_topic_configs_are_added_described_and_deleted(kafka_tools: KafkaTools, topic: str) -> None:
    entity = ["--entity-type", "topics", "--entity-name", topic]
    kafka_tools.run(
        CONFIGS, *entity, "--alter", "--add-config", "max.message.bytes=20000,cleanup.policy=[compact,delete]"
    )
    kafka_tools.run(CONFIGS, *entity, "--alter", "--delete-config", "cleanup.policy")

    own = kafka_tools.run(CONFIGS, *entity, "--describe")
    everything = kafka_tools.run(CONFIGS, *entity, "--describe", "--all")

    assert "max.message.bytes=20000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=20000" in own
    assert "DEFAULT_CONFIG:message.max.bytes=1048588" in own
    assert "cleanup.policy" not in own
    assert "cleanup.policy=delete" in everything


def test_broker_configs_are_described(kafka_tools: KafkaTools) -> None:
    described = kafka_tools.run(CONFIGS, "--entity-type", "brokers", "--entity-name", "1", "--describe", "--all")

    assert "num.partitions=1" in described
    assert "auto.create.topics.enable=true" in described


def test_offsets_are_found_for_every_time(broker: BrokerProcess, kafka_tools: KafkaTools, topic: str) -> None:
    for timestamp in (5000, 9000, 7000):
        produce_all(make_producer(broker.bootstrap, linger_ms=0), topic, [b"x"], timestamp=timestamp)

    def offset(time: str) -> str:
        return kafka_tools.run(OFFSETS, "--topic", topic, "--time", time).strip()

    assert offset("latest") == f"{topic}:0:3"
    assert offset("earliest") == f"{topic}:0:0"
    assert offset("max-timestamp") == f"{topic}:0:1"
    assert offset("6000") == f"{topic}:0:1"


def test_records_are_deleted(broker: BrokerProcess, kafka_tools: KafkaTools, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"%d" % number for number in range(20)])
    wish = {"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 15}]}
    wish_file = kafka_tools.text_file("delete.json", json.dumps(wish))

    answer = kafka_tools.run("org.apache.kafka.tools.DeleteRecordsCommand", "--offset-json-file", wish_file)

    assert f"partition: {topic}-0\tlow_watermark: 15" in answer
    assert [each.offset() for each in read_partition(broker.bootstrap, topic)] == list(range(15, 20))


def test_log_directories_are_described(broker: BrokerProcess, kafka_tools: KafkaTools, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"x" * 1000])

    answer = kafka_tools.run("org.apache.kafka.tools.LogDirsCommand", "--describe", "--topic-list", topic)

    (described,) = json.loads(answer.splitlines()[-1])["brokers"]
    (replica,) = [each for directory in described["logDirs"] for each in directory["partitions"]]
    assert (replica["partition"], replica["offsetLag"], replica["isFuture"]) == (f"{topic}-0", 0, False)
    assert replica["size"] > 1000


def test_the_performance_producer_and_consumer_run(kafka_tools: KafkaTools, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    load = ["--num-records", "20000", "--record-size", "200", "--throughput", "-1"]

    produced = kafka_tools.run("org.apache.kafka.tools.ProducerPerformance", "--topic", topic, *load)
    consumed = kafka_tools.run_program("GrouplessConsumerPerformance", "--topic", topic, "--num-records", "20000")

    assert "20000 records sent" in produced
    assert consumed.splitlines()[-1].split(", ")[4] == "20000"


@pytest.mark.usefixtures("consumer_groups")
def test_the_performance_consumer_runs_in_a_group(kafka_tools: KafkaTools, topic: str) -> None:
    load = ["--num-records", "5000", "--record-size", "200", "--throughput", "-1"]
    kafka_tools.run("org.apache.kafka.tools.ProducerPerformance", "--topic", topic, *load)

    patient = ["--num-records", "5000", "--timeout", "60000"]  # the first group of all has its topic made first
    consumed = kafka_tools.run("org.apache.kafka.tools.ConsumerPerformance", "--topic", topic, *patient)

    assert consumed.splitlines()[-1].split(", ")[4] == "5000"


def test_the_verifiable_producer_has_all_acknowledged(kafka_tools: KafkaTools, topic: str) -> None:
    output = kafka_tools.run(
        "org.apache.kafka.tools.VerifiableProducer", "--topic", topic, "--max-messages", "5000", "--acks", "-1"
    )

    events = [json.loads(line) for line in output.splitlines()]
    assert [each["offset"] for each in events if each["name"] == "producer_send_success"] == list(range(5000))
    assert (events[-1]["sent"], events[-1]["acked"]) == (5000, 5000)


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_the_java_producer_and_consumer_agree_in_every_compression(
    kafka_tools: KafkaTools, topic: str, codec: str
) -> None:
    lines = "".join(f"line {number} of some text\n" for number in range(2000))

    kafka_tools.run(CONSOLE_PRODUCER, "--topic", topic, "--compression-codec", codec, stdin=lines)
    consumed = kafka_tools.run(
        CONSOLE_CONSUMER, "--topic", topic, "--partition", "0", "--offset", "earliest", "--max-messages", "2000"
    )

    assert consumed == lines


def test_the_java_consumer_reads_what_librdkafka_compressed(
    broker: BrokerProcess, kafka_tools: KafkaTools, topic: str
) -> None:
    expected = []
    for codec in ("none", "gzip", "snappy", "lz4", "zstd"):
        values = [f"{codec} {number} {'text ' * 10}" for number in range(100)]
        expected += values
        produce_all(make_producer(broker.bootstrap, compression_type=codec), topic, [each.encode() for each in values])

    consumed = kafka_tools.run(
        CONSOLE_CONSUMER, "--topic", topic, "--partition", "0", "--offset", "0", "--max-messages", str(len(expected))
    )

    assert consumed.splitlines() == expected


def test_the_java_consumer_reads_without_a_group(broker: BrokerProcess, kafka_tools: KafkaTools, topic: str) -> None:
    producer = make_producer(broker.bootstrap, linger_ms=0)
    for number in range(10):
        produce_all(producer, topic, [b"v%d" % number], key=b"k%d" % number, timestamp=1_000_000 + number * 1000)

    facts = kafka_tools.run_program("AssignedConsumer", topic, "6", "1004500").split("\n")

    assert facts[:2] == ["beginning=0", "end=10"]
    assert facts[2].startswith("at_time=(timestamp=1005000,")
    assert "offset=5)" in facts[2]
    assert facts[3:] == [
        "partitions=1",
        *(f"record={number},k{number},v{number},{1_000_000 + number * 1000}" for number in range(6, 10)),
        "lag=0",
        "",
    ]


def test_the_java_admin_client_gets_all_it_asks_for(target: str, kafka_tools: KafkaTools) -> None:
    output = kafka_tools.run_program("AdminTour", "admin-tour")
    facts = dict(line.split("=", 1) for line in output.splitlines())

    assert re.fullmatch(r"[A-Za-z0-9_-]{22}", facts.pop("cluster_id"))
    assert facts == {
        "created_partitions": "2",
        "created_retention": "-1",
        "partitions_by_name": "3",
        "name_by_id": "admin-tour",
        "same_id": "true",
        "cleanup_policy": "delete,compact",
        "segment_bytes_source": "DEFAULT_CONFIG",
        "segment_bytes_type": "INT",
        "producers": "1",
        "producer_last_sequence": "2",
        "EarliestSpec": "0,-1",
        "LatestSpec": "3,-1",
        "MaxTimestampSpec": "1,9000",
        "TimestampSpec": "1,9000",
        "EarliestLocalSpec": "0,-1",
        "LatestTieredSpec": "-1,-1",
        "low_watermark": "2",
        "nodes": "1",
        "log_dirs": "1",
        "replica_has_bytes": "true",
        "message_max_bytes": "1048588",
        "features": str(target == "kafka").lower(),
        "deleted": "admin-tour",
    }


def test_kafkas_own_client_compatibility_test_passes(target: str, kafka_tools: KafkaTools, topic: str) -> None:
    supported = [
        "--offsets-for-times-supported",
        "--cluster-id-supported",
        "--create-topics-supported",
        "--describe-configs-supported",
        "--idempotent-producer-supported",
    ]
    arguments = [argument for option in supported for argument in (option, "True")]
    arguments += ["--describe-acls-supported", str(target == "kafka"), "--expect-record-too-large-exception", "False"]
    kafka_tools.run(
        "org.apache.kafka.tools.ClientCompatibilityTest", "--topic", topic, "--num-cluster-nodes", "1", *arguments
    )


def test_the_cluster_and_the_brokers_versions_are_told(kafka_tools: KafkaTools) -> None:
    cluster_id = ["cluster-id", "--bootstrap-server", kafka_tools.bootstrap]
    told = kafka_tools.output_until("Cluster ID", "org.apache.kafka.tools.ClusterTool", *cluster_id)
    assert re.search(r"Cluster ID: [\w-]{22}", told)

    versions = kafka_tools.run("org.apache.kafka.tools.BrokerApiVersionsCommand")
    assert "Produce(0): 0 to 13" in versions or "Produce(0): 3 to 13" in versions
    assert "Fetch(1): 4 to 18" in versions


def test_producers_of_a_partition_are_described(broker: BrokerProcess, kafka_tools: KafkaTools, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap, enable_idempotence=True), topic, [b"a", b"b", b"c"])

    described = kafka_tools.run(
        "org.apache.kafka.tools.TransactionsCommand", "describe-producers", "--topic", topic, "--partition", "0"
    )

    _, producer = described.strip().splitlines()
    assert producer.split()[3] == "2"  # the last sequence


def test_replicas_are_verified(broker: BrokerProcess, kafka_tools: KafkaTools, topic: str) -> None:
    produce_all(make_producer(broker.bootstrap), topic, [b"a", b"b", b"c"])

    report = kafka_tools.output_until(
        "max lag is 0",
        "org.apache.kafka.tools.ReplicaVerificationTool",
        *("--broker-list", broker.bootstrap, "--topics-include", topic, "--time", "-2", "--report-interval-ms", "1000"),
    )

    assert f"for partition {topic}-0" in report


@pytest.mark.usefixtures("consumer_groups")  # it commits an offset at its end
def test_end_to_end_latency_is_measured(kafka_tools: KafkaTools, topic: str) -> None:
    measured = kafka_tools.run(
        "org.apache.kafka.tools.EndToEndLatency",
        *("--topic", topic, "--num-records", "100", "--producer-acks", "all", "--record-size", "100"),
    )

    assert re.search(r"Percentiles: 50th = \d+, 99th = \d+", measured)
