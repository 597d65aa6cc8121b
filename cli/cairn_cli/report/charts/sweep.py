# SPDX-License-Identifier: GPL-2.0-only
"""Pictures of a sweep: the rate by number of clients, by size of the memtable."""

import re

from cairn_cli.report import markdown
from cairn_cli.report.charts import style
from cairn_cli.report.lines import Lines
from cairn_cli.report.model import Figure, Result

Found = tuple[style.Picture, str] | None


def clients(result: Result, _base: str) -> Found:
    """The rate by number of clients, where steps of one name were run with several."""
    points: dict[str, dict[int, Figure]] = {}
    for step in result.steps:
        if not result.repeatable.get(step):
            continue
        for engine in result.engines:
            good = result.good(engine, step)
            if good and (found := result.figure(engine, step, "rate")):
                points.setdefault(engine, {})[good[0].clients] = found
    if not points or max(len(each) for each in points.values()) < 2:
        return None
    return (_curve(points, f"Rate by number of clients ({markdown.plural(result.unit)} per second)", "clients"),
            "rate by number of clients")


def memtable(result: Result, base: str) -> Found:
    """The insert rate by size of the memtable."""
    if result.workload != "memtable":
        return None
    lines = Lines(result, base)
    points: dict[str, dict[int, Figure]] = {}
    for engine in result.engines:
        for name in lines.names:
            size, found = re.search(r"\b(\d+) MiB$", name), lines.rate(engine, name)
            if size and found:
                points.setdefault(engine, {})[int(size[1])] = found
    if not points or max(len(each) for each in points.values()) < 2:
        return None
    return (_curve(points, "Insert rate by size of the memtable (keys per second)", "write buffer, MiB"),
            "insert rate by size of the memtable")


def _curve(points: dict[str, dict[int, Figure]], headline: str, xlabel: str) -> style.Picture:
    """Medians with the range of the repeats, on a doubling axis."""
    repeats = max(each.count for found in points.values() for each in found.values())
    longest = max(map(len, points))
    picture = style.Picture(headline, "median of the repeats; bars from the least to the greatest"
                            if repeats > 1 else "one run each", right=0.35 + 0.083 * longest)
    panel = picture.panels[0]
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
    style.label_ends(panel, ends)
    return picture
