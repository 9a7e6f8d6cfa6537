"""Rebalances of real, unmodified clients on their defaults, two partitions for each: cold start, join, leave, kill -9.

Timed in the clients: from making the consumer (or closing, or killing it) to the last callback that was needed until
every partition was owned and the group balanced. A member's process has started before; the killed have their own.
"""

import itertools
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Final

from bench.brokers import Subject
from bench.figures import Figure, Measured, Readings
from bench.group_crew import Client, Crew, Kind
from bench.group_ownership import unowned_seconds
from bench.group_pause import measure_pause
from bench.group_watch import (
    CLASSIC_INTERVAL_S,
    INTERVAL_S,
    PARTITIONS_EACH,
    WatchedGroup,
    act_at,
    close,
    join_one,
    kill_newest,
    leave_one,
    settle,
)
from bench.report import Bar, Comparison
from bench.session import Session

CONSUMER: Final = Kind(Client.LIBRDKAFKA, "KIP-848", {"group.protocol": "consumer"})
JAVA_CONSUMER: Final = Kind(Client.JAVA, "KIP-848", {"group.protocol": "consumer"})
CLASSIC: Final = (
    Kind(Client.LIBRDKAFKA, "range", {"group.protocol": "classic", "partition.assignment.strategy": "range"}),
    Kind(
        Client.LIBRDKAFKA,
        "cooperative-sticky",
        {"group.protocol": "classic", "partition.assignment.strategy": "cooperative-sticky"},
    ),
    Kind(Client.JAVA, "classic", {"group.protocol": "classic"}),
)
COLD: Final = "s, cold start"
JOIN: Final = "s, one joins"
LEAVE: Final = "s, one leaves"
KILL: Final = "s, one killed with -9"
UNOWNED: Final = "s, a moved partition owned by nobody"
_GROUPS_AT_ONCE: Final = {10: 5, 50: 2, 100: 1}
"""By the size of each: so many that two processors can serve them, each group as if it were alone."""
_PROCESS_COUNT: Final = 4
_APART_S: Final = 1.0
_KILLS_APART_S: Final = 0.3
_FLOORS_S: Final = {10: 5.0, 100: 15.0}
_KILLED_GROUP_SIZE: Final = 5
_group_numbers: Final = itertools.count(1)


def _consumer(session: Session) -> Measured:
    readings = Readings()
    sizes = [size for size in _GROUPS_AT_ONCE if size == 10 or not session.quick]
    for size in sizes:
        _take_rounds(session, readings, CONSUMER, size)
    _take_rounds(session, readings, JAVA_CONSUMER, 10)
    _take_kills(session, readings, (CONSUMER, JAVA_CONSUMER))
    comparisons: list[Comparison] = []
    for size in sizes:
        asked = ((COLD, 1 / 10), (JOIN, 1 / 20), (LEAVE, 1 / 10), (UNOWNED, 1 / 10))
        comparisons += _compare(readings, CONSUMER, size, asked)
        comparisons += _floors(readings, size)
    comparisons += _compare(readings, JAVA_CONSUMER, 10, ((JOIN, 1 / 8), (LEAVE, 1 / 8)))
    comparisons += _compare(readings, JAVA_CONSUMER, 10, ((COLD, 0.0), (UNOWNED, 0.0)), Bar.NONE)
    for kind in (CONSUMER, JAVA_CONSUMER):
        comparisons += _compare(readings, kind, _KILLED_GROUP_SIZE, ((KILL, 1 / 8),))
    comparisons += measure_pause(session, readings, CONSUMER)
    return Measured(comparisons, readings=readings)


def _classic(session: Session) -> Measured:
    readings = Readings()
    comparisons: list[Comparison] = []
    for kind in CLASSIC:
        _take_rounds(session, readings, kind, 10)
        comparisons += _compare(readings, kind, 10, ((COLD, 0.25), (JOIN, 0.33), (LEAVE, 0.33)))
    _take_kills(session, readings, CLASSIC)
    for kind in CLASSIC:
        comparisons += _compare(readings, kind, _KILLED_GROUP_SIZE, ((KILL, 1 / 4),))
    return Measured(comparisons, readings=readings)


def _take_rounds(session: Session, readings: Readings, kind: Kind, size: int) -> None:
    """Cold start, one joins, one leaves: as often as the median needs, the brokers taking turns."""
    at_once = _GROUPS_AT_ONCE[size]
    process_count = 1 if kind.client is Client.JAVA else _PROCESS_COUNT
    subjects = session.among(Subject.KOHORT, Subject.KAFKA)
    with Crew([kind.client] * process_count, session.root / f"crew-{kind}-{size}") as crew:
        _warm_up(session, crew, kind, process_count, subjects[0])
        for first in range(0, session.group_rounds, at_once):
            numbers = range(first, min(first + at_once, session.group_rounds))
            for subject in subjects if first % 2 == 0 else reversed(subjects):
                _take_together(session, readings, crew, kind, size, subject, numbers)


def _take_together(
    session: Session, readings: Readings, crew: Crew, kind: Kind, size: int, subject: Subject, numbers: Sequence[int]
) -> None:
    """Some rounds at once, each with a group of its own; no two act at the same moment.

    Members that came together send their heartbeats together. Where between two of them others come and go decides how
    long that takes, so the rounds divide an interval among them.
    """
    broker = session.broker(subject)
    case = _case(kind, size)
    random = Random(numbers[0])
    apart_s = [index * _APART_S for index in range(len(numbers))]
    interval_s = CLASSIC_INTERVAL_S if kind in CLASSIC else INTERVAL_S[subject]
    phases_s = [interval_s * (number + random.random()) / session.group_rounds for number in numbers]
    spread_s = [apart + phase for apart, phase in zip(apart_s, phases_s)]
    with session.topic(broker, PARTITIONS_EACH * size) as topic:
        groups = [WatchedGroup(crew, broker, _new_group(), topic, PARTITIONS_EACH * size, kind) for _ in numbers]
        readings.take(case, COLD, subject, *act_at(crew, groups, apart_s, partial(WatchedGroup.join, count=size)))
        readings.take(case, JOIN, subject, *act_at(crew, groups, spread_s, join_one))
        readings.take(case, UNOWNED, subject, *(time for group in groups for time in unowned_seconds(group.step)))
        readings.take(case, LEAVE, subject, *act_at(crew, groups, spread_s, leave_one))
        close(crew, groups)


def _take_kills(session: Session, readings: Readings, kinds: Sequence[Kind]) -> None:
    """As many groups of each kind as a median needs; in all of them one member is killed at about the same time."""
    victims = [kind.client for kind in kinds for _ in range(session.group_rounds)]
    for subject in session.among(Subject.KOHORT, Subject.KAFKA):
        broker = session.broker(subject)
        partition_count = PARTITIONS_EACH * _KILLED_GROUP_SIZE
        survivors = list(dict.fromkeys(victims))
        crew = Crew([*survivors, *victims], session.root / f"crew-killed-{subject.value}")
        with crew, session.topic(broker, partition_count) as topic:
            groups = []
            for index, kind in enumerate(kind for kind in kinds for _ in range(session.group_rounds)):
                group = WatchedGroup(crew, broker, _new_group(), topic, partition_count, kind)
                group.join(_KILLED_GROUP_SIZE - 1, process=survivors.index(kind.client))
                group.join(process=len(survivors) + index)
                groups.append((kind, group))
            watched = [group for _, group in groups]
            settle(crew, watched)
            moments_s = [index * _KILLS_APART_S for index in range(len(watched))]
            for (kind, _), seconds in zip(groups, act_at(crew, watched, moments_s, kill_newest)):
                readings.take(_case(kind, _KILLED_GROUP_SIZE), KILL, subject, seconds)
            close(crew, watched)


def _warm_up(session: Session, crew: Crew, kind: Kind, process_count: int, subject: Subject) -> None:
    """One member in each process joins and leaves: what a process does only once is done."""
    broker = session.broker(subject)
    with session.topic(broker, process_count) as topic:
        group = WatchedGroup(crew, broker, _new_group(), topic, process_count, kind)
        group.join(process_count)
        settle(crew, [group])
        close(crew, [group])


def _compare(
    readings: Readings, kind: Kind, size: int, asked: Sequence[tuple[str, float]], bar: Bar = Bar.RATIO_AT_MOST
) -> list[Comparison]:
    load = f"{size} {kind.client.value} consumers, the point of the figure"
    return [readings.compare(_case(kind, size), measure, bar, limit, load) for measure, limit in asked]


def _floors(readings: Readings, size: int) -> list[Comparison]:
    """What no rebalance may exceed, whatever Kafka takes."""
    if size not in _FLOORS_S:
        return []
    return _compare(
        readings, CONSUMER, size, [(measure, _FLOORS_S[size]) for measure in (COLD, JOIN, LEAVE)], Bar.VALUE_AT_MOST
    )


def _case(kind: Kind, size: int) -> str:
    return f"{kind}, {size} consumers"


def _new_group() -> str:
    return f"bench-group-{next(_group_numbers):05}"


FIGURES: Final = (
    Figure("rebalance-consumer", "Rebalances of KIP-848 consumers, two partitions each", _consumer),
    Figure("rebalance-classic", "Rebalances of classic consumers, two partitions each", _classic),
)
