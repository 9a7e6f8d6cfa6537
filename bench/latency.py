"""End-to-end latency by raw load: one 100 B record a request, from just before it is sent until a fetch brings it back.

One producing and one consuming connection, each in its own process, one partition, linger 0, acks=all.
"""

from functools import partial
from typing import Final

from bench.batches import batch_of
from bench.brokers import Subject
from bench.figures import Asked, Figure, Measured, compare
from bench.frames import fetch_frame, produce_frame
from bench.pacing import pace, shared_moments, watch
from bench.report import Bar
from bench.rounds import Sample, alternate, measure
from bench.session import Session

_RATES: Final = (1_000, 10_000)
_FETCH_BYTES: Final = 1 << 20
_ASKED: Final = (
    Asked("p50 ms, fsync / default", lambda sample: sample.load.percentile_ms(50), Bar.RATIO_AT_MOST, 1.0),
    Asked("p99 ms, fsync / default", lambda sample: sample.load.percentile_ms(99), Bar.RATIO_AT_MOST, 1.0),
    Asked("broker CPU us/record", lambda sample: sample.broker_cpu_s * 1e6 / sample.load.records, Bar.NONE),
)


def _end_to_end(session: Session) -> Measured:
    comparisons, kept = [], {}
    for rate in _RATES:
        case = f"{rate:,} records/s"
        samples = alternate(
            session.among(Subject.KOHORT, Subject.KAFKA), session.rounds, partial(_round, session, rate), warm_up=True
        )
        comparisons += compare(case, _ASKED, samples, "raw frames, two processes")
        kept[case] = samples
    return Measured(comparisons, kept)


def _round(session: Session, rate: int, subject: Subject) -> Sample:
    broker = session.broker(subject)
    count = int(rate * (2 if session.quick else 5))
    moments = shared_moments(count)
    with session.topic(broker, partitions=1) as topic:
        sending = produce_frame(topic, 0, batch_of(1, 100))
        reading = fetch_frame(topic, 0, max_bytes=_FETCH_BYTES)
        return measure(
            broker,
            0,
            partial(watch, broker.port, reading, sending.record_bytes, moments, skip=rate // 2),
            partial(pace, broker.port, [sending], rate, moments, skip=0),
        )


FIGURES: Final = (Figure("latency", "End-to-end latency at 1,000 and 10,000 records/s, linger 0", _end_to_end),)
