# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of a sweep: the rate by number of clients, by size of the memtable."""

import re
from typing import Any

from cairn_cli.report import markdown, model, tables
from cairn_cli.report.charts import style
from cairn_cli.report.lines import Lines
from cairn_cli.report.model import Figure, Result

Found = tuple[style.Picture, str] | None
Points = dict[str, dict[int, Figure]]  # by engine and place on the x axis

_PANELS_MAX = 8


def clients(result: Result, _base: str) -> Found:
    """The rate by number of clients: a panel for each family of steps that was run with several."""
    families: dict[str, Points] = {}
    for step in result.steps:
        if result.is_of_lines and tables.has_lines(result, step):
            continue
        for engine in result.engines:
            good = result.good(engine, step)
            if good and (found := result.figure(engine, step, "rate")):
                families.setdefault(model.family(step), {}).setdefault(engine, {})[good[0].clients] = found
    families = {name: points for name, points in families.items() if max(map(len, points.values())) > 1}
    if not families:
        return None
    names = list(families)[-_PANELS_MAX:]
    subtitle = f"{markdown.plural(result.unit)} per second"
    if len(names) == 1:
        picture = _curve(families[names[0]], "Rate by number of clients", f"{subtitle}; {names[0]}", "clients")
    else:
        engines = [engine for engine in result.engines if any(engine in families[name] for name in names)]
        rows = (len(names) + 1) // 2
        picture = style.Picture("Rate by number of clients", "operations per second", rows=rows, columns=2,
                                height=2.6, legend=engines, titles=names)
        for place, (panel, name) in enumerate(zip(picture.panels, names, strict=False)):
            _draw(panel, families[name], "clients" if place + 2 >= len(names) else "")
    return picture, "rate by number of clients"


def memtable(result: Result, base: str) -> Found:
    """The insert rate by size of the memtable."""
    if result.workload != "memtable":
        return None
    lines = Lines(result, base)
    points: Points = {}
    for engine in result.engines:
        for name in lines.names:
            size, found = re.search(r"\b(\d+) MiB$", name), lines.rate(engine, name)
            if size and found:
                points.setdefault(engine, {})[int(size[1])] = found
    if not points or max(len(each) for each in points.values()) < 2:
        return None
    return (_curve(points, "Insert rate by size of the memtable", "keys per second", "write buffer, MiB"),
            "insert rate by size of the memtable")


def _curve(points: Points, headline: str, subtitle: str, xlabel: str) -> style.Picture:
    if max(each.count for found in points.values() for each in found.values()) > 1:
        subtitle += "; median of the repeats, bars from the least to the greatest"
    picture = style.Picture(headline, subtitle, right=0.35 + 0.083 * max(map(len, points)))
    style.label_ends(picture.panels[0], _draw(picture.panels[0], points, xlabel))
    return picture


def _draw(panel: Any, points: Points, xlabel: str) -> list[tuple[str, float, float]]:
    """Medians with the range of the repeats, on a doubling axis; returns the lines' ends."""
    ends = []
    for engine, found in points.items():
        look = style.look(engine)
        x = sorted(found)
        y = [found[each].median for each in x]
        panel.vlines(x, [found[each].low for each in x], [found[each].high for each in x], color=look.colour,
                     linewidth=1.2, zorder=3)
        panel.plot(x, y, color=look.colour, marker=look.marker, markersize=6, zorder=4)
        ends.append((engine, x[-1], y[-1]))
    ticks = sorted({each for found in points.values() for each in found})
    panel.set_xscale("log", base=2)
    panel.set_xticks(ticks, [str(each) for each in ticks])
    panel.minorticks_off()
    panel.set_ylim(bottom=0)
    style.axis(panel.yaxis)
    panel.set_xlabel(xlabel)
    return ends
