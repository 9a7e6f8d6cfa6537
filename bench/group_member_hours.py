"""What an hour of one member costs the broker at the defaults, in CPU seconds net of the idle broker's, both protocols.

A thousand members that have nothing to say but heartbeats, each on a connection of its own that says it is librdkafka:
KIP-848 at the interval the broker names, classic every 3 s. Both brokers are watched at the same time, each by its own
load: they spend a few per cent of a processor.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from statistics import median
from typing import Final, NamedTuple

from bench.brokers import Broker, Subject
from bench.connection import LoadError
from bench.figures import Readings
from bench.group_calls import LIBRDKAFKA, wait_for_coordinator
from bench.group_classic import join_classic, leave_classic
from bench.group_simulation import SimulatedGroup, SimulatedMember
from bench.group_swarm import Swarm
from bench.processes import run_apart
from bench.report import Bar, Comparison
from bench.session import Session

_GROUPS: Final = 20
_MEMBERS_EACH: Final = 50
_MEMBERS: Final = _GROUPS * _MEMBERS_EACH
_PARTITIONS: Final = 2 * _MEMBERS_EACH
_WINDOW_S: Final = 5.0
_STABLE_WITHIN_S: Final = 60.0
_SLOWEST_INTERVAL_S: Final = 5.0
_FEWEST: Final = 0.8
"""Of the heartbeats that members at the slowest interval send."""
_CPU: Final = "broker CPU s/member-hour, net of idle"
_HEARTBEATS: Final = "heartbeats/member-hour"


class Hours(NamedTuple):
    """What the broker spent and how many heartbeats it answered, window by window."""

    idle_cpu_s: list[float]
    cpu_s: list[float]
    heartbeats: list[int]


def measure_member_hours(session: Session, readings: Readings) -> list[Comparison]:
    """Of both protocols; the brokers are to be warm before."""
    comparisons = []
    subjects = session.among(Subject.KOHORT, Subject.KAFKA)
    with ExitStack() as stack:
        topics = [stack.enter_context(session.topic(session.broker(subject), _PARTITIONS)) for subject in subjects]
        for protocol, members in (("KIP-848", _consumer_members), ("classic", _classic_members)):
            loads = [
                partial(_live, session.broker(subject), partial(members, topic), session.group_rounds)
                for subject, topic in zip(subjects, topics)
            ]
            case = f"{protocol}, at the defaults"
            for subject, load in zip(subjects, run_apart(*loads)):
                _take(readings, case, subject, load.result)
            generator = f"{_MEMBERS:,} simulated librdkafka"
            comparisons += [
                readings.compare(case, _CPU, Bar.RATIO_AT_MOST, 1.0, generator),
                readings.compare(case, _HEARTBEATS, Bar.NONE, 0.0, generator),
            ]
    return comparisons


def _take(readings: Readings, case: str, subject: Subject, hours: Hours) -> None:
    member_hours = _MEMBERS * _WINDOW_S / 3600
    idle_s = median(hours.idle_cpu_s)
    readings.take(case, _CPU, subject, *((spent - idle_s) / member_hours for spent in hours.cpu_s))
    readings.take(case, _HEARTBEATS, subject, *(count / member_hours for count in hours.heartbeats))


def _live(broker: Broker, members: Callable[[Broker], AbstractContextManager[Swarm]], windows: int) -> Hours:
    """Idle for some windows, and then as many with all members."""
    idle_cpu_s = [_spent(broker, lambda: time.sleep(_WINDOW_S)) for _ in range(windows)]
    cpu_s, heartbeats = [], []
    with members(broker) as swarm:
        for _ in range(windows):
            answered = swarm.heartbeats
            cpu_s.append(_spent(broker, lambda: swarm.run(time.monotonic() + _WINDOW_S)))
            heartbeats.append(swarm.heartbeats - answered)
    if min(heartbeats) < _FEWEST * _MEMBERS * _WINDOW_S / _SLOWEST_INTERVAL_S:
        raise LoadError(f"{_MEMBERS} members had only {min(heartbeats)} heartbeats answered in {_WINDOW_S:.0f} s")
    return Hours(idle_cpu_s, cpu_s, heartbeats)


def _spent(broker: Broker, act: Callable[[], None]) -> float:
    """What the broker spends meanwhile."""
    before = broker.cpu_seconds()
    act()
    return broker.cpu_seconds() - before


@contextmanager
def _consumer_members(topic: str, broker: Broker) -> Iterator[Swarm]:
    groups = [SimulatedGroup(f"bench-hours-{number}", [topic], _PARTITIONS) for number in range(_GROUPS)]
    wait_for_coordinator(broker.port, [group.name for group in groups])
    members = [SimulatedMember(group, number) for number in range(_MEMBERS_EACH) for group in groups]
    swarm = Swarm(broker.port)
    swarm.connect(members, 1, LIBRDKAFKA)
    began = time.monotonic()
    for number, member in enumerate(members):
        swarm.run(began + number * _SLOWEST_INTERVAL_S / _MEMBERS)
        swarm.join([member])
    swarm.run(began + _STABLE_WITHIN_S, lambda: all(group.ownership.is_balanced() for group in groups))
    swarm.run(time.monotonic() + _SLOWEST_INTERVAL_S)
    yield swarm
    swarm.leave(members)
    swarm.wait_until_gone(members)
    swarm.close()


@contextmanager
def _classic_members(_topic: str, broker: Broker) -> Iterator[Swarm]:
    groups = [f"bench-classic-hours-{number}" for number in range(_GROUPS)]
    wait_for_coordinator(broker.port, groups)
    members = join_classic(broker.port, groups, _MEMBERS_EACH, LIBRDKAFKA)
    swarm = Swarm(broker.port)
    began = time.monotonic()
    for number, member in enumerate(members):
        swarm.adopt(member.connected, member)
        swarm.beat_at(began + number * member.interval_s / _MEMBERS, member)
    swarm.run(began + _SLOWEST_INTERVAL_S)
    yield swarm
    leave_classic(broker.port, members)
    swarm.close()
