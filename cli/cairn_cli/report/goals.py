# SPDX-License-Identifier: GPL-2.0-only
"""What Cairn is to reach against InnoDB and MyRocks, and whether the results of a folder reach it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cairn_cli.report import load, markdown
from cairn_cli.report.lines import Lines
from cairn_cli.report.model import Figure, Result, Run, figure

_OURS = "cairn"
_OTHERS = ("innodb", "myrocks")
_NAMES = {"innodb": "InnoDB", "myrocks": "MyRocks"}
_SIZE = "metrics.size.database_bytes"
_TOLD_DIGITS = 7  # of a commit


@dataclass(frozen=True)
class Ratio:
    """Of Cairn's figure to another engine's, of the same turn: the median of all turns, the least and the most."""

    value: float
    low: float
    high: float


# (result, step, other engine) -> ratio; None: not measured
Measure = Callable[[Result, str, str], Ratio | None]


@dataclass(frozen=True)
class Goal:
    """One figure of one step. `bounds`: of the ratio, by the other engine; with none it is not compared."""

    figure: str
    step: str
    measure: Measure
    bounds: dict[str, float]
    is_most: bool = False  # the bounds are the most that the ratio may be, else the least


@dataclass(frozen=True)
class Workload:
    """The goals of one results file."""

    title: str
    file: str  # below the folder, without its ending
    goals: tuple[Goal, ...]


def of(path: str) -> Measure:
    """A figure at a dotted path of each run."""
    def measure(result: Result, step: str, other: str) -> Ratio | None:
        return _ratio(result, step, other, lambda run: run.value(path))
    return measure


def worst_p99(result: Result, step: str, other: str) -> Ratio | None:
    """The operation whose response times compare worst."""
    names = {name for run in result.good(_OURS, step) for name in run.table("outcome.latencies")}
    found = [ratio for name in sorted(names) if (ratio := of(f"outcome.latencies.{name}.p99_ms")(result, step, other))]
    return max(found, key=lambda ratio: ratio.value, default=None)


def line(name: str) -> Measure:
    """The time of one line, within each turn."""
    def measure(result: Result, _step: str, other: str) -> Ratio | None:
        rates = Lines(result, other).relative_rates(_OURS, name)
        return None if rates is None else Ratio(1 / rates.median, 1 / rates.high, 1 / rates.low)
    return measure


def worst_line(result: Result, _step: str, other: str) -> Ratio | None:
    """The line whose rate compares worst."""
    return _over_turns(min(_rates_of_lines(result, other), key=lambda rates: rates.median, default=None))


def middle_line(result: Result, _step: str, other: str) -> Ratio | None:
    """The median of all lines' rates."""
    return _over_turns(figure([rates.median for rates in _rates_of_lines(result, other)]))


def last_tenth(result: Result, step: str, _other: str) -> Ratio | None:
    """Of Cairn's own rate."""
    return _over_turns(figure([
        tenth / rate for run in result.good(_OURS, step)
        if (tenth := run.value("outcome.detail.last_tenth_ips")) and (rate := run.value("rate"))]))


def best_setting(result: Result, step: str, _other: str) -> Ratio | None:
    """Cairn's rate with the settings of the comparison, to the best of the variants in the file."""
    variants = [engine for engine in result.engines if engine != _OURS]
    found = [ratio for engine in variants if (ratio := of("rate")(result, step, engine))]
    return min(found, key=lambda ratio: ratio.value, default=None)


def of_variant(path: str, engine: str) -> Measure:
    """A figure at a dotted path of each run, to that of this engine of the file."""
    def measure(result: Result, step: str, _other: str) -> Ratio | None:
        return of(path)(result, step, engine)
    return measure


def _rates_of_lines(result: Result, other: str) -> list[Figure]:
    lines = Lines(result, other)
    return [rates for name in lines.own_names if (rates := lines.relative_rates(_OURS, name))]


def _over_turns(found: Figure | None) -> Ratio | None:
    return found and Ratio(found.median, found.low, found.high)


def _ratio(result: Result, step: str, other: str, value: Callable[[Run], float | None]) -> Ratio | None:
    """Within each turn: from one to the next a machine's speed changes, and a database ages."""
    ours, theirs = ({run.repeat: value(run) for run in result.good(engine, step)} for engine in (_OURS, other))
    return _over_turns(figure([mine / base for repeat, mine in ours.items()
                               if mine is not None and (base := theirs.get(repeat))]))


def _requests(step: str, clients: str = "") -> tuple[Goal, ...]:
    return (
        Goal(f"transactions/s{clients}", step, of("rate"), {"innodb": 1.5, "myrocks": 1.5}),
        Goal("… KB written for each", step, of("metrics.per_operation.written_kb"),
             {"innodb": 0.1, "myrocks": 1.0}, is_most=True),
        Goal("… server CPU for each", step, of("metrics.per_operation.server_cpu_us"),
             {"innodb": 1.0, "myrocks": 0.65}, is_most=True),
        Goal("… database size", step, of(_SIZE),
             {"innodb": 1 / 3, "myrocks": 0.95}, is_most=True),
        Goal("… p99, worst of ten operations", step, worst_p99, {"innodb": 1.0, "myrocks": 1.0}, is_most=True),
    )


_SIZES_OF_COMPRESSED = tuple(
    Goal(f"… size, of {name}", "query", of_variant(_SIZE, engine), {_OURS: 0.5}, is_most=True)
    for engine, name in (("innodb-compressed", "InnoDB's with compressed rows"),
                         ("innodb-page-compressed", "InnoDB's with compressed pages")))
_LOAD = Goal("load, rows/s", "load", of("rate"), {"innodb": 1.0, "myrocks": 2.0})


def _time(name: str, line_name: str, innodb: float, myrocks: float) -> Goal:
    return Goal(name, "", line(line_name), {"innodb": innodb, "myrocks": myrocks}, is_most=True)


_INSERT = (
    Goal("rows/s on average", "load", of("rate"), {"innodb": 3.0, "myrocks": 1.5}),
    Goal("last tenth, of Cairn's own average", "load", last_tenth, {_OURS: 0.95}),
)

WORKLOADS = (
    Workload("LinkBench, 256 MiB, 1 million ids", "linkbench-256m",
             (*_requests("query"), *_SIZES_OF_COMPRESSED, _LOAD)),
    Workload("LinkBench, 256 MiB, 1 million ids, a volume of 3,000 reads/s", "linkbench-volume", _requests("query")),
    Workload("LinkBench, 1 GiB, 5 million ids", "linkbench-5m", (*_requests("query"), _LOAD)),
    Workload("LinkBench, 384 MiB, 1.5 million ids", "linkbench",
             (*_requests("query-2", ", 2 clients"), *_requests("query-4", ", 4 clients"), _LOAD)),
    Workload("Insert Benchmark, 384 MiB, 20 million rows", "insert-20m", _INSERT),
    Workload("Insert Benchmark, 384 MiB, 2 million rows", "insert", _INSERT),
    Workload("Full scans, 8 tables", "scan", (_time("time before updates", "scan-before: full-all", 0.9, 0.6),
                                              _time("time after updates", "scan-after: full-all", 0.9, 0.6))),
    Workload("oltp, in memory", "oltp", (Goal("rate, worst line", "", worst_line, {"innodb": 1.0, "myrocks": 1.0}),
                                         Goal("rate, median of all lines", "", middle_line, {"myrocks": 1.3}))),
    Workload("Index builds and copies", "ddl", tuple(_time(name, name, 1.0, 0.3) for name in (
        "index-int", "index-text", "rebuild", "copy", "create-select"))),
    Workload("Settings of the comparison, of hand-tuned ones", "scale/linkbench-tuned",
             (Goal("transactions/s, of the best", "query", best_setting, {_OURS: 0.9}),)),
)


def block(folder: Path) -> str:
    """Markdown: a row for each goal."""
    rows: list[list[str]] = []
    made: dict[str, list[str]] = {}
    for workload in WORKLOADS:
        path = folder / f"{workload.file}.json"
        result = load.one(path) if path.exists() else None
        if result:
            made.setdefault(_engine_of(result), []).append(result.name)
        rows += [[workload.title if not at else "", *_cells(goal, result)] for at, goal in enumerate(workload.goals)]
    head = ["Workload", "Figure", *(text for other in _OTHERS for text in (f"{_NAMES[other]}: goal", "is", "in turns"))]
    return "\n".join([*markdown.table(head, rows, left=2), "", *_origins(made)])


def _origins(made: dict[str, list[str]]) -> list[str]:
    if len(made) == 1:
        return [f"All of {next(iter(made))}."]
    return [f"- {origin}: {', '.join(names)}" for origin, names in made.items()]


def _engine_of(result: Result) -> str:
    versions, started = result.head.get("versions") or {}, str(result.head.get("started") or "")[:10]
    commit = str(versions.get("cairn_commit") or "unknown").removesuffix("-dirty")[:_TOLD_DIGITS]
    return f"commit {commit}, {started}"


def _cells(goal: Goal, result: Result | None) -> list[str]:
    return [markdown.cell(goal.figure), *(text for other in _OTHERS for text in _against(goal, result, other))]


def _against(goal: Goal, result: Result | None, other: str) -> list[str]:
    """What is Cairn's own stands in the first columns."""
    bound = goal.bounds.get(other, goal.bounds.get(_OURS) if other == _OTHERS[0] else None)
    if bound is None:
        return [markdown.NONE] * 3
    wanted = f"{'≤' if goal.is_most else '≥'} {bound:.3g}"
    found = goal.measure(result, goal.step, other) if result else None
    if found is None:
        return [wanted, "not measured", markdown.NONE]
    is_reached = found.value <= bound if goal.is_most else found.value >= bound
    turns = f"{_shown(found.low)} – {_shown(found.high)}" if found.low != found.high else markdown.NONE
    return [wanted, f"{'✓' if is_reached else '✗'} {_shown(found.value)}", turns]


def _shown(value: float) -> str:
    """Three digits, so that a third can be told from less."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.4 else f"{value:.3f}"
