# SPDX-License-Identifier: GPL-2.0-only
"""The tables: an engine per row, a metric per column, absolute and relative to a base engine."""

from collections.abc import Callable

from cairn_cli.report import markdown, model
from cairn_cli.report.model import Column, Result

RATE = Column("rate", "rate", 0, "higher")
_COLUMNS_WIDE = 9
_STEPS_WIDE = 10  # more steps than that go down the page, not across
_ARROWS = {"higher": " ↑", "lower": " ↓"}


def overview(result: Result, base: str) -> list[str]:
    """The rate of every step, where there is more than one. The rate of many different lines says nothing."""
    steps = [step for step in result.steps if any(run.step == step for run in result.runs)
             and not (result.is_of_lines and has_lines(result, step))]
    if len(steps) < 2:
        return []
    units = {step: unit(result, step) for step in steps}
    one_unit = len(set(units.values())) == 1
    heads = {step: markdown.cell(step if one_unit else f"{step} ({markdown.plural(units[step])})") for step in steps}
    counted = markdown.plural(units[steps[0]]) if one_unit else "operations"
    lines = [f"{counted.capitalize()} per second, by step:", ""]

    def absolute(engine: str, step: str) -> str:
        return _cell(result, engine, step, _rate_column(result, step))

    lines += _grid(result, heads, absolute)
    if others := _others(result, base):
        lines += ["", f"Relative to {base}:", ""]
        lines += _grid(result, heads, lambda engine, step: _ratio(result, engine, step, RATE, base), others)
    return lines


def _grid(result: Result, heads: dict[str, str], cell: Callable[[str, str], str],
          engines: list[str] | None = None) -> list[str]:
    engines = engines or result.engines
    if len(heads) > _STEPS_WIDE:
        return markdown.table(["step", *engines], [
            [head, *(cell(engine, step) for engine in engines)] for step, head in heads.items()])
    return markdown.table(["", *heads.values()], [
        [engine, *(cell(engine, step) for step in heads)] for engine in engines])


def step(result: Result, name: str, base: str) -> list[str]:
    """All columns of one step, in as many tables as they need."""
    lines: list[str] = []
    parts = _parts(shown_columns(result, name))
    for columns in parts:
        lines += ["", *markdown.table(["", *(markdown.cell(column.label) for column in columns)], [
            [engine, *(_cell(result, engine, name, column) for column in columns)]
            for engine in result.engines])]
    if others := _others(result, base):
        lines += ["", f"Relative to {base} (↑ more is better, ↓ less is better):"]
        for columns in parts:
            heads = [markdown.cell(column.label) + _ARROWS.get(column.better or "", "") for column in columns]
            lines += ["", *markdown.table(["", *heads], [
                [engine, *(_ratio(result, engine, name, column, base) for column in columns)]
                for engine in others])]
    return lines[1:]


def repeats(result: Result, name: str) -> list[str]:
    """All columns of each repeat; empty where there was one, or where lines say more."""
    runs = [run for run in result.runs if run.step == name]
    if max((run.repeat for run in runs), default=0) == 0 or has_lines(result, name):
        return []
    lines: list[str] = []
    for columns in _parts(shown_columns(result, name)):
        rows = []
        for engine in result.engines:
            for run in result.of(engine, name):
                cells = [markdown.shown(model.figure([run.value(column.path)]), column.digits, column.divisor)
                         if result.counts(run) else f"*{_status(result, run)}*" for column in columns]
                rows.append([f"{engine} {run.repeat + 1}", *cells])
        lines += ["", *markdown.table(["", *(markdown.cell(column.label) for column in columns)], rows)]
    return lines[1:]


def shown_columns(result: Result, name: str) -> list[Column]:
    """Those that any engine has in this step, without those of lines: they have tables of their own."""
    lined = result.is_of_lines and has_lines(result, name)
    columns = [column for column in result.columns or [RATE] if not column.path.startswith("outcome.lines.")
               and not (lined and column.path == RATE.path)]
    found = [column for column in columns if any(
        result.figure(engine, name, column.path) for engine in result.engines)]
    return found or columns[:1]


def has_lines(result: Result, name: str) -> bool:
    """Whether a step has sub-results."""
    return any(run.table("outcome.lines") for run in result.runs if run.step == name)


def _parts(columns: list[Column]) -> list[list[Column]]:
    """Equal parts that fit a page's width."""
    count = -(-len(columns) // _COLUMNS_WIDE)
    size = -(-len(columns) // count) if count else 1
    return [columns[at:at + size] for at in range(0, len(columns), size)]


def _rate_column(result: Result, name: str) -> Column:
    """Small rates need a digit after the point."""
    rates = [found.median for engine in result.engines if (found := result.figure(engine, name, "rate"))]
    return Column(RATE.label, RATE.path, 0 if not rates or min(rates) >= 20 else 1, RATE.better)


def _cell(result: Result, engine: str, name: str, column: Column) -> str:
    found = result.figure(engine, name, column.path)
    if found is None:
        return _state(result, engine, name)
    return markdown.shown(found, column.digits, column.divisor)


def _state(result: Result, engine: str, name: str) -> str:
    """In place of a figure: why there is none."""
    runs = result.of(engine, name)
    if not runs or any(result.counts(run) for run in runs):
        return markdown.NONE
    return f"*{_status(result, runs[-1])}*"


def _status(result: Result, run: model.Run) -> str:
    return "invalid" if run.engine in result.invalid else markdown.cell(run.status)


def _ratio(result: Result, engine: str, name: str, column: Column, base: str) -> str:
    return markdown.ratio(result.figure(engine, name, column.path), result.figure(base, name, column.path))


def _others(result: Result, base: str) -> list[str]:
    return [engine for engine in result.engines if engine != base]


def unit(result: Result, name: str) -> str:
    """Of a step's operations; the workload's where the runs do not say."""
    found = [run.table("outcome").get("unit") for run in result.runs if run.step == name]
    return markdown.cell(next((each for each in found if each), result.unit))


def notes(result: Result) -> list[str]:
    """Every run that is not a result, with its reason."""
    lines = []
    for run in result.runs:
        if not run.ok:
            why = run.error or "; ".join(map(str, run.table("outcome").get("problems") or [])) or "no reason given"
            lines.append(f"- **{markdown.cell(run.status)}**: {run.engine}, {markdown.cell(run.step)},"
                         f" repeat {run.repeat + 1}: {markdown.cell(why)}")
    lines += [f"- {engine}: none of its figures is shown, as a run of it failed its checks"
              for engine in sorted(result.invalid)]
    return lines
