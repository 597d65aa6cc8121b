# SPDX-License-Identifier: GPL-2.0-only
"""Pictures that compare: bars and dots with their figures written beside them."""

from cairn_cli.report import model, tables
from cairn_cli.report.charts import style
from cairn_cli.report.lines import Lines
from cairn_cli.report.model import Result

Found = tuple[style.Picture, str] | None

_ROW_INCHES = 0.2
_LINES_MIN, _LINES_MAX = 3, 60


def relative(result: Result, base: str) -> Found:
    """Relative rate of each micro-benchmark (or step, where a workload has no lines), worst first."""
    lines = Lines(result, base)
    names = [name for name in lines.names if any(lines.relative_rate(engine, name) for engine in lines.others)]
    if result.is_of_lines:
        values = {engine: {name: lines.relative_rate(engine, name) for name in names} for engine in lines.others}
    else:
        values, names = _step_ratios(result, base, lines.others)
    if len(names) < _LINES_MIN:
        return None
    left_out = len(names) - _LINES_MAX
    names = names[:_LINES_MAX]
    engines = [engine for engine in lines.others if any(values[engine].get(name) for name in names)]
    subtitle = f"{base} = 1; worst first; more is better"
    if left_out > 0:
        subtitle += f"; the best {left_out} are left out"
    pitch = _ROW_INCHES * len(engines) + 0.12
    width_of_names = 0.35 + 0.079 * max(map(len, names))
    picture = style.Picture(f"Rate relative to {base}", subtitle, height=pitch * len(names) + 0.35,
                            left=width_of_names, right=0.6, bottom=0.4,
                            legend=engines, bars=True)
    panel = picture.panels[0]
    panel.grid(visible=False)
    thick = _ROW_INCHES / pitch
    found = [value for engine in engines for name in names if (value := values[engine].get(name))]
    for place, engine in enumerate(engines):
        look = style.look(engine)
        for row, name in enumerate(names):
            if value := values[engine].get(name):
                at = row + (place - (len(engines) - 1) / 2) * thick
                panel.barh(at, value, height=thick * 0.86, color=look.colour, edgecolor=style.BACKGROUND,
                           hatch=look.hatch, linewidth=0.6, zorder=3)
                panel.annotate(f"{value:.2f}", (value, at), xytext=(4, 0), textcoords="offset points",
                               va="center", fontsize=8, color=style.INK, zorder=5,
                               bbox={"facecolor": style.BACKGROUND, "edgecolor": "none", "pad": 0.8})
    panel.axvline(1, color=style.INK, linewidth=1.1, zorder=4)
    panel.set_yticks(range(len(names)), names)
    panel.tick_params(axis="y", labelcolor=style.INK)
    panel.set_ylim(len(names) - 0.5, -0.5)
    panel.set_xlim(0, max(max(found) * 1.06, 1.1))
    style.axis(panel.xaxis, ticks=8)
    return picture, f"rate relative to {base}, worst first"


def _step_ratios(result: Result, base: str,
                 others: list[str]) -> tuple[dict[str, dict[str, float | None]], list[str]]:
    def ratio(engine: str, step: str) -> float | None:
        mine, other = result.figure(engine, step, "rate"), result.figure(base, step, "rate")
        return mine.median / other.median if mine and other and other.median else None

    values = {engine: {step: ratio(engine, step) for step in result.steps} for engine in others}
    if result.workload == "linkbench":  # its steps are one thing over time, not many things
        return values, []
    names = [step for step in result.steps if any(values[engine][step] for engine in others)]
    names.sort(key=lambda step: [values[engine][step] or float("inf") for engine in others])
    return values, names


def p99(result: Result, _base: str) -> Found:
    """The 99th percentile of each operation's latency in the last step that has them: dots on a log axis."""
    for step in reversed(result.steps):
        values: dict[str, dict[str, float]] = {}
        for engine in result.engines:
            for run in result.good(engine, step):
                for operation in run.table("outcome.latencies"):
                    found = result.figure(engine, step, f"outcome.latencies.{operation}.p99_ms")
                    if found and found.median > 0:
                        values.setdefault(operation, {})[engine] = found.median
        if len(values) > 1:
            return _dots(result, step, values)
    return None


def _dots(result: Result, step: str, values: dict[str, dict[str, float]]) -> Found:
    engines = [engine for engine in result.engines if any(engine in row for row in values.values())]
    names = sorted(values, key=lambda name: (-max(values[name].values()), name))
    subtitle = f"milliseconds, log scale; {step}; less is better"
    if missing := [engine for engine in result.engines if engine not in engines]:
        subtitle += f"; no result: {', '.join(missing)}"
    picture = style.Picture("99th percentile of response times", subtitle,
                            height=0.3 * len(names) + 0.5, left=0.4 + 0.082 * max(map(len, names)), right=0.4,
                            bottom=0.42, legend=engines)
    panel = picture.panels[0]
    panel.grid(visible=True, axis="x")
    for row, name in enumerate(names):
        found = values[name]
        panel.plot([min(found.values()), max(found.values())], [row, row], color=style.GRID, linewidth=3, zorder=2)
        for place, engine in enumerate(engines):
            if engine in found:
                look = style.look(engine)
                panel.plot([found[engine]], [row], marker=look.marker, color=look.colour, markersize=7.5,
                           markeredgecolor=style.BACKGROUND, markeredgewidth=0.7,
                           zorder=3 + len(engines) - place)
    panel.set_xscale("log")
    panel.margins(x=0.06)
    style.axis(panel.xaxis, log=True)
    panel.set_yticks(range(len(names)), names)
    panel.tick_params(axis="y", labelcolor=style.INK)
    panel.set_ylim(len(names) - 0.5, -0.5)
    return picture, "99th percentile of response times by operation"


def written(result: Result, _base: str) -> Found:
    """KB written to the device per operation, a bar for each engine, a panel for each family of steps."""
    path = "metrics.per_operation.written_kb"
    steps = [step for step in model.last_of_families(result.steps)
             if any((found := result.figure(engine, step, path)) and found.median > 0
                    for engine in result.engines)]
    if not steps:
        return None
    steps = steps[-4:]
    rows = len(result.engines)
    units = {tables.unit(result, step) for step in steps}
    unit = units.pop() if len(units) == 1 else "operation"
    picture = style.Picture(f"KB written to the device per {unit}", "less is better", columns=len(steps),
                            height=0.34 * rows + 0.45, left=0.35 + 0.082 * max(map(len, result.engines)),
                            right=0.35, bottom=0.32, titles=steps)
    for column, (panel, step) in enumerate(zip(picture.panels, steps, strict=True)):
        found = [result.figure(engine, step, path) for engine in result.engines]
        top = max(each.median for each in found if each)
        panel.grid(visible=False)
        for row, (engine, each) in enumerate(zip(result.engines, found, strict=True)):
            look = style.look(engine)
            if each:
                panel.barh(row, each.median, height=0.66, color=look.colour, hatch=look.hatch,
                           edgecolor=style.BACKGROUND, linewidth=0.6, zorder=3)
            panel.annotate(style.human(each.median) if each else "no result", (each.median if each else 0, row),
                           xytext=(4, 0), textcoords="offset points", va="center", fontsize=9, color=style.INK)
        panel.set_yticks(range(rows), result.engines if column == 0 else [""] * rows)
        panel.tick_params(axis="y", labelcolor=style.INK)
        panel.set_ylim(rows - 0.5, -0.5)
        panel.set_xlim(0, top * (1.1 + 0.1 * len(steps)))
        style.axis(panel.xaxis, ticks=4)
    return picture, f"KB written per {unit}"
