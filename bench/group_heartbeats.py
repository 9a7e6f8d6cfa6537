"""Heartbeats that are answered and not held, classic and KIP-848: how many a second, and what one costs the broker.

Sixteen groups of sixteen members, a connection for each group; each carries 64 heartbeats at once, four of each member.
The members join first, on connections of their own that stay open. The load says nothing of its software, so no broker
holds its heartbeats.
"""

import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Final

from bench.brokers import Broker, Subject
from bench.connection import LoadError
from bench.figures import Asked, Figure, Measured, Readings, compare
from bench.frames import Burst, burst_of
from bench.group_calls import UNKNOWN, wait_for_coordinator
from bench.group_classic import join_classic, leave_classic
from bench.group_frames import consumer_heartbeat_frame
from bench.group_member_hours import measure_member_hours
from bench.group_simulation import SimulatedGroup, SimulatedMember
from bench.group_swarm import Swarm
from bench.pumping import pump
from bench.report import Bar
from bench.rounds import Sample, alternate, measure
from bench.session import Session

_GROUPS: Final = 16
_MEMBERS_EACH: Final = 16
_EACH: Final = 2
"""Heartbeats of each member in a burst; two bursts are under way."""
_STABLE_WITHIN_S: Final = 60.0
_KEPT_UP_S: Final = 6.0
"""More than an interval: after it, every member has said what it owns."""
_ASKED: Final = (
    Asked("heartbeats/s", lambda sample: sample.requests_per_s, Bar.RATIO_AT_LEAST, 5.0),
    Asked(
        "broker CPU us/heartbeat",
        lambda sample: sample.broker_cpu_s * 1e6 / sample.load.requests,
        Bar.RATIO_AT_MOST,
        0.2,
    ),
)
_GENERATOR: Final = "raw frames"

Cycles = Sequence[Sequence[Burst]]


def _heartbeats(session: Session) -> Measured:
    comparisons, kept = [], {}
    for case, join in (("classic", _joined_classic), ("KIP-848", _joined_consumer)):
        with ExitStack() as stack:
            cycles = {
                subject: join(session, session.broker(subject), stack)
                for subject in session.among(Subject.KOHORT, Subject.KAFKA)
            }
            run = partial(_round, session, cycles)
            samples = alternate(list(cycles), session.group_rounds, run, warm_up=True)
        case = f"{case}, as many as it takes"
        comparisons += compare(case, _ASKED, samples, _GENERATOR)
        kept[case] = samples
    readings = Readings()
    comparisons += measure_member_hours(session, readings)
    return Measured(comparisons, kept, readings)


def _round(session: Session, cycles: dict[Subject, Cycles], subject: Subject) -> Sample:
    broker = session.broker(subject)
    return measure(broker, 0, partial(pump, broker.port, cycles[subject], session.load_s))


def _joined_classic(session: Session, broker: Broker, stack: ExitStack) -> Cycles:
    groups = [f"bench-classic-{number}" for number in range(_GROUPS)]
    wait_for_coordinator(broker.port, groups)
    members = join_classic(broker.port, groups, _MEMBERS_EACH, UNKNOWN)
    stack.callback(leave_classic, broker.port, members)
    return [[burst_of([member.heartbeat for member in members if member.group == group] * _EACH)] for group in groups]


def _joined_consumer(session: Session, broker: Broker, stack: ExitStack) -> Cycles:
    topic = stack.enter_context(session.topic(broker, _MEMBERS_EACH))
    groups = [SimulatedGroup(f"bench-consumer-{number}", [topic], _MEMBERS_EACH) for number in range(_GROUPS)]
    wait_for_coordinator(broker.port, [group.name for group in groups])
    members = [[SimulatedMember(group, number) for number in range(_MEMBERS_EACH)] for group in groups]
    swarm = Swarm(broker.port)
    everybody = [member for own in members for member in own]
    swarm.connect(everybody, 1, UNKNOWN)
    stack.callback(swarm.close)
    swarm.join(everybody)
    stack.callback(swarm.wait_until_gone, everybody)
    stack.callback(swarm.leave, everybody)
    swarm.run(time.monotonic() + _STABLE_WITHIN_S, lambda: all(group.ownership.is_balanced() for group in groups))
    swarm.run(time.monotonic() + _KEPT_UP_S)
    if any(len({member.epoch for member in own}) > 1 for own in members):
        raise LoadError(f"groups were not stable within {_STABLE_WITHIN_S:.0f} s")
    return [
        [burst_of([consumer_heartbeat_frame(group.name, member.member_id, member.epoch) for member in own] * _EACH)]
        for group, own in zip(groups, members)
    ]


FIGURES: Final = (
    Figure(
        "heartbeats", "Heartbeats answered and not held, and the cost of a member-hour at the defaults", _heartbeats
    ),
)
