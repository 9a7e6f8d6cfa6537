"""Consume: by raw fetch, by librdkafka and by Java's consumer, from memory and from settled segments.

Raw: four connections, each reading one partition in answers of 1 MiB. Clients: all 8 partitions with their defaults,
assigned and not subscribed. 1 KiB records in 64 KiB batches; a range that has been read is read again.
"""

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Final

from bench import brokers
from bench.brokers import Subject
from bench.clients import compiled_consumer, consume_with_java, consume_with_librdkafka
from bench.datasets import Dataset, Range, dataset
from bench.fetching import Reader, drain
from bench.figures import Asked, Figure, Measured, compare
from bench.frames import fetch_frame
from bench.load import Load
from bench.report import Bar
from bench.rounds import Sample, alternate, measure
from bench.session import Session

_RAW_CONNECTIONS: Final = 4
_FETCH_BYTES: Final = 1 << 20
_FIRST_READ_S: Final = 0.25
"""Short enough that nobody comes to the end of the range and reads a second time."""
_CPU: Final = Asked("broker CPU ms/MB", lambda sample: sample.broker_ms_per_mb, Bar.NONE)

ConsumeLoad = Callable[[int, Range, float], Load]


def _at_least(ratio: float, bar: Bar = Bar.RATIO_AT_LEAST) -> tuple[Asked, ...]:
    return (Asked("MB/s, fsync / default", lambda sample: sample.mb_per_s, bar, ratio), _CPU)


def consume_raw(port: int, offsets: Range, seconds: float) -> Load:
    readers = [
        Reader(fetch_frame(offsets.topic, partition, max_bytes=_FETCH_BYTES), 0, offsets.end_offset)
        for partition in range(_RAW_CONNECTIONS)
    ]
    return drain(port, readers, seconds)


def _readers(session: Session) -> list[tuple[str, ConsumeLoad, float]]:
    """Who reads, and what ratio is asked of it. Java needs Kafka's jars."""
    readers: list[tuple[str, ConsumeLoad, float]] = [
        ("raw fetch", consume_raw, 0.8),
        ("librdkafka", consume_with_librdkafka, 1.0),
    ]
    if brokers.kafka_is_here():
        readers.append(("Java", partial(consume_with_java, compiled_consumer(session.root)), 1.0))
    return readers


def _consume(session: Session) -> Measured:
    comparisons, kept = [], {}
    with ExitStack() as stack:
        datasets: dict[Subject, Dataset] = {}
        for subject in session.among(Subject.KOHORT, Subject.KAFKA):
            datasets[subject] = stack.enter_context(dataset(session, session.broker(subject)))
        first = alternate(list(datasets), 1, partial(_round, session, datasets, consume_raw, "settled", _FIRST_READ_S))
        case = "raw fetch, from settled, read for the first time"
        comparisons += compare(case, _at_least(0.8, Bar.NONE), first, "raw fetch")
        kept[case] = first
        for name, load, ratio in _readers(session):
            for place in ("memory", "settled"):
                case = f"{name}, from {place}"
                samples = alternate(
                    list(datasets), session.rounds, partial(_round, session, datasets, load, place, session.load_s)
                )
                comparisons += compare(case, _at_least(ratio), samples, name)
                kept[case] = samples
    return Measured(comparisons, kept)


def _round(
    session: Session,
    datasets: dict[Subject, Dataset],
    load: ConsumeLoad,
    place: str,
    seconds: float,
    subject: Subject,
) -> Sample:
    broker = session.broker(subject)
    offsets: Range = getattr(datasets[subject], place)
    return measure(broker, 0, partial(load, broker.port, offsets, seconds))


FIGURES: Final = (Figure("consume", "Consume by raw fetch, librdkafka and Java", _consume),)
