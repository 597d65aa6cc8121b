# SPDX-License-Identifier: GPL-2.0-only
"""Workload scan: whole tables read in several ways, before and after random updates.

bench/oltp/README.md says what is taken from the published runs and what is different.
"""

import argparse
import statistics
from collections.abc import Callable, Generator
from dataclasses import dataclass

from cairn_cli.bench import sysbench
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.sysbench_tables import (
    BYTES_PER_ROW,
    SameEverywhere,
    SettledTables,
    Tables,
    load,
    pick,
    settle,
    tables_of,
)
from cairn_cli.bench.workload import Column, Conditions, Outcome, Step, Target

_SEED = 20170907  # any: the same updates on every engine


@dataclass(frozen=True)
class Scan:
    """One way of reading a table. "@" stands for its number."""

    name: str
    statement: str
    all_tables: bool = False
    counts: bool = False  # its first value is the number of rows


SCANS = (
    # The published test's: every row from the primary key, none of which passes.
    Scan("full", "SELECT COUNT(*) FROM sbtest@ WHERE LENGTH(pad) < 0"),
    Scan("full-all", "SELECT COUNT(*) FROM sbtest@ WHERE LENGTH(pad) < 0", all_tables=True),
    # The same with all columns asked for, as sysbench scripts of today do it.
    Scan("row-filter", "SELECT * FROM sbtest@ WHERE LENGTH(c) < 0"),
    Scan("covering", "SELECT COUNT(*), SUM(k) FROM sbtest@ FORCE INDEX (k_@)", counts=True),
    Scan("count", "SELECT COUNT(*) FROM sbtest@", counts=True),
    # Backwards by the primary key; the limit is never reached.
    Scan("reverse", "SELECT * FROM sbtest@ FORCE INDEX (PRIMARY) WHERE LENGTH(pad) < 0"
                    " ORDER BY id DESC LIMIT 1"),
)


class ScanWorkload(SettledTables):
    """Load, scans, random updates, scans."""

    NAME = "scan"
    HELP = "full, filtered, covering and reverse scans before and after random updates"
    UNIT = "row"
    NEEDS_SERVER = True
    LARGE_DATA = False
    TINY = ("--scale", "20000", "--tables", "2", "--passes", "1", "--repeats", "1")
    DEFAULTS = Conditions(scale=1_000_000, repeats=3)  # rows in each table

    def __init__(self) -> None:
        self._same = SameEverywhere()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The size is --scale, rows in each table."""
        parser.add_argument("--tables", type=int, default=8,
                            help="tables; the scan of all has a client for each (default: %(default)s)")
        parser.add_argument("--passes", type=int, default=3,
                            help="measured scans of each kind in a step, after one that warms; with"
                                 " dropped caches there is one, and none that warms (default: %(default)s)")
        parser.add_argument("--update-share", type=float, default=0.1,
                            help="transactions between the two blocks of scans, as a share of the rows;"
                                 " each changes three rows (default: %(default)s)")
        parser.add_argument("--scans", default=",".join(scan.name for scan in SCANS), metavar="LIST",
                            help="kinds of scan (default: all of %(default)s)")

    def steps(self, options: argparse.Namespace) -> list[Step]:
        """Scans are repeated, by turns; load and updates are not.

        With dropped caches each kind is a step of its own, for only the first scan of a step finds them so.
        """
        kinds = [scan.name for scan in chosen(options.scans)]

        def scans(when: str) -> list[Step]:
            if options.conditions.cold:
                return [Step(f"{when}-{kind}", repeatable=True, detail={"scans": [kind]}) for kind in kinds]
            return [Step(when, repeatable=True, detail={"scans": kinds})]

        return [Step("load", repeatable=False), Step("load-check", repeatable=False), *scans("scan-before"),
                Step("update", repeatable=False), Step("update-check", repeatable=False), *scans("scan-after")]

    def disk_bytes_needed(self, options: argparse.Namespace, engine: Engine) -> int:
        """Of uncompressed tables with room for splits."""
        return tables_of(options).total * BYTES_PER_ROW

    def run_step(self, step: Step, target: Target, options: argparse.Namespace,
                 progress: Callable[[str], None]) -> Outcome:
        """Runs a load or updates. Checks are steps of their own, so that their cost is nobody else's."""
        tables = tables_of(options)
        if step.name.endswith("-check"):
            return self._same.check(target, tables, step.name, options.update_share)
        if step.name == "load":
            return load(target, tables, progress)
        return _update(target, tables, options.update_share, progress)

    def parts(self, step: Step, target: Target, options: argparse.Namespace,
              progress: Callable[[str], None]) -> Generator[None, None, Outcome]:
        """Each kind of scan is a part."""
        outcome = Outcome(operations=0, unit="row", seconds=0.0)
        for scan in chosen(",".join(step.detail["scans"])):
            progress(scan.name)
            _scan(scan, target, tables_of(options), options, outcome)
            yield
        return outcome

    def columns(self, options: argparse.Namespace) -> list[Column]:
        """Rows per second and the server's CPU of each kind of scan."""
        columns = [Column("operations/s", "rate", 0, "higher"),
                   Column("size MB", "metrics.size.database_bytes", 0, "lower", 1e6)]
        for scan in chosen(options.scans):
            path = f"outcome.lines.{scan.name}"
            columns += [Column(f"{scan.name} Mrows/s", f"{path}.rate", 2, "higher", 1e6),
                        Column(f"{scan.name} CPU ns/row", f"{path}.server_cpu_ns", 0, "lower")]
        return columns


def chosen(names: str) -> list[Scan]:
    """The scans of a list of names."""
    return pick(names, {scan.name: scan for scan in SCANS}, "scan")


def _update(target: Target, tables: Tables, share: float, progress: Callable[[str], None]) -> Outcome:
    """Random changes by sysbench's oltp_write_only: one of k, one of c, one row deleted and inserted.

    One client: several would share the events by chance, and the rows would not be comparable.
    """
    events = max(1, round(tables.total * share))
    progress(f"{events:,} transactions")
    done = sysbench.run(target, "oltp_write_only", {"tables": tables.count, "table_size": tables.rows},
                        events=events, seed=_SEED)
    problems = []
    if done.report.errors or done.report.events != events:
        problems.append(f"{done.report.events} of {events} transactions, {done.report.errors} errors")
    return Outcome(operations=events, unit="transaction", seconds=done.report.seconds,
                   client_cpu_seconds=done.client_cpu_seconds,
                   latencies={"write-only": dict(done.report.latency)},
                   lines={"update": done.line(events)}, problems=problems,
                   detail={"settle_seconds": settle(target, tables, progress)})


def _scan(scan: Scan, target: Target, tables: Tables, options: argparse.Namespace, outcome: Outcome) -> None:
    cold = options.conditions.cold
    passes = [_scan_once(scan, target, tables, outcome.problems)
              for _ in range(1 if cold else 1 + options.passes)]
    line = median_line(passes if cold else passes[1:])
    line |= {"first_seconds": passes[0]["seconds"], "rate": line["operations"] / line["seconds"],
             "server_cpu_ns": line["server_cpu_seconds"] * 1e9 / line["operations"],
             "passes": len(passes) - (not cold)}
    outcome.lines[scan.name] = line
    outcome.operations += sum(int(each["operations"]) for each in passes)
    outcome.seconds += sum(each["seconds"] for each in passes)
    outcome.client_cpu_seconds += sum(each["client_cpu_seconds"] for each in passes)


def _scan_once(scan: Scan, target: Target, tables: Tables, problems: list[str]) -> dict[str, float]:
    count = tables.count if scan.all_tables else 1
    done = sysbench.run(target, "scan.lua", {"tables": count, "passes": 1, "table_size": tables.rows,
                                             "statement": scan.statement}, threads=count)
    problems += wrong_results(scan, done.report.results, count, tables.rows)
    return done.line(count * tables.rows)


def wrong_results(scan: Scan, results: dict[int, str], clients: int, rows: int) -> list[str]:
    """What is wrong with the rows that the clients got."""
    if scan.counts:
        wanted = str(rows)
        bad = {thread: row for thread, row in results.items() if row.split()[:1] != [wanted]}
    else:
        wanted = "0 rows"
        bad = {thread: row for thread, row in results.items() if row not in ("", "0")}
    problems = [f"{scan.name}: client {thread} got {row!r}, not {wanted}" for thread, row in bad.items()]
    if len(results) != clients:
        problems.append(f"{scan.name}: {len(results)} of {clients} clients had a result")
    return problems


def median_line(lines: list[dict[str, float]]) -> dict[str, float]:
    """Figure by figure."""
    return {name: statistics.median(line[name] for line in lines) for name in lines[0]}


WORKLOAD = ScanWorkload()
