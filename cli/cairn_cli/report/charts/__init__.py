# SPDX-License-Identifier: GPL-2.0-only
"""The pictures of a result: SVG files, the same bytes from the same input."""

from collections.abc import Callable
from pathlib import Path

from cairn_cli.report.charts import bars, over_time, style, sweep
from cairn_cli.report.model import Result

# Each returns the picture and what it shows, or None where the result has nothing of it.
Drawing = Callable[[Result, str], "tuple[style.Picture, str] | None"]

KINDS: tuple[tuple[str, Drawing], ...] = (
    ("relative", bars.relative),
    ("rate", over_time.rate),
    ("insert-rate", over_time.insert_rate),
    ("stalls", over_time.stalls),
    ("clients", sweep.clients),
    ("memtable", sweep.memtable),
    ("p99", bars.p99),
    ("written", bars.written),
    ("size", over_time.size),
)


def draw(result: Result, base: str, folder: Path) -> list[tuple[str, str]]:
    """Writes what can be drawn of a result into `folder`; returns file names with captions."""
    made = []
    for kind, drawing in KINDS:
        file = folder / f"{result.name}-{kind}.svg"
        if found := drawing(result, base):
            picture, what = found
            picture.save(file)
            made.append((file.name, what))
        else:
            file.unlink(missing_ok=True)
    return made
