# SPDX-License-Identifier: GPL-2.0-only
"""How all pictures look: colours that colour-blind people tell apart, with markers and hatches besides.

Colours: M. Okabe, K. Ito, "Color Universal Design" (2008). A picture has its own background, and follows the
reader's choice of a dark page: a style sheet in the SVG exchanges each colour for its dark counterpart.
"""

import html
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

BACKGROUND, INK, MUTED, GRID = "#ffffff", "#1f2328", "#59636e", "#dfe3e8"
_FONTS = "'DejaVu Sans', Verdana, 'Segoe UI', Helvetica, Arial, sans-serif"


@dataclass(frozen=True)
class Look:
    """Of one engine, the same in all pictures."""

    colour: str
    dark: str
    marker: str
    hatch: str


_LOOKS = {
    "cairn": Look("#0072b2", "#56b4e9", "o", ""),
    "myrocks": Look("#009e73", "#2cc79c", "s", "\\\\\\\\"),
    "innodb": Look("#e69f00", "#ffb733", "^", "////"),
    "innodb-compressed": Look("#d55e00", "#ff8a3d", "v", "xxxx"),
    "innodb-page-compressed": Look("#cc79a7", "#e39cc3", "D", "...."),
}
_OTHERS = (Look("#56b4e9", "#8fd0f5", "P", "++++"), Look("#333c46", "#c9d1d9", "X", "----"))
_DARK = {BACKGROUND: "#14181d", INK: "#e6edf3", MUTED: "#a3adb8", GRID: "#2f3741",
         **{look.colour: look.dark for look in (*_LOOKS.values(), *_OTHERS)}}

_RC: dict[str, Any] = {
    "svg.fonttype": "none", "svg.hashsalt": "cairn", "path.simplify": True, "path.simplify_threshold": 0.3,
    "font.family": "DejaVu Sans", "font.size": 9.5, "hatch.linewidth": 0.9,
    "text.color": INK, "axes.labelcolor": MUTED, "axes.edgecolor": MUTED, "axes.facecolor": BACKGROUND,
    "xtick.color": MUTED, "ytick.color": MUTED, "axes.labelsize": 9, "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5, "axes.titlesize": 10, "axes.grid.axis": "y", "axes.grid": True,
    "grid.color": GRID, "grid.linewidth": 0.8, "axes.axisbelow": True, "axes.linewidth": 0.8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
    "ytick.major.size": 0, "ytick.minor.size": 0, "xtick.major.size": 3, "lines.linewidth": 1.7,
    "lines.solid_capstyle": "round", "lines.solid_joinstyle": "round",
}


def look(engine: str) -> Look:
    """Of an engine; those without their own share two."""
    return _LOOKS.get(engine) or _OTHERS[sum(engine.encode()) % len(_OTHERS)]


class Picture:
    """One figure of `rows` x `columns` panels, with a headline and a line of smaller text below it."""

    def __init__(self, headline: str, subtitle: str, *, rows: int = 1, columns: int = 1,
                 height: float = 3.3, width: float = 8.4, left: float = 0.75, right: float = 0.25,
                 bottom: float = 0.55, legend: Sequence[str] = (), bars: bool = False,
                 titles: Sequence[str] = ()) -> None:
        head = 0.72 + (0.3 if legend else 0.0) + (0.22 if titles else 0.0)
        total = height * rows + head + 0.1
        with matplotlib.rc_context(_RC):
            self.figure = Figure(figsize=(width, total), facecolor=BACKGROUND)
            FigureCanvasSVG(self.figure)
            grid = self.figure.subplots(rows, columns, squeeze=False)
            self.panels = [panel for row in grid for panel in row]
            self.figure.subplots_adjust(
                left=left / width, right=1 - right / width, top=1 - head / total, bottom=bottom / total,
                wspace=0.24, hspace=0.75 / height)
            for panel, title in zip(self.panels, titles, strict=False):
                panel.set_title(title, loc="left", color=INK, fontsize=9.5, pad=7)
            for panel in self.panels[len(titles):] if titles else []:
                panel.axis("off")
        self.width, self.height = width, total
        self._title = f"{headline} ({subtitle})"
        self._text(0.22, 0.20, headline, size=12.5, weight="bold")
        self._text(0.22, 0.47, subtitle, size=9, color=MUTED)
        if legend:
            self._legend(legend, bars)

    def save(self, path: Path) -> None:
        """Writes the SVG."""
        path.write_text(self.svg(), encoding="utf-8")

    def svg(self) -> str:
        """The picture as text, without date, versions or random names."""
        out = io.StringIO()
        with matplotlib.rc_context(_RC):
            self.figure.savefig(out, format="svg", facecolor=BACKGROUND,
                                metadata={"Date": None, "Creator": None, "Type": None, "Format": None})
        text = re.sub(r"'DejaVu Sans'(, [^;\"]*)?(?=[;\"])", _FONTS, out.getvalue())
        text = re.sub(r"<!DOCTYPE.*?>\n?|<metadata>.*?</metadata>\s*|<!--.*?-->\s*", "", text, flags=re.S)
        text = re.sub(r"\n\s+", "\n", text)
        return text.replace("<defs>", f"<title>{html.escape(self._title)}</title>\n"
                            f"<style>{_dark_rules(text)}</style>\n<defs>", 1)

    def _text(self, left_inches: float, top_inches: float, text: str, **how: Any) -> None:
        self.figure.text(left_inches / self.width, 1 - top_inches / self.height, text, va="center",
                         ha="left", fontfamily="DejaVu Sans", **{"color": INK, **how})

    def _legend(self, engines: Sequence[str], bars: bool) -> None:
        at = 0.22
        for engine in engines:
            marks = look(engine)
            place = self.figure.add_axes((at / self.width, 1 - 0.87 / self.height, 0.26 / self.width,
                                          0.2 / self.height))
            place.axis("off")
            place.set(xlim=(0, 1), ylim=(0, 1))
            if bars:
                place.barh([0.5], [1], height=0.62, color=marks.colour, hatch=marks.hatch, edgecolor=BACKGROUND,
                           linewidth=0.6)
            else:
                place.plot([0, 1], [0.5, 0.5], color=marks.colour, linewidth=1.9)
                place.plot([0.5], [0.5], color=marks.colour, marker=marks.marker, markersize=5.5)
            self._text(at + 0.33, 0.77, engine, size=9)
            at += 0.33 + 0.085 * len(engine) + 0.3


def _dark_rules(text: str) -> str:
    rules = []
    for light, dark in sorted(_DARK.items()):
        rules += [f'[style*="{what}: {light}"]{{{what}:{dark}!important}}'
                  for what in ("fill", "stroke") if f"{what}: {light}" in text]
    return "@media (prefers-color-scheme:dark){" + "".join(rules) + "}"


def label_ends(panel: Any, ends: Sequence[tuple[str, float, float]]) -> None:
    """Names each line at its right end (name, x, y), moved apart where they would overlap."""
    to_axes = panel.transData + panel.transAxes.inverted()
    placed = sorted(((float(to_axes.transform((x, y))[1]), name, x, y) for name, x, y in ends))
    inches = panel.figure.get_figheight() * panel.get_position().height
    gap = 0.17 / inches
    heights = _apart([each[0] for each in placed], gap)
    for height, (_, name, _x, _y) in zip(heights, placed, strict=True):
        panel.text(1.018, height, name, transform=panel.transAxes, va="center", ha="left", fontsize=9,
                   color=INK, fontfamily="DejaVu Sans", clip_on=False)
        panel.plot([1.008], [height], marker=look(name).marker, markersize=5, color=look(name).colour,
                   transform=panel.transAxes, clip_on=False)


def _apart(heights: list[float], gap: float) -> list[float]:
    """Moves sorted heights until neighbours are `gap` apart, within the panel."""
    moved = list(heights)
    for index in range(1, len(moved)):
        moved[index] = max(moved[index], moved[index - 1] + gap)
    if moved and (over := moved[-1] - 1.0) > 0:
        moved[-1] -= over
        for index in range(len(moved) - 2, -1, -1):
            moved[index] = min(moved[index], moved[index + 1] - gap)
    return moved


def human(value: float) -> str:
    """Axis and bar labels: 1.2M, 350k, 12, 0.34."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def axis(of: Any, *, log: bool = False, ticks: int = 5) -> None:
    """Few ticks at round numbers, as `human` writes them."""
    if log:
        low, high = of.get_view_interval()
        narrow = high < 300 * max(low, 1e-12)
        of.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if narrow else (1.0,), numticks=20))
        of.set_minor_locator(NullLocator())
    else:
        of.set_major_locator(MaxNLocator(ticks, steps=[1, 2, 2.5, 5, 10]))
    of.set_major_formatter(FuncFormatter(lambda value, _: human(value)))
