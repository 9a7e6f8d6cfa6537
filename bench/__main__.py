"""`python -m bench`: measures the figures, prints a table for each, and keeps what it found in bench/results."""

import argparse
import os
import shlex
import signal
import statistics
import sys
import tempfile
import time
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from bench import (
    brokers,
    clients,
    consume,
    group_heartbeats,
    group_offsets,
    group_rebalance,
    group_restart,
    group_simulated,
    latency,
    machine,
    partitions,
    produce,
    report,
    start,
)
from bench.figures import Figure, Measured
from bench.rounds import Sample, Samples
from bench.session import Session

_PERCENTILES: Final = (50, 90, 99, 99.9)
FIGURES: Final[tuple[Figure, ...]] = (
    *produce.FIGURES,
    *clients.FIGURES,
    *consume.FIGURES,
    *latency.FIGURES,
    *partitions.FIGURES,
    *start.FIGURES,
    *group_rebalance.FIGURES,
    *group_simulated.FIGURES,
    *group_heartbeats.FIGURES,
    *group_offsets.FIGURES,
    *group_restart.FIGURES,
)


def main(arguments: Sequence[str]) -> int:
    """0 when every figure could be measured; whether they were reached is for the reader of the table."""
    options = _parser().parse_args(arguments)
    if options.list:
        print("\n".join(f"{figure.name:20} {figure.title}" for figure in FIGURES))
        return 0
    kinds = _kinds(options.target)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("told to end"))  # No broker is left behind.
    chosen = [figure for figure in FIGURES if not options.only or figure.name in options.only]
    with tempfile.TemporaryDirectory(prefix="kohort-bench-", dir=options.data_root) as root:
        session = Session(Path(root), kinds, quick=options.quick)
        try:
            results = [_run(figure, session, arguments) for figure in chosen]
        finally:
            session.stop()
    print(f"kept in {report.write_page([figure.name for figure in FIGURES])}")
    return 1 if any(result.failure for result in results) else 0


def _run(figure: Figure, session: Session, arguments: Sequence[str]) -> report.Result:
    """Measures one figure; a broker that fails at it fails this figure only."""
    began = time.monotonic()
    measured, failure = Measured(()), ""
    try:
        measured = figure.measure(session)
    except Exception:
        failure = traceback.format_exc()
    conditions = _conditions(measured, arguments) | {
        "load average of the last 5 minutes": f"{os.getloadavg()[1]:.1f}",
        "took": f"{time.monotonic() - began:.0f} s",
    }
    samples = {case: _plain(found) for case, found in measured.samples.items()}
    samples |= measured.readings.plain() if measured.readings else {}
    result = report.Result(figure.name, figure.title, measured.comparisons, conditions, samples, failure)
    result.save()
    print(result.text(), "\n", flush=True)
    return result


def _conditions(measured: Measured, arguments: Sequence[str]) -> dict[str, str]:
    """All that one must know to believe a number, or to doubt it."""
    rounds = [sample for case in measured.samples.values() for found in case.values() for sample in found]
    conditions = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        **machine.describe(),
        **{f"{name} version": version for name, version in brokers.versions().items()},
        "command": shlex.join(["python", "-m", "bench", *arguments]),
    }
    if rounds:
        memory = statistics.median(sample.fresh_write_ms_per_mb for sample in rounds)
        others = statistics.median(sample.other_share for sample in rounds)
        conditions["memory"] += f", a fresh page-cache write costs {memory:.2f} ms/MB (median of the rounds)"
        conditions["CPU of all else"] = f"{others:.0%} of one processor (median of the rounds)"
    return conditions


def _plain(samples: Samples) -> dict[str, Any]:
    """The rounds of a case as JSON takes them: of latencies only some percentiles."""
    return {subject.value: [_plain_sample(sample) for sample in found] for subject, found in samples.items()}


def _plain_sample(sample: Sample) -> dict[str, Any]:
    plain = asdict(sample)
    if sample.load.latencies_ms:
        percentiles = {f"p{percent:g}": sample.load.percentile_ms(percent) for percent in _PERCENTILES}
        plain["load"]["latencies_ms"] = percentiles
    return plain


def _kinds(target: str) -> list[str]:
    if target == "both" and not brokers.kafka_is_here():
        print(f"Kafka is not at {brokers.KAFKA_SCRIPT}: kohort is measured alone.", file=sys.stderr)
        return ["kohort"]
    return ["kohort", "kafka"] if target == "both" else [target]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", choices=[figure.name for figure in FIGURES])
    parser.add_argument("--quick", action="store_true", help="one short round of each, for a first impression")
    parser.add_argument("--list", action="store_true", help="name the figures and end")
    parser.add_argument("--target", choices=("both", "kohort", "kafka"), default="both")
    parser.add_argument("--data-root", metavar="DIR", help="where the brokers keep their data while they are measured")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
