"""Whether members that a rebalance does not concern go on consuming: the longest time without a message, in ms.

Ten members read a topic to which raw frames produce at a steady rate. Steady state is measured right before each
rebalance, in the same members; concerned is who was given a partition, or had to give one up.
"""

import statistics
import time
from contextlib import ExitStack
from functools import partial
from typing import Final

from bench.batches import batch_of
from bench.brokers import Broker, Subject
from bench.figures import Readings
from bench.frames import produce_frame
from bench.group_crew import Crew, Kind
from bench.group_ownership import What
from bench.group_watch import PARTITIONS_EACH, WatchedGroup, act_at, close, gaps, join_one, leave_newest, settle
from bench.pacing import pace, shared_moments
from bench.processes import running
from bench.report import Bar, Comparison
from bench.session import Session

_SIZE: Final = 10
_PARTITION_COUNT: Final = PARTITIONS_EACH * _SIZE
_MESSAGES_PER_S: Final = 1_000
_LONGEST_S: Final = 300
_WINDOW_NS: Final = 3_000_000_000
_MOST_STEPS: Final = 3
"""Each with what about nine members say, who are compared one by one."""
_PROCESS_COUNT: Final = 2
_CASE: Final = f"{_SIZE} consumers reading {_MESSAGES_PER_S:,} messages/s, not concerned by the rebalance"
_STEADY: Final = "ms, longest time without a message, steady"
_DURING: Final = "ms, longest time without a message, rebalance"
_LONGER: Final = "ms longer than in steady state"
_NOISE_MS: Final = 10.0
"""Two cores shared by all: the longest time without a message differs by this much from one window to the next."""


def measure_pause(session: Session, readings: Readings, kind: Kind) -> list[Comparison]:
    """Joins and leaves by turns, each with its own steady state before it."""
    for subject in session.among(Subject.KOHORT, Subject.KAFKA):
        broker = session.broker(subject)
        with ExitStack() as stack:
            topic = stack.enter_context(session.topic(broker, _PARTITION_COUNT))
            stack.enter_context(running(partial(_produce, broker, topic)))
            folder = session.root / f"crew-pause-{subject.value}"
            crew = stack.enter_context(Crew([kind.client] * _PROCESS_COUNT, folder))
            group = WatchedGroup(crew, broker, f"bench-pause-{subject.value}", topic, _PARTITION_COUNT, kind)
            group.join(_SIZE)
            settle(crew, [group])
            for number in range(min(session.group_rounds, _MOST_STEPS)):
                _take_step(readings, crew, group, subject, is_join=number % 2 == 0)
            close(crew, [group])
    load = f"librdkafka; messages by raw frames at {_MESSAGES_PER_S:,}/s"
    return [
        readings.compare(_CASE, _STEADY, Bar.NONE, 0.0, load),
        readings.compare(_CASE, _DURING, Bar.NONE, 0.0, load),
        readings.compare(_CASE, _LONGER, Bar.VALUE_AT_MOST, _NOISE_MS, load),
    ]


def _take_step(readings: Readings, crew: Crew, group: WatchedGroup, subject: Subject, *, is_join: bool) -> None:
    began_ns = time.monotonic_ns()
    time.sleep(_WINDOW_NS / 1e9)
    steady = gaps(crew, group, began_ns, began_ns + _WINDOW_NS)
    began_ns = time.monotonic_ns()
    act_at(crew, [group], [0.0], join_one if is_join else leave_newest)
    ended_ns = max(began_ns + _WINDOW_NS, *(event.moment_ns for event in group.step))
    time.sleep(max(0.0, (ended_ns - time.monotonic_ns()) / 1e9))
    during = gaps(crew, group, began_ns, ended_ns)
    concerned = {event.member for event in group.step if event.partitions or event.what is What.JOINING}
    others = sorted((during.keys() & steady.keys()) - concerned)
    readings.take(_CASE, _STEADY, subject, *(steady[member] for member in others))
    readings.take(_CASE, _DURING, subject, *(during[member] for member in others))
    longer = statistics.median(during[member] for member in others) - statistics.median(
        steady[member] for member in others
    )
    readings.take(_CASE, _LONGER, subject, longer)


def _produce(broker: Broker, topic: str) -> None:
    frames = [produce_frame(topic, partition, batch_of(1, 100)) for partition in range(_PARTITION_COUNT)]
    pace(broker.port, frames, _MESSAGES_PER_S, shared_moments(_MESSAGES_PER_S * _LONGEST_S), skip=0)
