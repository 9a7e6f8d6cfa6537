"""1,000 partitions: each written once a second over one connection, and 2 KiB batches as fast as the broker goes."""

from contextlib import ExitStack
from functools import partial
from typing import Final

from bench import machine
from bench.batches import RecordBatch, batch_of_size
from bench.brokers import Broker, Subject
from bench.figures import Asked, Figure, Measured, compare
from bench.frames import cycles_for, produce_frame
from bench.pacing import pace, shared_moments
from bench.processes import run_apart
from bench.pumping import pump
from bench.report import Bar
from bench.rounds import Sample, alternate, measure
from bench.session import Session

_PARTITIONS: Final = 1_000
_BATCH_SIZE: Final = 2048
_VALUE_SIZE: Final = 100
_TOUCHING_BATCHES: Final = 6
_TOUCHED: Final = 2 << 30
_PACED: Final = (
    Asked("p99 ms, fsync / default", lambda sample: sample.load.percentile_ms(99), Bar.RATIO_AT_MOST, 1.0),
    Asked("p50 ms, fsync / default", lambda sample: sample.load.percentile_ms(50), Bar.NONE),
)
_PUMPED: Final = (
    Asked("batches/s, fsync / default", lambda sample: sample.requests_per_s, Bar.RATIO_AT_LEAST, 2.0),
    Asked("broker CPU us/batch", lambda sample: sample.broker_cpu_s * 1e6 / sample.load.requests, Bar.NONE),
)


def _thousand_partitions(session: Session) -> Measured:
    batch = batch_of_size(_BATCH_SIZE, _VALUE_SIZE)
    with ExitStack() as stack:
        topics: dict[Subject, str] = {}
        for subject in session.among(Subject.KOHORT, Subject.KAFKA):
            topics[subject] = stack.enter_context(session.topic(session.broker(subject), _PARTITIONS))
            _touch(session.broker(subject), topics[subject], batch)
        pumped = alternate(list(topics), session.rounds, partial(_pumped_round, session, topics, batch))
        paced = alternate(list(topics), session.rounds, partial(_paced_round, session, topics, batch))
    paced_case, pumped_case = "each written once a second", "as fast as it goes, 16 connections"
    comparisons = compare(paced_case, _PACED, paced, "raw frames") + compare(pumped_case, _PUMPED, pumped, "raw frames")
    return Measured(comparisons, {paced_case: paced, pumped_case: pumped})


def _touch(broker: Broker, topic: str, batch: RecordBatch) -> None:
    """Some batches to every partition before anything is measured.

    Kafka maps two index files for each partition, and their first pages are dear: megabytes of fresh memory each.
    """
    machine.touch_memory(broker.directory, _TOUCHED)
    cycles = cycles_for(topic, _PARTITIONS, batch, connections=16, burst_size=8)
    run_apart(partial(pump, broker.port, cycles, record_bytes=_TOUCHING_BATCHES * _PARTITIONS * len(batch.data)))


def _paced_round(session: Session, topics: dict[Subject, str], batch: RecordBatch, subject: Subject) -> Sample:
    broker = session.broker(subject)
    sending = [produce_frame(topics[subject], partition, batch) for partition in range(_PARTITIONS)]
    moments = shared_moments(_PARTITIONS * (3 if session.quick else 5))
    return measure(broker, 0, partial(pace, broker.port, sending, _PARTITIONS, moments, skip=_PARTITIONS))


def _pumped_round(session: Session, topics: dict[Subject, str], batch: RecordBatch, subject: Subject) -> Sample:
    broker = session.broker(subject)
    cycles = cycles_for(topics[subject], _PARTITIONS, batch, connections=16, burst_size=8)
    return measure(broker, 0, partial(pump, broker.port, cycles, session.load_s))


FIGURES: Final = (Figure("partitions", "1,000 partitions, 2 KiB batches, acks=all, raw load", _thousand_partitions),)
