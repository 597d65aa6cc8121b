# SPDX-License-Identifier: GPL-2.0-only
"""The table that ends a run: for each step a block, a figure per row, an engine per column."""

from collections.abc import Mapping, Sequence
from typing import Any

from cairn_cli.bench.workload import Column

_LABEL_WIDTH = 24
_CELL_WIDTH = 27


def lines(results: Mapping[str, Any], base: str) -> list[str]:
    """The table's lines, from a results object. Beside a median stand in brackets its relative
    spread over the repeats, and its ratio to the base engine's median."""
    columns = [Column(**column) for column in results["columns"]]
    text: list[str] = []
    for step in results["steps"]:
        found = {entry["engine"]: entry["figures"] for entry in results["summary"]
                 if entry["step"] == step["name"]}
        if found and step["shown"]:
            text += ["", *_block(step["name"], found, columns, base)]
    return text[1:]


def _block(step: str, found: Mapping[str, Mapping[str, Any]], columns: Sequence[Column],
           base: str) -> list[str]:
    head = f"{step:{_LABEL_WIDTH}}" + "".join(f"{engine:>{_CELL_WIDTH}}" for engine in found)
    rows = [head.rstrip()]
    for column in columns:
        if not any(column.path in figures for figures in found.values()):
            continue
        cells = [_cell(figures.get(column.path), column,
                       found.get(base, {}).get(column.path) if engine != base else None)
                 for engine, figures in found.items()]
        rows.append(f"{column.label:{_LABEL_WIDTH}}" + "".join(f"{cell:>{_CELL_WIDTH}}" for cell in cells))
    return rows


def _cell(figure: Mapping[str, float | None] | None, column: Column,
          base: Mapping[str, float | None] | None) -> str:
    if figure is None or figure["median"] is None:
        return "-"
    text = f"{figure['median'] / column.divisor:,.{column.digits}f}"
    spread = figure["spread"]
    text += f" [{100 * spread:3.0f}%]" if spread is not None else " " * 7
    if base and base["median"]:
        return text + f" {figure['median'] / base['median']:6.2f}x"
    return text + " " * 8
