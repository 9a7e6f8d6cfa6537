"""Offset commits and fetches by raw load: how many a second and what one costs; the latency of a commit at 100/s.

Groups without members, so nothing but offsets is asked for. Each connection commits partitions of its own, so what must
be fetched back after a round is known to the last offset. kohort answers a commit when it is on the disk, Kafka when
the operating system has it: each its default.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from bench.brokers import Broker, Subject
from bench.connection import LoadError
from bench.figures import Asked, Figure, Measured, compare
from bench.frames import Burst, CheckedFrame, burst_of
from bench.group_calls import UNKNOWN, exchange, open_connection, wait_for_coordinator
from bench.group_frames import commit_frame, offset_fetch_frame
from bench.pacing import pace, shared_moments
from bench.processes import run_apart
from bench.pumping import pump
from bench.report import Bar
from bench.rounds import Sample, alternate, measure
from bench.session import Session

_CONNECTIONS: Final = 16
_BURST_SIZE: Final = 25
_COUNTS: Final = (1, 50)
_LATENCY_RATE: Final = 100
_COMMITTED: Final = (
    Asked("commits/s, fsync / default", lambda sample: sample.requests_per_s, Bar.RATIO_AT_LEAST, 2.0),
    Asked("broker CPU us/commit", lambda sample: _microseconds(sample), Bar.RATIO_AT_MOST, 0.33),
)
_FETCHED: Final = (
    Asked("offset fetches/s", lambda sample: sample.requests_per_s, Bar.RATIO_AT_LEAST, 4.0),
    Asked("broker CPU us/fetch", lambda sample: _microseconds(sample), Bar.NONE),
)
_LATENCY: Final = (
    Asked("p50 ms, fsync / default", lambda sample: sample.load.percentile_ms(50), Bar.RATIO_AT_MOST, 2.0),
    Asked("p99 ms, fsync / default", lambda sample: sample.load.percentile_ms(99), Bar.RATIO_AT_MOST, 1.0),
)
Topics = Mapping[Subject, str]
_numbers: Final = itertools.count(1)


@dataclass(frozen=True, slots=True)
class CommitPlan:
    """What each connection commits: request after request to the next group, always a higher offset, then again."""

    topic: str
    groups: Sequence[str]
    partitions_each: int

    @property
    def cycle_length(self) -> int:
        """Requests of a connection until it begins again: whole bursts, each group as often as every other."""
        return math.lcm(2 * _BURST_SIZE, len(self.groups))

    def commit(self, connection: int, request: int) -> CheckedFrame:
        """The request of this number on this connection."""
        return commit_frame(self._group(request), self.topic, self._offsets(connection, request))

    def cycles(self) -> list[list[Burst]]:
        requests = range(self.cycle_length)
        return [
            [
                burst_of([self.commit(connection, request) for request in requests[first : first + _BURST_SIZE]])
                for first in requests[::_BURST_SIZE]
            ]
            for connection in range(_CONNECTIONS)
        ]

    def fetches(self, committed: int) -> Iterator[CheckedFrame]:
        """Asks for the last offset of everything, after each connection has had so many requests answered."""
        for connection, request in itertools.product(
            range(_CONNECTIONS), range(max(0, committed - len(self.groups)), committed)
        ):
            offsets = self._offsets(connection, request % self.cycle_length)
            yield offset_fetch_frame(self._group(request), self.topic, offsets)

    def _group(self, request: int) -> str:
        return self.groups[request % len(self.groups)]

    def _offsets(self, connection: int, request: int) -> dict[int, int]:
        first = connection * self.partitions_each
        return dict.fromkeys(range(first, first + self.partitions_each), request + 1)


def _offsets(session: Session) -> Measured:
    comparisons, kept = [], {}
    with ExitStack() as stack:
        topics = {
            subject: stack.enter_context(session.topic(session.broker(subject), _COUNTS[-1] * _CONNECTIONS))
            for subject in session.among(Subject.KOHORT, Subject.KAFKA)
        }
        for case, asked, run in _cases(session, topics):
            samples = alternate(list(topics), session.group_rounds, run, warm_up=True)
            comparisons += compare(case, asked, samples, "raw frames")
            kept[case] = samples
    return Measured(comparisons, kept)


def _cases(session: Session, topics: Topics) -> Iterator[tuple[str, Sequence[Asked], Callable[[Subject], Sample]]]:
    for partitions_each, group_count in itertools.product(_COUNTS, _COUNTS):
        case = f"{_named(partitions_each, 'partition')} a request, {_named(group_count, 'group')}"
        yield case, _COMMITTED, partial(_commit_round, session, topics, partitions_each, group_count)
    for partitions_each in _COUNTS:
        case = f"fetches of {_named(partitions_each, 'partition')}, {_COUNTS[-1]} groups"
        yield case, _FETCHED, partial(_fetch_round, session, topics, partitions_each)
    yield f"{_LATENCY_RATE} commits/s on one connection", _LATENCY, partial(_latency_round, session, topics)


def _commit_round(session: Session, topics: Topics, partitions_each: int, group_count: int, subject: Subject) -> Sample:
    broker = session.broker(subject)
    plan = _plan(broker, topics[subject], partitions_each, group_count)
    sample = measure(broker, 0, partial(pump, broker.port, plan.cycles(), session.load_s))
    check_answers(broker.port, plan.fetches(sample.load.requests // _CONNECTIONS))
    return sample


def _fetch_round(session: Session, topics: Topics, partitions_each: int, subject: Subject) -> Sample:
    broker = session.broker(subject)
    group_count = _COUNTS[-1]
    plan = _plan(broker, topics[subject], partitions_each, group_count)
    run_apart(partial(pump, broker.port, plan.cycles(), turns=group_count // _BURST_SIZE))
    fetches = list(plan.fetches(group_count))
    bursts = [burst_of(fetches[first : first + _BURST_SIZE]) for first in range(0, len(fetches), _BURST_SIZE)]
    return measure(broker, 0, partial(pump, broker.port, [bursts] * _CONNECTIONS, session.load_s))


def _latency_round(session: Session, topics: Topics, subject: Subject) -> Sample:
    broker = session.broker(subject)
    moments = shared_moments(_LATENCY_RATE * (2 if session.quick else 5))
    plan = _plan(broker, topics[subject], 1, 1)
    frames = [plan.commit(0, request) for request in range(plan.cycle_length)]
    load = partial(pace, broker.port, frames, _LATENCY_RATE, moments, skip=_LATENCY_RATE // 2)
    sample = measure(broker, 0, load)
    check_answers(broker.port, itertools.islice(plan.fetches(len(moments)), 1))
    return sample


def check_answers(port: int, frames: Iterator[CheckedFrame]) -> None:
    """Sends one request after another; each must be answered as it says."""
    with open_connection(port, UNKNOWN) as connected:
        for frame in frames:
            answer = exchange(connected, frame.data)
            if answer != frame.accepted:
                raise LoadError(f"expected {frame.accepted.hex()}, got {answer.hex()}")


def _plan(broker: Broker, topic: str, partitions_each: int, group_count: int) -> CommitPlan:
    number = next(_numbers)
    groups = [f"bench-{number:04}-{index:02}" for index in range(group_count)]
    wait_for_coordinator(broker.port, groups)
    return CommitPlan(topic, groups, partitions_each)


def _microseconds(sample: Sample) -> float:
    return sample.broker_cpu_s * 1e6 / sample.load.requests


def _named(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count > 1)}"


FIGURES: Final = (Figure("offset-commits", "Offset commits and fetches, raw load", _offsets),)
