"""Start: from exec to the first ApiVersions answer, the memory of an idle broker, and the start after kill -9."""

import time
from functools import partial
from typing import Final

from bench import brokers, connection
from bench.batches import batch_of_size
from bench.brokers import Broker, Subject
from bench.figures import Figure, Measured
from bench.frames import cycles_for
from bench.processes import run_apart
from bench.pumping import pump
from bench.report import Bar, Comparison
from bench.session import Session

_IDLE_S: Final = 3.0
_PARTITIONS: Final = 8
_LOG_BYTES: Final = 2_000_000_000


def _start(session: Session) -> Measured:
    """A broker that has run before and was stopped cleanly, started again on its own data."""
    seconds: dict[Subject, float] = {}
    resident: dict[Subject, float] = {}
    for subject in session.among(Subject.KOHORT, Subject.KAFKA):
        broker = brokers.start(subject, session.root / "start")
        starts = []
        for _ in range(session.rounds + 1):
            broker.stop()
            starts.append(broker.execute())
        time.sleep(_IDLE_S)
        seconds[subject] = sorted(starts)[len(starts) // 2]
        resident[subject] = broker.resident_mb()
        broker.stop()
    case = "clean start"
    comparisons = (
        _compare(case, "s from exec to first answer", seconds, 0.5),
        _compare("idle", "resident MB", resident, 80.0),
    )
    return Measured(comparisons, {})


def _restart(session: Session) -> Measured:
    """kill -9 while 2 GB lie in the log, all acknowledged; every record must be there again."""
    answered: dict[Subject, float] = {}
    readable: dict[Subject, float] = {}
    for subject in session.among(Subject.KOHORT, Subject.KAFKA):
        broker = brokers.start(subject, session.root / "restart")
        try:
            answered[subject], readable[subject] = _killed_and_restarted(broker, "bench-restart")
        finally:
            broker.stop()
    case = f"{_LOG_BYTES / 1e9:g} GB, {_PARTITIONS} partitions"
    comparisons = (
        _compare(case, "s from exec to first answer", answered, 2.0),
        _compare(case, "s from exec until all partitions answer", readable, 0.0, Bar.NONE),
    )
    return Measured(comparisons, {})


def _killed_and_restarted(broker: Broker, topic: str) -> tuple[float, float]:
    """Seconds to the first answer, and until every partition tells the end offset it had."""
    connection.create_topic(broker.port, topic, _PARTITIONS)
    cycles = cycles_for(topic, _PARTITIONS, batch_of_size(1 << 16, 1024), connections=2, burst_size=4)
    (pumped,) = run_apart(partial(pump, broker.port, cycles, record_bytes=_LOG_BYTES))
    broker.kill()
    began = time.monotonic()
    answered = broker.execute()
    connection.wait_ready(broker.port, topic, _PARTITIONS)
    readable = time.monotonic() - began
    found = sum(connection.end_offsets(broker.port, topic, _PARTITIONS))
    if found < pumped.result.records:
        raise RuntimeError(f"{broker.subject.value} lost {pumped.result.records - found} acknowledged records")
    return answered, readable


def _compare(
    case: str, measure: str, values: dict[Subject, float], limit: float, bar: Bar = Bar.VALUE_AT_MOST
) -> Comparison:
    return Comparison(case, measure, values.get(Subject.KOHORT), values.get(Subject.KAFKA), bar, limit, "raw frames")


FIGURES: Final = (
    Figure("start", "Start and idle memory", _start),
    Figure("restart", "Start after kill -9 with 2 GB in the log", _restart),
)
