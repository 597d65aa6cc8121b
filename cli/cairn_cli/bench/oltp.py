# SPDX-License-Identifier: GPL-2.0-only
"""Workload oltp: sysbench's micro-benchmarks, each against a base engine, worst first."""

import argparse
import statistics
from collections.abc import Callable, Generator, Mapping
from typing import Any

from cairn_cli.bench import sysbench
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.oltp_lines import BY_NAME, LAST_BEFORE_PAUSE, Line
from cairn_cli.bench.postwrite import postwrite
from cairn_cli.bench.sysbench_tables import (
    BYTES_PER_ROW,
    SameEverywhere,
    SettledTables,
    Tables,
    index_problems,
    load,
    pick,
    tables_of,
)
from cairn_cli.bench.workload import Column, Conditions, Outcome, Step, Target
from cairn_cli.errors import CairnError
from cairn_cli.spread import relative_spread

_WARM_SECONDS_MAX = 5
_WARM_SHARE = 4  # a quarter of the measured time


class OltpWorkload(SettledTables):
    """Load, then all micro-benchmarks in one step, for each number of clients; each is a part of it."""

    NAME = "oltp"
    HELP = "sysbench micro-benchmarks: QPS and CPU per query relative to a base engine"
    UNIT = "query"
    NEEDS_SERVER = True
    LARGE_DATA = False
    TINY = ("--scale", "10000", "--seconds", "1", "--repeats", "1", "--lines",
            "update-inlist,update-zipf,points-covered-si,range-notcovered-si,delete,insert")
    DEFAULTS = Conditions(scale=2_000_000, seconds=10, clients=(1,), repeats=3)  # rows in each table

    def __init__(self) -> None:
        self._same = SameEverywhere()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The size is --scale, rows in each table; --seconds is the length of each line."""
        parser.add_argument("--tables", type=int, default=1, help="tables (default: %(default)s)")
        parser.add_argument("--lines", default=",".join(BY_NAME), metavar="LIST",
                            help="micro-benchmarks, run in their fixed order (default: all of %(default)s)")

    def steps(self, options: argparse.Namespace) -> list[Step]:
        """A step is all lines."""
        chosen(options.lines)
        sweep = options.conditions.clients
        return [Step("load", repeatable=False), Step("load-check", repeatable=False)] + [
            Step("lines" if len(sweep) == 1 else f"lines-{clients}", repeatable=True, clients=clients)
            for clients in sweep]

    def disk_bytes_needed(self, options: argparse.Namespace, engine: Engine) -> int:
        """Of uncompressed tables with room for splits and for what the writes leave."""
        return 2 * tables_of(options).total * BYTES_PER_ROW

    def run_step(self, step: Step, target: Target, options: argparse.Namespace,
                 progress: Callable[[str], None]) -> Outcome:
        """Runs the load and its check."""
        tables = tables_of(options)
        if step.name == "load":
            outcome = load(target, tables, progress)
            outcome.detail["settle_seconds"] += postwrite(target, tables, progress)
            return outcome
        return self._same.check(target, tables, step.name)

    def parts(self, step: Step, target: Target, options: argparse.Namespace,
              progress: Callable[[str], None]) -> Generator[None, None, Outcome]:
        """Each line is a part. One that fails makes the step invalid; the others still run."""
        tables = tables_of(options)
        lines = chosen(options.lines)
        outcome = Outcome(operations=0, unit="query", seconds=0.0)
        pause_due = any(line.family == "write" and not line.restores for line in lines)
        for line in lines:
            if pause_due and _comes_after_pause(line):
                outcome.detail["settle_seconds"] = postwrite(target, tables, progress)
                pause_due = False
            progress(line.name)
            try:
                done = _run_line(line, step.clients, target, tables, options.conditions.seconds)
            except CairnError as error:
                outcome.problems.append(f"{line.name}: {error}")
            else:
                _add(outcome, line, done)
            yield
        progress("comparing the indexes")
        outcome.problems += index_problems(target, tables)
        return outcome

    def columns(self, options: argparse.Namespace) -> list[Column]:
        """Of the step as a whole; each line's figures are in `summary`."""
        return [Column("operations/s", "rate", 0, "higher"),
                Column("size MB", "metrics.size.database_bytes", 0, "lower", 1e6)]

    def summary(self, results: Mapping[str, Any], base: str) -> list[str]:
        """What is printed after the table: each line's figures relative to the base engine."""
        text: list[str] = []
        for step in results["steps"]:
            if not step["repeatable"]:
                continue
            runs = [run for run in results["runs"] if run["step"] == step["name"]
                    and run["status"] == "ok" and run["engine"] not in results["invalid"]]
            engines = list(dict.fromkeys(run["engine"] for run in runs))
            found = {engine: {run["repeat"]: run["outcome"]["lines"] for run in runs if run["engine"] == engine}
                     for engine in engines}
            for engine in engines:
                if base in found and (engine != base or len(engines) == 1):
                    text += ["", f"{step['name']}: {engine} relative to {base}, {step['clients']} client(s),"
                                 " worst first", *relative_lines(found[engine], found[base])]
        return text


def chosen(names: str) -> list[Line]:
    """The lines of a list of names, in the order they are to run."""
    picked = pick(names, BY_NAME, "line")
    return [line for line in BY_NAME.values() if line in picked]


def _comes_after_pause(line: Line) -> bool:
    order = list(BY_NAME)
    return order.index(line.name) > order.index(LAST_BEFORE_PAUSE)


def _run_line(line: Line, clients: int, target: Target, tables: Tables,
              seconds: int) -> sysbench.Measured:
    arguments = {"tables": tables.count, "table_size": tables.rows, **line.options}
    if warm_seconds := min(_WARM_SECONDS_MAX, seconds // _WARM_SHARE):
        sysbench.run(target, line.script, arguments, threads=clients, seconds=warm_seconds)
    done = sysbench.run(target, line.script, arguments, threads=clients, seconds=seconds)
    if line.restores:
        for number in tables.numbers():
            target.query(line.restores.replace("@", str(number)).replace("#", str(tables.rows)),
                         sysbench.DATABASE)
    return done


def _add(outcome: Outcome, line: Line, done: sysbench.Measured) -> None:
    report = done.report
    queries = report.queries
    if queries == 0:
        outcome.problems.append(f"{line.name}: no query ended in the time given")
        return
    outcome.lines[line.name] = done.line(queries) | {
        "rate": queries / report.seconds,
        "server_cpu_us": done.server_cpu_seconds * 1e6 / queries,
        "client_cpu_us": done.client_cpu_seconds * 1e6 / queries}
    outcome.latencies[line.name] = dict(report.latency)
    outcome.operations += queries
    outcome.seconds += report.seconds
    outcome.client_cpu_seconds += done.client_cpu_seconds
    if report.reconnects:
        outcome.problems.append(f"{line.name}: the connection was lost {report.reconnects} times")


Repeats = Mapping[int, Mapping[str, Mapping[str, float]]]  # number -> line -> figures


def relative_lines(own: Repeats, base: Repeats) -> list[str]:
    """One row for each line both have: QPS and CPU per query over the base's, lowest QPS ratio first.

    The ratios are medians of those within each repeat, in which both were measured seconds or minutes apart.
    In brackets: the spread of that of QPS; nothing for a single repeat.
    """
    rows = []
    for name in BY_NAME:
        pairs = [(own[repeat][name], base[repeat][name]) for repeat in own
                 if name in own[repeat] and name in base.get(repeat, {})]
        if not pairs:
            continue
        rates = [mine["rate"] / other["rate"] for mine, other in pairs]
        cpus = [mine["server_cpu_us"] / max(other["server_cpu_us"], 1e-9) for mine, other in pairs]
        rows.append((statistics.median(rates), relative_spread(rates), statistics.median(cpus), name,
                     {key: (statistics.median(mine[key] for mine, _ in pairs),
                            statistics.median(other[key] for _, other in pairs))
                      for key in ("rate", "server_cpu_us", "p99_ms")}))
    text = [f"{'':26}{'rel. QPS':>10}{'spread':>8}{'rel. CPU':>10}{'QPS':>11}{'base':>11}{'CPU µs':>10}"
            f"{'base':>10}{'p99 ms':>9}{'base':>9}"]
    for rate, spread, cpu, name, both in sorted(rows, key=lambda row: row[0]):
        shown = f"[{100 * spread:.0f}%]" if spread is not None else ""
        (qps, base_qps), (cpu_us, base_cpu_us), (p99, base_p99) = both.values()
        text.append(f"{name:26}{rate:>10.2f}{shown:>8}{cpu:>10.2f}{qps:>11,.0f}{base_qps:>11,.0f}{cpu_us:>10,.1f}"
                    f"{base_cpu_us:>10,.1f}{p99:>9.2f}{base_p99:>9.2f}")
    return text


WORKLOAD = OltpWorkload()
