"""Produce by raw load: batches of 64 KiB and 1 MiB, and one record a request.

Four connections, each with 8 requests in flight (2 of 1 MiB); requests are built before the load begins and each
carries one batch. One record a request: 16 connections, 32 in flight on each.
"""

import itertools
from functools import partial
from typing import Final

from bench.batches import Codec, RecordBatch, batch_of, batch_of_size
from bench.brokers import Subject
from bench.figures import Asked, Figure, Measured, compare
from bench.frames import cycles_for
from bench.pumping import pump
from bench.report import Bar
from bench.rounds import Sample, alternate, measure
from bench.session import Session

_CONNECTIONS: Final = 4
_TOUCHED: Final = 1 << 30
_SUBJECTS: Final = (Subject.KOHORT_OS, Subject.KAFKA, Subject.KOHORT, Subject.KAFKA_FSYNC)
_DURABLE: Final = (
    Asked("MB/s, fsync / Kafka's default", lambda sample: sample.mb_per_s, Bar.RATIO_AT_LEAST, 0.8),
    Asked(
        "MB/s, fsync / Kafka flush=1",
        lambda sample: sample.mb_per_s,
        Bar.RATIO_AT_LEAST,
        3.0,
        kafka=Subject.KAFKA_FSYNC,
    ),
)


def _as_fast(mb_per_s: float, cpu: float) -> tuple[Asked, ...]:
    """kohort answers when the operating system has the batch, as Kafka does by default."""
    return (
        Asked("MB/s, os / default", lambda sample: sample.mb_per_s, Bar.RATIO_AT_LEAST, mb_per_s, Subject.KOHORT_OS),
        Asked("broker CPU ms/MB, os / default", _broker_ms_per_mb, Bar.RATIO_AT_MOST, cpu, Subject.KOHORT_OS),
        *_DURABLE,
    )


def _broker_ms_per_mb(sample: Sample) -> float:
    return sample.broker_ms_per_mb


def _batches(session: Session, batch_size: int, burst_size: int, asked: tuple[Asked, ...]) -> Measured:
    value_sizes = (1024,) if session.quick else (1024, 100)
    comparisons, kept = [], {}
    for value_size, partitions, codec in itertools.product(value_sizes, (1, 8), Codec):
        batch = batch_of_size(batch_size, value_size, codec)
        case = f"{value_size} B records, {partitions} partition{'s' * (partitions > 1)}, {codec.name.lower()}"
        samples = alternate(
            session.among(*_SUBJECTS),
            session.rounds,
            partial(_round, session, partitions, batch, _CONNECTIONS, burst_size),
        )
        comparisons += compare(case, asked, samples, "raw frames")
        kept[case] = samples
    return Measured(comparisons, kept)


def _single_records(session: Session) -> Measured:
    samples = alternate(
        session.among(Subject.KOHORT, Subject.KOHORT_OS, Subject.KAFKA),
        session.rounds,
        partial(_round, session, 16, batch_of(1, 100), 16, 16),
    )
    case = "16 connections, 16 partitions, 32 in flight on each"
    asked = (
        Asked("requests/s, fsync / default", lambda sample: sample.requests_per_s, Bar.RATIO_AT_LEAST, 3.0),
        Asked("broker CPU us/request", lambda sample: sample.broker_cpu_s * 1e6 / sample.load.requests, Bar.NONE),
        Asked("requests/s, os / default", lambda sample: sample.requests_per_s, Bar.NONE, kohort=Subject.KOHORT_OS),
    )
    return Measured(compare(case, asked, samples, "raw frames"), {case: samples})


def _round(
    session: Session, partitions: int, batch: RecordBatch, connections: int, burst_size: int, subject: Subject
) -> Sample:
    broker = session.broker(subject)
    with session.topic(broker, partitions) as topic:
        cycles = cycles_for(topic, partitions, batch, connections=connections, burst_size=burst_size)
        return measure(broker, _TOUCHED, partial(pump, broker.port, cycles, session.load_s))


FIGURES: Final = (
    Figure(
        "produce-64k",
        "Produce, 64 KiB batches, acks=all, raw load",
        partial(_batches, batch_size=1 << 16, burst_size=4, asked=_as_fast(1.3, 0.5)),
    ),
    Figure(
        "produce-1m",
        "Produce, 1 MiB batches, acks=all, raw load",
        partial(_batches, batch_size=1 << 20, burst_size=1, asked=_as_fast(1.0, 1.0)),
    ),
    Figure("produce-single", "Produce, one 100 B record a request, acks=all, raw load", _single_records),
)
