# SPDX-License-Identifier: GPL-2.0-only
"""What is written into pages, between two markers: in the README a table for each workload, and where the rest is."""

import os
import re
import shlex
import statistics
from pathlib import Path

from cairn_cli import paths
from cairn_cli.errors import CairnError
from cairn_cli.report import markdown, model, summary, tables
from cairn_cli.report.lines import Lines
from cairn_cli.report.model import Column, Result

# Where a table has more columns than these.
_CHOSEN = ("rate", "outcome.detail.reached_percent", "metrics.per_operation.reads", "metrics.per_operation.written_kb",
           "metrics.per_operation.server_cpu_us", "metrics.size.database_bytes", "metrics.memory.peak_rss_bytes",
           "outcome.latencies.UPDATE_NODE.p99_ms", "outcome.latencies.GET_LINKS_LIST.p99_ms")


def refresh(path: Path, name: str, text: str) -> None:
    """Replaces what lies between the markers of that name."""
    begin, end = f"<!-- {name}:begin: written by `./cairn report --pages` -->", f"<!-- {name}:end -->"
    page = path.read_text(encoding="utf-8")
    marked = re.compile(f"<!-- {name}:begin.*?-->.*?{end}", re.DOTALL)
    fresh, count = marked.subn(lambda _: f"{begin}\n\n{text}\n\n{end}", page)
    if count != 1:
        raise CairnError(f"{path}: has {count} blocks from <!-- {name}:begin --> to {end}, not one")
    if fresh != page:
        path.write_text(fresh, encoding="utf-8")


def block(results: list[Result], base: str | None, page: Path) -> str:
    """The text between the markers."""
    parts = []
    for result in results:
        if text := _of(result, result.base(base)):
            parts.append("\n".join(text))
    shown = os.path.relpath(page, _root_of(page))
    machine = results[0].head.get("machine") or {}
    made = ", ".join(markdown.cell(text) for text in (
        machine.get("cpu_model"), machine.get("cpus") and f"{machine['cpus']} cores",
        str(results[0].head.get("started") or "")[:10]) if text)
    parts.append("Medians; in brackets relative to the base engine. All figures, pictures, settings and the"
                 f" machine ({made}): [{shown}]({shown}).")
    return "\n\n".join(parts)


def _root_of(page: Path) -> Path:
    return paths.ROOT if page.resolve().is_relative_to(paths.ROOT) else page.parent


def _of(result: Result, base: str) -> list[str]:
    command = result.head.get("command")
    lines = [f"**{markdown.cell(summary.title(result))}**"
             + (f", `{shlex.join(map(str, command))}`" if isinstance(command, list) else "")
             + ("" if result.complete else " (partial)"), "",
             f"Conditions: {markdown.cell(summary.conditions(result.head.get('conditions') or {}))}.", ""]
    micro = Lines(result, base)
    if micro.names and result.is_of_lines:
        return [*lines, *_micro(micro)]
    steps = [step for step in model.last_of_families(result.steps) if any(
        result.good(engine, step) for engine in result.engines)]
    if not steps:
        return []
    if len(steps) > 2:
        rate = [(step, Column(step, "rate", 0)) for step in steps]
        return [*lines, "Operations per second:", "", *_table(result, rate, base)]
    return [*lines, *_table(result, _headline(result, steps), base)]


def _headline(result: Result, steps: list[str]) -> list[tuple[str, Column]]:
    """The columns of the last step, after the rate of the one before (the load)."""
    last = [(steps[-1], column) for column in _chosen(tables.shown_columns(result, steps[-1]))]
    first = [(step, Column(f"{step}: {result.columns[0].label if result.columns else 'rate'}", "rate", 0))
             for step in steps[:-1]]
    return [*first, *last]


def _chosen(columns: list[Column]) -> list[Column]:
    """The few that say most; all where there are few."""
    if len(columns) <= len(_CHOSEN):
        return columns
    return [column for path in _CHOSEN for column in columns if column.path == path] or columns[:len(_CHOSEN)]


def _table(result: Result, columns: list[tuple[str, Column]], base: str) -> list[str]:
    def cell(engine: str, step: str, column: Column) -> str:
        found = result.figure(engine, step, column.path)
        if found is None:
            return markdown.NONE
        text = markdown.number(found.median / column.divisor, column.digits)
        other = result.figure(base, step, column.path)
        return text if engine == base else f"{text} ({markdown.ratio(found, other)})"

    return markdown.table(["", *(markdown.cell(column.label) for _, column in columns)], [
        [engine, *(cell(engine, step, column) for step, column in columns)] for engine in result.engines])


def _micro(micro: Lines) -> list[str]:
    """Of many lines: how the middle, the worst and the best compare."""
    if not micro.others:
        return micro.table()
    rows = []
    for engine in micro.others:
        found = sorted((value, name) for name in micro.names if (value := micro.relative_rate(engine, name)))
        if found:
            (worst, worst_name), (best, best_name) = found[0], found[-1]
            rows.append([engine, f"{statistics.median(value for value, _ in found):.2f}",
                         f"{worst:.2f} ({markdown.cell(worst_name)})", f"{best:.2f} ({markdown.cell(best_name)})"])
    return [f"Rate relative to {micro.base}, {len(micro.names)} tests:", "",
            *markdown.table(["", "median", "worst", "best"], rows)]
