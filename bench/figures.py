"""What a figure is: a name, what it promises, and a function that measures it in a session."""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.brokers import Subject
from bench.report import Bar, Comparison
from bench.rounds import Sample, Samples, median
from bench.session import Session


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of `python -m bench --list`."""

    name: str
    title: str
    measure: Callable[[Session], "Measured"]


@dataclass(frozen=True, slots=True)
class Measured:
    """What measuring a figure gave: the comparisons, and the rounds they were made from, by case."""

    comparisons: Sequence[Comparison]
    samples: dict[str, Samples] = field(default_factory=dict)
    readings: "Readings | None" = None


@dataclass(frozen=True, slots=True)
class Asked:
    """One thing that a figure asks of two subjects."""

    measure: str
    value: Callable[[Sample], float]
    bar: Bar
    limit: float = 0.0
    kohort: Subject = Subject.KOHORT
    kafka: Subject = Subject.KAFKA

    def compare(self, case: str, samples: Samples, generator: str) -> Comparison:
        kohort, kafka = (
            median(samples[subject], self.value) if samples.get(subject) else None
            for subject in (self.kohort, self.kafka)
        )
        return Comparison(case, self.measure, kohort, kafka, self.bar, self.limit, _load(samples, generator))


class Readings:
    """Plain numbers, read round by round, where a round is not one load: how long a rebalance took, for example."""

    def __init__(self) -> None:
        self._taken: dict[tuple[str, str], dict[Subject, list[float]]] = {}

    def take(self, case: str, measure: str, subject: Subject, *values: float) -> None:
        self._taken.setdefault((case, measure), {}).setdefault(subject, []).extend(values)

    def compare(self, case: str, measure: str, bar: Bar, limit: float, load: str) -> Comparison:
        """The medians of the two brokers."""
        taken = self._taken.get((case, measure), {})
        kohort, kafka = (
            statistics.median(taken[subject]) if taken.get(subject) else None
            for subject in (Subject.KOHORT, Subject.KAFKA)
        )
        return Comparison(case, measure, kohort, kafka, bar, limit, load)

    def plain(self) -> dict[str, dict[str, list[float]]]:
        """Every number that was read, as JSON takes it."""
        return {
            f"{case}: {measure}": {subject.value: values for subject, values in taken.items()}
            for (case, measure), taken in self._taken.items()
        }


def compare(case: str, asked: Sequence[Asked], samples: Samples, generator: str) -> list[Comparison]:
    return [one.compare(case, samples, generator) for one in asked]


def _load(samples: Samples, generator: str) -> str:
    """The generator and the most CPU that it cost in a round, as a share of one processor."""
    shares = [sample.load_share for rounds in samples.values() for sample in rounds]
    return f"{generator}, {max(shares):.0%} CPU" if shares else generator
