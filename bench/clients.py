"""Loads by real clients: librdkafka through confluent-kafka, and Kafka's own Java, each in a process of its own.

Java produces with Kafka's ProducerPerformance. Kafka's ConsumerPerformance subscribes and so measures a group as well;
java/AssignedConsumer.java is the same loop on assigned partitions.
"""

import re
import subprocess
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final

from bench import brokers
from bench.batches import record_value
from bench.brokers import Subject
from bench.connection import HOST, LoadError
from bench.datasets import PARTITIONS, Range
from bench.figures import Asked, Figure, Measured, compare
from bench.load import Load
from bench.report import Bar
from bench.rounds import Sample, alternate, measure
from bench.session import Session

_RECORD_SIZE: Final = 1024
_TOUCHED: Final = 1 << 30
_CONSUMED_AT_ONCE: Final = 10_000
_CONSUME_TIMEOUT_S: Final = 10.0
_JAVA_WARM_UP_S: Final = 1.5
_JAVA_WARM_UP_RECORDS: Final = 200_000
_JAVA_RATE: Final = re.compile(r"^(\d+) records sent, ([0-9.]+) records/sec", re.MULTILINE)
_JAVA_SOURCE: Final = Path(__file__).resolve().parent / "java" / "AssignedConsumer.java"
_BATCH_SIZE: Final = {"batch.size": "65536"}


def produce_with_librdkafka(port: int, topic: str, settings: dict[str, str], seconds: float) -> Load:
    """Produces as fast as the client takes records; ends when all are acknowledged."""
    from confluent_kafka import Producer  # Its threads must not be in the process that forks.

    failures: list[str] = []

    def note_failure(error: Any, _message: Any) -> None:
        failures.append(str(error))

    producer = Producer(
        {"bootstrap.servers": f"{HOST}:{port}", "acks": "all", "delivery.report.only.error": True, **settings},
    )
    value = record_value(_RECORD_SIZE, Random(0))
    records = 0
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        for _ in range(1_000):
            try:
                producer.produce(topic, value, on_delivery=note_failure)
            except BufferError:
                producer.poll(0.01)
                continue
            records += 1
        producer.poll(0)
    left = producer.flush(60)
    took = time.perf_counter() - began
    if failures or left:
        raise LoadError(f"librdkafka: {left} records without an answer, {len(failures)} refused: {failures[:1]}")
    return Load(took, records=records, record_bytes=records * _RECORD_SIZE)


def consume_with_librdkafka(port: int, offsets: Range, seconds: float) -> Load:
    """Reads the range of every partition, again and again, for this long; little is waited for at the log's end."""
    from confluent_kafka import Consumer, TopicPartition  # Its threads must not be in the process that forks.

    consumer = Consumer(
        {
            "bootstrap.servers": f"{HOST}:{port}",
            "group.id": "bench",
            "enable.auto.commit": False,
            "fetch.wait.max.ms": 10,
        }
    )
    beginning = [TopicPartition(offsets.topic, partition, 0) for partition in range(PARTITIONS)]
    consumer.assign(beginning)
    _take(consumer, 1)
    records = left = 0
    began = time.perf_counter()
    while time.perf_counter() - began < seconds:
        if left <= 0:
            consumer.assign(beginning)
            left = offsets.record_count
        count = _take(consumer, min(left, _CONSUMED_AT_ONCE))
        records += count
        left -= count
    took = time.perf_counter() - began
    consumer.close()
    return Load(took, records=records, record_bytes=records * _RECORD_SIZE)


def _take(consumer: Any, at_most: int) -> int:
    """How many records came; an exception if none did, or anything else."""
    messages = consumer.consume(at_most, _CONSUME_TIMEOUT_S)
    if not messages or messages[-1].error():
        raise LoadError(f"librdkafka: {messages[-1].error() if messages else 'no records'}")
    return len(messages)


def produce_with_java(port: int, topic: str, settings: dict[str, str], records: int) -> Load:
    """Kafka's own ProducerPerformance, its first records left out."""
    command = ["java", "-Xmx512m", "-cp", brokers.kafka_libraries(), "org.apache.kafka.tools.ProducerPerformance"]
    command += ["--bootstrap-server", f"{HOST}:{port}", "--topic", topic, "--throughput", "-1"]
    command += ["--num-records", str(records + _JAVA_WARM_UP_RECORDS), "--warmup-records", str(_JAVA_WARM_UP_RECORDS)]
    command += ["--record-size", str(_RECORD_SIZE), "--command-property", "acks=all"]
    command += [f"{name}={value}" for name, value in settings.items()]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    _, rate = _JAVA_RATE.findall(printed)[-1]
    return Load(
        records / float(rate),
        records=records,
        record_bytes=records * _RECORD_SIZE,
        warm_up_bytes=_JAVA_WARM_UP_RECORDS * _RECORD_SIZE,
    )


def consume_with_java(compiled: Path, port: int, offsets: Range, seconds: float) -> Load:
    """Kafka's own consumer, its first seconds left out."""
    command = ["java", "-Xmx512m", "-cp", f"{compiled}:{brokers.kafka_libraries()}", "AssignedConsumer"]
    command += [f"{HOST}:{port}", offsets.topic, str(PARTITIONS), str(offsets.end_offset)]
    command += [str(_JAVA_WARM_UP_S), str(seconds)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    warm_up_records, records, took = printed.split()
    return Load(
        float(took),
        records=int(records),
        record_bytes=int(records) * _RECORD_SIZE,
        warm_up_bytes=int(warm_up_records) * _RECORD_SIZE,
    )


def compiled_consumer(folder: Path) -> Path:
    """Compiles the Java consumer into this folder."""
    subprocess.run(["javac", "-cp", brokers.kafka_libraries(), "-d", str(folder), str(_JAVA_SOURCE)], check=True)
    return folder


def _producers(session: Session) -> Measured:
    seconds = 2.0 if session.quick else 3.0
    java_records = 200_000 if session.quick else 500_000
    clients = (
        ("librdkafka", "its defaults", partial(produce_with_librdkafka, settings={}, seconds=seconds)),
        ("librdkafka", "64 KiB batches", partial(produce_with_librdkafka, settings=_BATCH_SIZE, seconds=seconds)),
        ("Java", "its defaults", partial(produce_with_java, settings={}, records=java_records)),
        ("Java", "64 KiB batches", partial(produce_with_java, settings=_BATCH_SIZE, records=java_records)),
    )
    asked = (
        Asked("MB/s, fsync / default", lambda sample: sample.mb_per_s, Bar.RATIO_AT_LEAST, 1.0),
        Asked("broker CPU ms/MB", lambda sample: sample.broker_ms_per_mb, Bar.NONE),
    )
    comparisons, kept = [], {}
    for client, how, load in clients if brokers.kafka_is_here() else clients[:2]:
        case = f"{client}, {how}"
        samples = alternate(
            session.among(Subject.KOHORT, Subject.KAFKA), session.rounds, partial(_round, session, load)
        )
        comparisons += compare(case, asked, samples, client)
        kept[case] = samples
    return Measured(comparisons, kept)


def _round(session: Session, load: Any, subject: Subject) -> Sample:
    broker = session.broker(subject)
    with session.topic(broker, PARTITIONS) as topic:
        return measure(broker, _TOUCHED, partial(load, broker.port, topic))


FIGURES: Final = (Figure("produce-clients", "Produce by librdkafka and Java, 1 KiB records, 8 partitions", _producers),)
