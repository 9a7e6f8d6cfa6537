"""What a figure is: a name, what it promises, and a function that measures it in a session."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

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
    samples: dict[str, Samples]


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


def compare(case: str, asked: Sequence[Asked], samples: Samples, generator: str) -> list[Comparison]:
    return [one.compare(case, samples, generator) for one in asked]


def _load(samples: Samples, generator: str) -> str:
    """The generator and the most CPU that it cost in a round, as a share of one processor."""
    shares = [sample.load_share for rounds in samples.values() for sample in rounds]
    return f"{generator}, {max(shares):.0%} CPU" if shares else generator
