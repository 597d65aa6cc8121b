# SPDX-License-Identifier: GPL-2.0-only
"""Pictures over time: rate, stalls, size."""

import re
from collections.abc import Sequence
from typing import Any

from cairn_cli.report import markdown
from cairn_cli.report.charts import series, style
from cairn_cli.report.charts.series import Series
from cairn_cli.report.model import Result

_PANELS_MAX = 8
_POINTS_TOTAL = 3200  # of all lines of a picture: keeps a file below 100 kB
_POINTS_MIN, _POINTS_MAX = 40, 240
_SPAN_SHORT = 3  # fewer points than that are no line

Found = tuple[style.Picture, str] | None


def rate(result: Result, _base: str) -> Found:
    """Operations per second over time, a panel for each step."""
    if result.workload == "insert" and _load_panels(result):
        panels = {name: lines for name, lines in _panels(result).items() if name not in _load_panels(result)}
    else:
        panels = _panels(result)
    return _panelled(result, panels, "Rate over time", f"{markdown.plural(result.unit)} per second", "rate over time")


def stalls(result: Result, _base: str) -> Found:
    """The worst response in each moment."""
    panels = {name: {engine: line for engine, line in lines.items() if max(line.y) > 0}
              for name, lines in _panels(result, "max_ms").items()}
    panels = {name: lines for name, lines in panels.items() if lines}
    return _panelled(result, panels, "Longest response in each interval", "milliseconds, log scale", "stalls",
                     log=True, peaks=True)


def insert_rate(result: Result, _base: str) -> Found:
    """The loads of the insert benchmark, twice: on a linear and on a logarithmic axis."""
    loads = _load_panels(result) if result.workload == "insert" else {}
    if not loads:
        return None
    names = list(loads)[:_PANELS_MAX // 2]
    engines = [engine for engine in result.engines if any(engine in loads[name] for name in names)]
    picture = style.Picture("Insert rate over time", "rows per second; left linear, right log",
                            rows=len(names), columns=2, height=2.6, legend=engines,
                            titles=[name for name in names for _ in range(2)])
    count = _points(len(names) * 2 * len(engines))
    for row, name in enumerate(names):
        for column, log in enumerate((False, True)):
            panel = picture.panels[2 * row + column]
            _lines(panel, loads[name], count, log=log)
            panel.set_xlabel("seconds" if row == len(names) - 1 else "")
    return picture, "insert rate over time, linear and log"


def size(result: Result, _base: str) -> Found:
    """Size of the database: sampled over all steps where there are samples, else at the end of each."""
    lines = {}
    for engine in result.engines:
        runs = [run for run in result.runs if run.engine == engine and result.counts(run)]
        line = series.samples(runs, "database_bytes")
        if len(line.x) >= _SPAN_SHORT:
            lines[engine] = line
    if lines:
        unit = _in_size_unit(lines)
        return _single(lines, "Size of the database over time", f"{unit} on disk, through all steps in the order"
                       " they ran", "seconds", "size over time")
    return _size_by_step(result)


def _in_size_unit(lines: dict[str, Series]) -> str:
    greatest = max(max(line.y) for line in lines.values())
    unit, divisor = ("GB", 1e9) if greatest >= 2e9 else ("MB", 1e6)
    for line in lines.values():
        line.y = [each / divisor for each in line.y]
    return unit


def _size_by_step(result: Result) -> Found:
    steps = result.steps
    lines = {}
    for engine in result.engines:
        found = [(index, figure.median) for index, step in enumerate(steps)
                 if (figure := result.figure(engine, step, "metrics.size.database_bytes"))]
        if len(found) >= 2:
            lines[engine] = Series([each[0] for each in found], [each[1] for each in found])
    if not lines:
        return None
    unit = _in_size_unit(lines)
    made = _single(lines, "Size of the database", f"{unit} on disk at the end of each step", "", "size by step",
                   markers=True)
    panel = made[0].panels[0]
    every = max(1, len(steps) // 12)
    panel.set_xticks(range(0, len(steps), every), [steps[index] for index in range(0, len(steps), every)])
    return made


def _load_panels(result: Result) -> dict[str, dict[str, Series]]:
    """Of the insert benchmark: without the steps that query (qr100, qp1000 …)."""
    return {name: lines for name, lines in _panels(result).items()
            if not result.repeatable.get(name) and not re.search(r"(^|\.)q[rp]?\d", name)}


def _panels(result: Result, what: str = "operations") -> dict[str, dict[str, Series]]:
    """By step: each engine's repeats one after the other, as they age the same data."""
    found: dict[str, dict[str, Series]] = {}
    for name in result.steps:
        lines = {engine: line for engine in result.engines
                 if len((line := series.rates(result.good(engine, name), what)).x) >= _SPAN_SHORT}
        if lines:
            found[name] = lines
    return found


def _panelled(result: Result, panels: dict[str, dict[str, Series]], headline: str, unit: str, caption: str, *,
              log: bool = False, peaks: bool = False) -> Found:
    if not panels:
        return None
    if len(panels) == 1:
        name, lines = next(iter(panels.items()))
        return _single(lines, headline, f"{unit}; {name}", "seconds", caption, log=log, peaks=peaks)
    left_out = len(panels) - _PANELS_MAX
    names = list(panels)[-_PANELS_MAX:]
    engines = [engine for engine in result.engines if any(engine in panels[name] for name in names)]
    subtitle = unit + (f"; the first {left_out} steps are left out" if left_out > 0 else "")
    rows = (len(names) + 1) // 2
    picture = style.Picture(headline, subtitle, rows=rows, columns=2, height=2.6 if rows > 1 else 3.0,
                            legend=engines, titles=names)
    count = _points(len(names) * len(engines))
    for place, (panel, name) in enumerate(zip(picture.panels, names, strict=False)):
        _lines(panel, panels[name], count, log=log, peaks=peaks)
        panel.set_xlabel("seconds" if place + 2 >= len(names) else "")
    return picture, caption


def _single(lines: dict[str, Series], headline: str, subtitle: str, xlabel: str, caption: str, *,
            log: bool = False, peaks: bool = False, markers: bool = False) -> tuple[style.Picture, str]:
    longest = max(map(len, lines))
    picture = style.Picture(headline, subtitle, right=0.35 + 0.083 * longest)
    panel = picture.panels[0]
    ends = _lines(panel, lines, _points(len(lines)), log=log, peaks=peaks, markers=markers)
    panel.set_xlabel(xlabel)
    style.label_ends(panel, ends)
    return picture, caption


def _lines(panel: Any, lines: dict[str, Series], count: int, *, log: bool = False, peaks: bool = False,
           markers: bool = False) -> Sequence[tuple[str, float, float]]:
    """Draws them, with a marker here and there; returns their ends."""
    ends = []
    for place, (engine, line) in enumerate(lines.items()):
        thinned = series.thin(line, count, peaks=peaks)
        look = style.look(engine)
        every = 1 if markers else max(1, len(thinned.x) // 7)
        # Each engine's markers sit elsewhere along the line, so that equal lines are seen to be two.
        first = 0 if markers else (place * every // max(1, len(lines)) + every // 2) % len(thinned.x)
        panel.plot(thinned.x, thinned.y, color=look.colour, marker=look.marker, markersize=5,
                   markevery=(first, every), zorder=3 + (len(lines) - place))
        ends.append((engine, thinned.x[-1], thinned.y[-1]))
    borders = max((line.borders for line in lines.values()), key=len)
    if 1 < len(borders) <= 40:
        for border in borders[:-1]:
            panel.axvline(border, color=style.GRID, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
    panel.margins(x=0.01)
    if log:
        panel.set_yscale("log")
        low, high = panel.get_ylim()
        if high < 10 * low:  # a level line shall look level
            panel.set_ylim(low / 3, high * 3)
    else:
        panel.set_ylim(bottom=0)
    style.axis(panel.yaxis, log=log)
    style.axis(panel.xaxis, ticks=6)
    return ends


def _points(line_count: int) -> int:
    return max(_POINTS_MIN, min(_POINTS_MAX, _POINTS_TOTAL // max(1, line_count)))
