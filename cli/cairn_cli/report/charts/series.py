# SPDX-License-Identifier: GPL-2.0-only
"""Values over time from the runs, thinned to what a picture can show."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from cairn_cli.report.model import Run


@dataclass
class Series:
    """Points of one engine; `borders` are where one step ends and the next begins."""

    x: list[float] = field(default_factory=list)
    y: list[float] = field(default_factory=list)
    borders: list[float] = field(default_factory=list)


def rates(runs: Sequence[Run], what: str = "operations") -> Series:
    """One run after the other: operations per second, or another value ("max_ms") as it is."""
    series = Series()
    offset = 0.0
    for run in runs:
        before = 0.0
        for point in run.rows("outcome.series"):
            second, value = point.get("second"), point.get(what)
            if second is None or value is None or second <= before:
                continue
            series.x.append(offset + second)
            series.y.append(value / (second - before) if what == "operations" else value)
            before = second
        offset += before
        if before:
            series.borders.append(offset)
    return series


def samples(runs: Sequence[Run], what: str) -> Series:
    """Values sampled by the runner, one run after the other."""
    series = Series()
    offset = 0.0
    for run in runs:
        points = run.rows("metrics.samples")
        for point in points:
            if point.get("second") is not None and point.get(what) is not None:
                series.x.append(offset + point["second"])
                series.y.append(point[what])
        offset += max([float(run.value("wall_seconds") or 0),
                       *(point["second"] for point in points if point.get("second") is not None)])
        series.borders.append(offset)
    return series


def thin(series: Series, count: int, *, peaks: bool = False) -> Series:
    """At most `count` points: means of equal spans of time, or their greatest."""
    if len(series.x) <= count:
        return series
    end = series.x[-1]
    spans: dict[int, list[int]] = {}
    for index, x in enumerate(series.x):
        spans.setdefault(min(int(count * x / end), count - 1), []).append(index)
    thinned = Series(borders=series.borders)
    for indices in spans.values():
        values = [series.y[index] for index in indices]
        thinned.x.append(series.x[indices[-1]])
        thinned.y.append(max(values) if peaks else sum(values) / len(values))
    return thinned
