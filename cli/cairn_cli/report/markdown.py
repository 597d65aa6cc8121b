# SPDX-License-Identifier: GPL-2.0-only
"""Markdown's small pieces: escaped cells, tables, numbers as people read them."""

from collections.abc import Sequence

from cairn_cli.report.model import Figure

NONE = "–"


def cell(text: object) -> str:
    """Text that cannot break a table or turn into markup."""
    flat = " ".join(str(text).split())
    for mark, safe in (("\\", "\\\\"), ("|", "\\|"), ("<", "&lt;"), ("*", "\\*"), ("`", "\\`")):
        flat = flat.replace(mark, safe)
    return flat


def code(text: object) -> str:
    """Text as it is typed, in a line of its own words."""
    flat = " ".join(str(text).split()).replace("|", "\\|")
    return f"`` {flat} ``" if "`" in flat else f"`{flat}`"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> list[str]:
    """The first `left` columns are text, the others numbers. Cells are Markdown already."""
    rule = ["---"] * left + ["--:"] * (len(head) - left)
    return [_line(head), "|" + "|".join(rule) + "|", *(_line(row) for row in rows)]


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def number(value: float, digits: int) -> str:
    """With thousands separated. Small values keep two figures that say something."""
    if value and digits < 3 and abs(value) < 0.5 * 10 ** -digits:
        digits = 3 if abs(value) >= 0.0005 else 4
    return f"{value:,.{digits}f}"


def spread(figure: Figure) -> str:
    """In brackets; empty for one run."""
    return f" [{100 * figure.spread:.0f} %]" if figure.count > 1 else ""


def shown(figure: Figure | None, digits: int, divisor: float = 1.0) -> str:
    """A figure with its spread."""
    return NONE if figure is None else number(figure.median / divisor, digits) + spread(figure)


def ratio(figure: Figure | None, base: Figure | None) -> str:
    """To the base's median, with the digits a ratio deserves."""
    if figure is None or base is None or not base.median:
        return NONE
    return _ratio(figure.median / base.median)


def ratio_shown(figure: Figure | None) -> str:
    """A figure of ratios, with its spread."""
    return NONE if figure is None else _ratio(figure.median) + spread(figure)


def _ratio(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 0.1 else f"{value:.2f}"


def plural(unit: str) -> str:
    """Of a unit: transactions, rows, queries."""
    return f"{unit[:-1]}ies" if unit.endswith("y") else f"{unit}s"


def data_size(count: float | None) -> str:
    """Bytes in the unit one would say."""
    if count is None:
        return NONE
    for unit, size in (("TiB", 2**40), ("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if count >= size:
            return f"{count / size:.3g} {unit}" if count / size < 1000 else f"{count / size:.0f} {unit}"
    return f"{count:.0f} B"
