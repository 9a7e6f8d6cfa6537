"""What a run found: comparisons, each with its bar, kept as JSON for each figure and gathered in one readable page."""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any, Final, Self

RESULTS: Final = Path(__file__).resolve().parent / "results"
_TABLE_HEAD: Final = ("case", "measure", "to reach", "kohort", "kafka", "ratio", "reached", "load")
_SUMMARY_HEAD: Final = ("figure", "measure", "to reach", "ratios (or kohort's values)", "reached")
_PAGE_HEAD: Final = """# Figures, each beside Apache Kafka in the same run

Written by `python -m bench`. MB is 10^6 bytes of record batches on the wire. Each number is the median of the rounds of
one run, in which the brokers took turns. Below the summary: every case, and the conditions it was measured in.
"""


class Bar(Enum):
    """What a bar compares."""

    RATIO_AT_LEAST = "ratio >="
    RATIO_AT_MOST = "ratio <="
    VALUE_AT_MOST = "kohort <="
    NONE = "for information"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One number of kohort beside the same number of Kafka."""

    case: str
    measure: str
    kohort: float | None
    kafka: float | None
    bar: Bar
    limit: float
    load: str
    """Which generator made the load, and what it cost."""

    @property
    def ratio(self) -> float | None:
        return self.kohort / self.kafka if self.kohort is not None and self.kafka else None

    @property
    def reached(self) -> bool | None:
        """None when it cannot be said: nothing is asked, or one side is missing."""
        value = self.kohort if self.bar is Bar.VALUE_AT_MOST else self.ratio
        if value is None or self.bar is Bar.NONE:
            return None
        return value >= self.limit if self.bar is Bar.RATIO_AT_LEAST else value <= self.limit

    def row(self) -> tuple[str, ...]:
        asked = self.bar.value if self.bar is Bar.NONE else f"{self.bar.value} {self.limit:g}"
        verdict = {True: "yes", False: "NO", None: "-"}[self.reached]
        return (
            self.case,
            self.measure,
            asked,
            _number(self.kohort),
            _number(self.kafka),
            _number(self.ratio),
            verdict,
            self.load,
        )


@dataclass(frozen=True, slots=True)
class Result:
    """A figure as one run measured it."""

    name: str
    title: str
    comparisons: Sequence[Comparison]
    conditions: dict[str, str]
    """Machine, versions, command, date, memory state, noise."""
    samples: dict[str, Any] = field(default_factory=dict)
    failure: str = ""

    def save(self, directory: Path = RESULTS) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        rows = [
            asdict(found) | {"bar": found.bar.value, "ratio": found.ratio, "reached": found.reached}
            for found in self.comparisons
        ]
        text = json.dumps(asdict(self) | {"comparisons": rows}, indent=1)
        (directory / f"{self.name}.json").write_text(text + "\n")

    @classmethod
    def load(cls, path: Path) -> Self:
        stored = json.loads(path.read_text())
        comparisons = []
        for row in stored.pop("comparisons"):
            del row["ratio"], row["reached"]
            comparisons.append(Comparison(**row | {"bar": Bar(row["bar"])}))
        return cls(**stored | {"comparisons": comparisons})

    def text(self) -> str:
        """The figure as a table for a terminal."""
        rows = [_TABLE_HEAD, *(comparison.row() for comparison in self.comparisons)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_TABLE_HEAD))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
        failure = [f"FAILED: {self.failure}"] if self.failure else []
        return "\n".join([f"{self.name}: {self.title}", *lines, *failure])

    def markdown(self) -> str:
        head = [f"## {self.name}", "", self.title, ""]
        conditions = "; ".join(f"{name}: {value}" for name, value in self.conditions.items())
        table = [_markdown_row(_TABLE_HEAD), _markdown_row(["---"] * len(_TABLE_HEAD))]
        table += [_markdown_row(comparison.row()) for comparison in self.comparisons]
        failure = ["", f"**Failed:** {self.failure.splitlines()[-1]}"] if self.failure else []
        return "\n".join([*head, *table, *failure, "", f"*{conditions}*", ""])


def write_page(names: Sequence[str], directory: Path = RESULTS) -> Path:
    """Gathers what is kept of these figures, in this order, into RESULTS.md."""
    results = [Result.load(path) for name in names if (path := directory / f"{name}.json").exists()]
    lines = [_PAGE_HEAD, _markdown_row(_SUMMARY_HEAD), _markdown_row(["---"] * len(_SUMMARY_HEAD))]
    for result in results:
        lines += [_markdown_row(row) for row in _summary(result)]
    lines.append("")
    lines += [result.markdown() for result in results]
    page = directory / "RESULTS.md"
    page.write_text("\n".join(lines))
    return page


def _summary(result: Result) -> list[tuple[str, ...]]:
    """One row for each thing asked of a figure: the median and the worst of its cases, and how many reached it."""
    asked: dict[tuple[str, Bar, float], list[Comparison]] = {}
    for comparison in result.comparisons:
        if comparison.bar is not Bar.NONE:
            asked.setdefault((comparison.measure, comparison.bar, comparison.limit), []).append(comparison)
    rows: list[tuple[str, ...]] = []
    for (measure, bar, limit), comparisons in asked.items():
        values = [found.kohort if bar is Bar.VALUE_AT_MOST else found.ratio for found in comparisons]
        known = sorted(value for value in values if value is not None)
        worst = (known[0] if bar is Bar.RATIO_AT_LEAST else known[-1]) if known else None
        middle = statistics.median(known) if known else None
        reached = sum(found.reached is True for found in comparisons)
        spread = f"median {_number(middle)}, worst {_number(worst)}" if len(comparisons) > 1 else _number(middle)
        rows.append((result.name, measure, f"{bar.value} {limit:g}", spread, f"{reached} of {len(comparisons)}"))
    return rows


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
