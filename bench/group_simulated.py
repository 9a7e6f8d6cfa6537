"""Simulated KIP-848 groups of 1,000 and 10,000 members: cold start, one more, one less; seconds and broker CPU.

The members (group_simulation.py) live in one process and say they are librdkafka, each on a connection of its own, so
that a broker may hold their heartbeats as it holds those of real clients. Two of ten thousand share a connection to
Kafka: it keeps a file open for each partition, and this many connections besides would be more than a process may have.
Connections are opened before the clock starts; a cold start counts from the first join.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from random import Random
from typing import Final, NamedTuple

from bench.brokers import Broker, Subject
from bench.connection import LoadError
from bench.figures import Figure, Measured, Readings
from bench.group_calls import LIBRDKAFKA, wait_for_coordinator
from bench.group_simulation import SimulatedGroup, SimulatedMember
from bench.group_swarm import Swarm
from bench.group_watch import INTERVAL_S, QUIET_S
from bench.processes import run_apart
from bench.report import Bar, Comparison
from bench.session import Session

_TOPIC_PARTITIONS: Final = 1_010
_TOPICS_OF: Final = {1_000: 2, 10_000: 10}
"""A few more partitions than each member needs, so that one more member gets some of them."""
_MOST_ROUNDS_OF: Final = {1_000: 5, 10_000: 3}
_BALANCED_WITHIN_S: Final = 90.0
_COLD: Final = "cold start"
_JOIN: Final = "one joins"
_LEAVE: Final = "one leaves"
_STEPS: Final = (_COLD, _JOIN, _LEAVE)
_group_numbers: Final = itertools.count(1)


class Step(NamedTuple):
    """How long a step took until the group was balanced, and what it cost the broker."""

    seconds: float
    broker_cpu_s: float


def _simulated(session: Session) -> Measured:
    readings = Readings()
    comparisons: list[Comparison] = []
    sizes = (1_000,) if session.quick else (1_000, 10_000)
    subjects = session.among(Subject.KOHORT, Subject.KAFKA)
    with ExitStack() as stack:
        topics = {
            subject: [
                stack.enter_context(session.topic(session.broker(subject), _TOPIC_PARTITIONS))
                for _ in range(_TOPICS_OF[sizes[-1]])
            ]
            for subject in subjects
        }
        for size in sizes:
            shares: list[float] = []
            rounds = min(session.group_rounds, _MOST_ROUNDS_OF[size])
            for number in range(rounds):
                phase = (number + Random(number).random()) / rounds
                for subject in subjects if number % 2 == 0 else reversed(subjects):
                    own = topics[subject][: _TOPICS_OF[size]]
                    shares.append(_take_round(session, readings, size, own, subject, phase))
            comparisons += _compare(readings, size, max(shares))
    return Measured(comparisons, readings=readings)


def _take_round(
    session: Session, readings: Readings, size: int, topics: Sequence[str], subject: Subject, phase: float
) -> float:
    """The load's share of a processor."""
    broker = session.broker(subject)
    group = SimulatedGroup(f"bench-simulated-{next(_group_numbers)}", topics, len(topics) * _TOPIC_PARTITIONS)
    wait_for_coordinator(broker.port, [group.name])
    members_each = 2 if subject.is_kafka and size == 10_000 else 1
    began = time.monotonic()
    (finished,) = run_apart(partial(simulate, broker, group, size, members_each, phase))
    for name, step in zip(_STEPS, finished.result):
        readings.take(_case(size), f"s, {name}", subject, step.seconds)
        readings.take(_case(size), f"broker CPU s, {name}", subject, step.broker_cpu_s)
    return finished.cpu_seconds / (time.monotonic() - began)


def simulate(broker: Broker, group: SimulatedGroup, size: int, members_each: int, phase: float) -> list[Step]:
    """All the steps of one group; at its end everybody has left. The phase says when between heartbeats they fall."""
    members = [SimulatedMember(group, number) for number in range(size + 1)]
    swarm = Swarm(broker.port)
    swarm.connect(members, members_each, LIBRDKAFKA)
    joining, newcomer = members[:-1], members[-1]
    leaver = members[int(phase * size)]
    steps = [
        _step(broker, swarm, group, QUIET_S + phase, partial(swarm.join, joining)),
        _step(broker, swarm, group, QUIET_S + INTERVAL_S[broker.subject] * phase, partial(swarm.join, [newcomer])),
        _step(broker, swarm, group, QUIET_S, partial(swarm.leave, [leaver])),
    ]
    swarm.leave([member for member in members if member is not leaver])
    swarm.wait_until_gone(members)
    swarm.close()
    return steps


def _step(broker: Broker, swarm: Swarm, group: SimulatedGroup, quiet_s: float, act: Callable[[], None]) -> Step:
    """Acts, and waits until the group is balanced and stays so for this long."""
    spent, began = broker.cpu_seconds(), time.monotonic()
    act()
    while True:
        swarm.run(began + _BALANCED_WITHIN_S, group.ownership.is_balanced)
        step = Step(time.monotonic() - began, broker.cpu_seconds() - spent)
        if not group.ownership.is_balanced():
            raise LoadError(f"{group.name} was not balanced within {_BALANCED_WITHIN_S:.0f} s")
        changes = group.changes
        swarm.run(time.monotonic() + quiet_s)
        if group.changes == changes:
            return step


def _compare(readings: Readings, size: int, share: float) -> list[Comparison]:
    load = f"simulated librdkafka, {share:.0%} CPU"
    case = _case(size)
    seconds = [readings.compare(case, f"s, {name}", Bar.RATIO_AT_MOST, 0.1, load) for name in _STEPS]
    cpu = [readings.compare(case, f"broker CPU s, {name}", Bar.RATIO_AT_MOST, 1.0, load) for name in _STEPS]
    return seconds + cpu


def _case(size: int) -> str:
    return f"{size:,} members"


FIGURES: Final = (Figure("group-simulated", "Groups of 1,000 and 10,000 simulated KIP-848 members", _simulated),)
