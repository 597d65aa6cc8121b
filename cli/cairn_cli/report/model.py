# SPDX-License-Identifier: GPL-2.0-only
"""Results as the report sees them: runs, looked up by dotted path, and figures over their repeats."""

import re
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cairn_cli.spread import spread

OK = "ok"

# Engines are told in this order; others follow by name.
_ORDER = ("cairn", "myrocks", "innodb", "innodb-compressed", "innodb-page-compressed")


@dataclass(frozen=True)
class Column:
    """A figure of a table: see docs/benchmarks.md."""

    label: str
    path: str
    digits: int = 1
    better: str | None = None
    divisor: float = 1.0


@dataclass(frozen=True)
class Figure:
    """The median of a figure over its repeats, and how far they lie apart."""

    median: float
    low: float
    high: float
    count: int

    @property
    def spread(self) -> float:
        """Relative to the median; 0 for one run, which has none."""
        return spread(self.low, self.high, self.count) / abs(self.median) if self.median and self.count > 1 else 0.0


@dataclass(frozen=True)
class Run:
    """One step on one engine, once."""

    engine: str
    step: str
    clients: int
    repeat: int
    status: str
    error: str
    data: dict[str, Any]

    @property
    def ok(self) -> bool:
        """Whether it went well. Its figures count if all runs of its engine were valid: Result.good."""
        return self.status == OK

    def value(self, path: str) -> float | None:
        """The number at a dotted path; None where there is none."""
        found = at(self.data, path)
        return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None

    def table(self, path: str) -> dict[str, Any]:
        """The object at a path; empty where there is none."""
        found = at(self.data, path)
        return found if isinstance(found, dict) else {}

    def rows(self, path: str) -> list[dict[str, Any]]:
        """The list of objects at a path; empty where there is none."""
        found = at(self.data, path)
        return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


@dataclass(frozen=True)
class Result:
    """One file: one invocation of `./cairn bench`."""

    path: Path
    workload: str
    unit: str
    complete: bool
    head: dict[str, Any]  # the file without its runs
    columns: list[Column]
    runs: list[Run]
    invalid: frozenset[str] = frozenset()  # engines with a run that failed its checks: none of their figures count
    repeatable: dict[str, bool] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of the file, and of its pictures."""
        return self.path.stem

    @property
    def engines(self) -> list[str]:
        """Those that ran or were to run."""
        named = {*self.head.get("engines", {}), *(run.engine for run in self.runs)}
        return sorted(named, key=_engine_rank)

    @property
    def steps(self) -> list[str]:
        """Those that are to be shown, in their order."""
        declared = [str(each.get("name")) for each in self.head.get("steps", [])]
        hidden = {str(each.get("name")) for each in self.head.get("steps", []) if not each.get("shown", True)}
        names = dict.fromkeys([*declared, *(run.step for run in self.runs)])
        return [name for name in names if name not in hidden]

    @property
    def is_of_lines(self) -> bool:
        """Whether its lines are the benchmark, not a detail of some step: a rate over all of them says nothing."""
        lined = {run.step for run in self.runs if run.table("outcome.lines")}
        repeatable = {run.step for run in self.runs if self.repeatable.get(run.step)}
        return repeatable <= lined if repeatable else bool(lined)

    def of(self, engine: str, step: str) -> list[Run]:
        """All runs of a step on an engine, in order."""
        return [run for run in self.runs if run.engine == engine and run.step == step]

    def good(self, engine: str, step: str) -> list[Run]:
        """Those whose figures count."""
        return [run for run in self.of(engine, step) if self.counts(run)]

    def counts(self, run: Run) -> bool:
        """Whether a run's figures may be shown as results."""
        return run.ok and run.engine not in self.invalid

    def figure(self, engine: str, step: str, path: str) -> Figure | None:
        """Over the good runs of a step."""
        return figure([run.value(path) for run in self.good(engine, step)])

    def step_head(self, step: str) -> dict[str, Any]:
        """What the file says of a step."""
        return next((each for each in self.head.get("steps", []) if each.get("name") == step), {})

    def base(self, wanted: str | None) -> str:
        """The engine to which the others are compared."""
        for name in (wanted, "innodb"):
            if name in self.engines:
                return str(name)
        return self.engines[-1] if self.engines else ""


def at(value: Any, path: str) -> Any:
    """What lies at a dotted path. A key may contain dots itself: the longest that is there is taken."""
    if not path:
        return value
    parts = path.split(".")
    if isinstance(value, list):
        index = int(parts[0]) if parts[0].isdigit() else len(value)
        return at(value[index], ".".join(parts[1:])) if index < len(value) else None
    if not isinstance(value, dict):
        return None
    for length in range(len(parts), 0, -1):
        key = ".".join(parts[:length])
        if key in value:
            return at(value[key], ".".join(parts[length:]))
    return None


def figure(values: list[float | None]) -> Figure | None:
    """Median and range of the values that are there."""
    found = [value for value in values if value is not None]
    if not found:
        return None
    return Figure(statistics.median(found), min(found), max(found), len(found))


def family(step: str) -> str:
    """Steps that differ only in a last number are one family: query-1, query-2."""
    return re.sub(r"[-_]\d+$", "", step)


def last_of_families(steps: list[str]) -> list[str]:
    """The last step of each family, in order."""
    return list({family(step): step for step in steps}.values())


def _engine_rank(name: str) -> tuple[int, str]:
    return (_ORDER.index(name) if name in _ORDER else len(_ORDER), name)
