"""A restart after kill -9 with a million committed offsets in ten thousand groups, until every coordinator answers.

Each offset must be there again: after the clock has stopped, all groups are asked for all of them. Kafka is given a
tenth, for scale.
"""

import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from bench import brokers, connection
from bench.brokers import Broker, Subject
from bench.figures import Figure, Measured, Readings
from bench.frames import Burst, CheckedFrame, burst_of
from bench.group_calls import wait_for_coordinator
from bench.group_frames import commit_frame, offset_fetch_frame
from bench.processes import run_apart
from bench.pumping import pump
from bench.report import Bar
from bench.session import Session

_GROUPS: Final = 10_000
_OFFSETS_EACH: Final = {Subject.KOHORT: 100, Subject.KAFKA: 10}
_QUICK_GROUPS: Final = 1_000
_COORDINATORS: Final = 50
_CONNECTIONS: Final = 10
_BURST_SIZE: Final = 10
_ASK_EVERY_S: Final = 0.005
_MARK: Final = b"00000"
_ANSWERED: Final = "s from exec until OffsetFetch answers"
_COMMITTED: Final = "s to commit them"


def _restart(session: Session) -> Measured:
    readings = Readings()
    group_count = _QUICK_GROUPS if session.quick else _GROUPS
    case = f"{group_count:,} groups, 100 offsets each (Kafka: 10)"
    for subject in session.among(Subject.KOHORT, Subject.KAFKA):
        for _ in range(1 if subject.is_kafka else session.rounds):
            broker = brokers.start(subject, session.root / "group-restart")
            try:
                committed, answered = _killed_and_restarted(broker, group_count, _OFFSETS_EACH[subject])
            finally:
                broker.stop()
            readings.take(case, _COMMITTED, subject, committed)
            readings.take(case, _ANSWERED, subject, answered)
    comparisons = (
        readings.compare(case, _ANSWERED, Bar.VALUE_AT_MOST, 2.0, "raw frames"),
        readings.compare(case, _COMMITTED, Bar.NONE, 0.0, "raw frames"),
    )
    return Measured(comparisons, readings=readings)


def _killed_and_restarted(broker: Broker, group_count: int, offsets_each: int) -> tuple[float, float]:
    """Seconds to commit everything, and from exec until the coordinators of all groups answer."""
    topic = "bench-offsets"
    connection.create_topic(broker.port, topic, offsets_each)
    # The offsets differ from one partition to the next; what differs from group to group is the group.
    offsets = {partition: 1_000_003 * (partition + 1) for partition in range(offsets_each)}
    name = f"bench-{_MARK.decode()}"
    groups = [f"bench-{number:05}" for number in range(1, group_count + 1)]
    asked = one_for_each_coordinator(groups)
    wait_for_coordinator(broker.port, asked)
    committed_s = _send_each(broker, commit_frame(name, topic, offsets), groups)
    broker.kill()
    began = time.monotonic()
    broker.execute()
    wait_for_coordinator(broker.port, asked, _ASK_EVERY_S)
    answered_s = time.monotonic() - began
    _send_each(broker, offset_fetch_frame(name, topic, offsets), groups)
    return committed_s, answered_s


def one_for_each_coordinator(groups: Sequence[str]) -> list[str]:
    """Of these groups one in each partition of the offsets topic: each of those is loaded by itself."""
    found: dict[int, str] = {}
    for group in groups:
        found.setdefault(java_hash(group) % _COORDINATORS, group)
    if len(found) < _COORDINATORS:
        raise ValueError(f"{len(groups)} groups lie in {len(found)} partitions only")
    return list(found.values())


def _send_each(broker: Broker, template: CheckedFrame, groups: Sequence[str]) -> float:
    """The template once for each group, each answered as it says; the seconds it took."""
    frames = [for_group(template, group) for group in groups]
    each = len(frames) // _CONNECTIONS
    cycles: list[list[Burst]] = [
        [burst_of(frames[first : first + _BURST_SIZE]) for first in range(start, start + each, _BURST_SIZE)]
        for start in range(0, len(frames), each)
    ]
    (finished,) = run_apart(partial(pump, broker.port, cycles, turns=len(cycles[0])))
    return finished.result.seconds


def for_group(template: CheckedFrame, group: str) -> CheckedFrame:
    """Names are of one length, so nothing else in the frame changes."""
    number = group[-len(_MARK) :].encode()
    return template._replace(
        data=template.data.replace(_MARK, number, 1), accepted=template.accepted.replace(_MARK, number, 1)
    )


def java_hash(text: str) -> int:
    """Java's hash of an ASCII string as Kafka uses it: without its sign."""
    number = 0
    for letter in text.encode():
        number = (31 * number + letter) & 0xFFFFFFFF
    return abs(number - (1 << 32) if number >= 1 << 31 else number) % (1 << 31)


FIGURES: Final = (
    Figure("restart-groups", "Start after kill -9 with 1,000,000 committed offsets in 10,000 groups", _restart),
)
