# SPDX-License-Identifier: GPL-2.0-only
"""The Insert Benchmark in both published generations.

The client is bench/insert, one invocation a step; its README has the departures from the original.
Here are the steps, how much each does, and the wait between writes and queries.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from cairn_cli import paths
from cairn_cli.bench import client, settle
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.workload import Column, Conditions, Outcome, Step, StepFailed, Target, cost_columns
from cairn_cli.errors import CairnError

_DATABASE = "insertbench"
_INDEXES = 3
_DISK_BYTES_PER_ROW = {"cairn": 250, "myrocks": 250, "innodb-compressed": 250}
_DISK_BYTES_PER_ROW_OTHER = 400
_DISK_BYTES_BASE = 1 << 30
# A step at a given rate may take so many times its length before it is cut short.
_QUERY_CAP = 3
_PAY_DEBT = {"InnoDB": ("SET GLOBAL innodb_max_dirty_pages_pct = 1", "SET GLOBAL innodb_max_dirty_pages_pct = DEFAULT"),
             "ROCKSDB": ("SET GLOBAL rocksdb_force_flush_memtable_and_lzero_now = ON", "")}


@dataclass(frozen=True)
class Part:
    """One step of a generation."""

    name: str
    command: Literal["load", "index", "run", "settle", "validate"]
    rows_share: float = 0  # of all rows of l.i1 and l.i2 together; a load has all rows
    rows_per_commit: int = 100
    deletes: bool = False
    query: Literal["", "range", "point"] = ""
    rate: int = 0  # rows per second and client


def _queries(rates: tuple[int, ...]) -> tuple[Part, ...]:
    return tuple(Part(f"q{kind[0]}{rate}", "run", rows_per_commit=50, deletes=True, query=kind, rate=rate)
                 for rate in rates for kind in ("range", "point"))


_VALIDATE = Part("validate", "validate")
GENERATIONS = {
    "ib2016": (Part("load", "load"), _VALIDATE),
    "ib2024": (Part("l.i0", "load"), Part("l.x", "index"),
               Part("l.i1", "run", rows_share=0.8, rows_per_commit=50, deletes=True),
               Part("l.i2", "run", rows_share=0.2, rows_per_commit=5, deletes=True),
               Part("vac", "settle"), *_queries((100, 500, 1000)), _VALIDATE),
}
# What the scripts of 2016 and 2017 ran after the load, of which the first publications had nothing.
_QUERIES_2016 = tuple(Part(f"q{rate}", "run", query="range", rate=rate) for rate in (1000, 100))


class Insert:
    """The workload `insert`."""

    NAME = "insert"
    HELP = "the Insert Benchmark: inserts with three secondary indexes, deletes from the old end, queries"
    UNIT = "row"
    NEEDS_SERVER = True
    LARGE_DATA = True
    TINY = ("--scale", "20000", "--memory", "256M", "--seconds", "1", "--warmup", "0", "--settle", "1",
            "--generations", "ib2016,ib2024", "--repeats", "1")
    DEFAULTS = Conditions(memory_bytes=512 << 20, flush_setting=2, clients=(1,), repeats=3, seconds=60,
                          scale=10_000_000)

    def __init__(self) -> None:
        self._warm = 0  # the server that the last step ran on

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The workload's own options; --scale is the number of rows loaded."""
        group = parser.add_argument_group("insert (--scale: rows loaded, by all clients together)")
        group.add_argument("--generations", default="ib2024", metavar="LIST",
                           help="of ib2016 (one load, indexes from the start) and ib2024 (default: %(default)s)")
        group.add_argument("--queries-2016", action="store_true",
                           help="after ib2016's load the range queries q1000 and q100")
        group.add_argument("--write-share", type=float, default=0.2, metavar="SHARE",
                           help="rows of l.i1 and l.i2 together, as a share of the loaded (default: %(default)s)")
        group.add_argument("--max-seconds", type=int, default=1800, metavar="N",
                           help="a load, l.i1 or l.i2 ends then with the rows it has reached (default: %(default)s)")
        group.add_argument("--warmup", type=int, default=10, metavar="SECONDS",
                           help="of a query step's own work after a restart of the server, or others' turns"
                                " (default: %(default)s)")
        group.add_argument("--settle", type=int, metavar="SECONDS",
                           help="the longest wait before queries (default: 60 and 1 per million rows)")
        group.add_argument("--one-table", action="store_true", help="all clients share a table")
        group.add_argument("--partitions", type=int, default=0, metavar="N", help="PARTITION BY RANGE of the id")
        group.add_argument("--prepared", action="store_true", help="prepared statements in place of SQL text")

    def steps(self, options: argparse.Namespace) -> list[Step]:
        """Each generation for each number of clients, from a fresh load to the validation."""
        generations = _generations(options)
        steps = []
        for generation in generations:
            prefix = f"{generation}." if len(generations) > 1 else ""
            for clients in options.conditions.clients:
                suffix = f"-{clients}" if len(options.conditions.clients) > 1 else ""
                for part in _parts(generation, options):
                    steps.append(Step(f"{prefix}{part.name}{suffix}", bool(part.query), clients,
                                      part.command not in ("settle", "validate"),
                                      {"generation": generation, "part": part.name}))
        return steps

    def disk_bytes_needed(self, options: argparse.Namespace, engine: Engine) -> int:
        """Of a table that only grows: what the deletes leave may not have been reclaimed."""
        rows = options.conditions.scale * (1 + options.write_share)
        rows += 2000 * (options.conditions.seconds or 0) * max(options.conditions.clients)
        return int(rows * _DISK_BYTES_PER_ROW.get(engine.kind, _DISK_BYTES_PER_ROW_OTHER)) + _DISK_BYTES_BASE

    def warm_up(self, step: Step, target: Target, options: argparse.Namespace,
                progress: Callable[[str], None]) -> None:
        """A query step does its own work for a while, unmeasured, on a server just started or one that others had a
        turn after, as with LinkBench: a kernel may take the page cache of who does nothing for a minute."""
        if step.repeatable and options.warmup and self._warm != target.pid:
            _client(step, target, options, progress, options.warmup)

    def run_step(self, step: Step, target: Target, options: argparse.Namespace,
                 progress: Callable[[str], None]) -> Outcome:
        """Runs the client for the step, or waits."""
        self._warm = target.pid
        part = _part(step, options)
        if part.command == "settle":
            return _settle(step, target, options, progress)
        found = _client(step, target, options, progress, options.conditions.seconds)
        if part.command == "validate":
            return _validate_outcome(found, None if options.steps else _tables(step, options) * _INDEXES)
        outcome = _index_outcome(found) if part.command == "index" else step_outcome(found["step"], part)
        if found["error"]:
            raise StepFailed(f"the Insert Benchmark's client: {found['error']}", outcome)
        return outcome

    def columns(self, options: argparse.Namespace) -> list[Column]:
        """Rates, stalls, costs."""
        detail = "outcome.detail."
        return [
            Column("operations/s", "rate", 0, "higher"),
            Column("rows reached %", f"{detail}reached_percent", 1, "higher"),
            Column("last tenth rows/s", f"{detail}last_tenth_ips", 0, "higher"),
            Column("last interval rows/s", f"{detail}last_ips", 0, "higher"),
            Column("inserts/s of wanted %", f"{detail}sla_percent", 1, "higher"),
            Column("longest insert stall ms", f"{detail}stall_ms.insert", 0, "lower"),
            Column("longest delete stall ms", f"{detail}stall_ms.delete", 0, "lower"),
            Column("longest query stall ms", f"{detail}stall_ms.query", 0, "lower"),
            *(Column(f"p99 {name} ms", f"outcome.latencies.{name}.p99_ms", 2, "lower",
                     resolution=client.PERCENTILE_RESOLUTION)
              for name in ("insert", "delete", "query")),
            Column("longest MIN(id) ms", f"{detail}min_id_ms", 1, "lower"),
            *cost_columns(cpu_digits=1, switch_digits=3),
            Column("database MB", "metrics.size.database_bytes", 0, "lower", 1e6),
            Column("RSS MB", "metrics.memory.rss_bytes", 0, "lower", 1e6),
            Column("peak RSS MB", "metrics.memory.peak_rss_bytes", 0, "lower", 1e6),
            Column("write amplification", "metrics.engine.write_amplification", 2, "lower"),
        ]


WORKLOAD = Insert()


def _generations(options: argparse.Namespace) -> list[str]:
    names = [name for name in options.generations.split(",") if name]
    if unknown := [name for name in names if name not in GENERATIONS]:
        raise CairnError(f"--generations: no such one: {' '.join(unknown)} (there are: {' '.join(GENERATIONS)})")
    if not names or len(set(names)) != len(names):
        raise CairnError(f"--generations {options.generations}: name each once, at least one")
    return names


def _parts(generation: str, options: argparse.Namespace) -> tuple[Part, ...]:
    parts = GENERATIONS[generation]
    if generation == "ib2016" and options.queries_2016:
        return (*parts[:-1], *_QUERIES_2016, parts[-1])
    return parts


def _part(step: Step, options: argparse.Namespace) -> Part:
    return next(part for part in _parts(step.detail["generation"], options) if part.name == step.detail["part"])


def _tables(step: Step, options: argparse.Namespace) -> int:
    return 1 if options.one_table else step.clients


def client_arguments(step: Step, engine: Engine, options: argparse.Namespace, seconds: int) -> list[str]:
    """The client's options for a step; `seconds` is the length of one at a given rate."""
    part = _part(step, options)
    generation = step.detail["generation"]
    rows = int(options.conditions.scale)
    words = [f"--generation={generation}", f"--database={_DATABASE}", f"--clients={step.clients}",
             f"--rows-per-commit={part.rows_per_commit}"]
    words += [flag for flag, given in (("--one-table", options.one_table), ("--prepared", options.prepared),
                                       ("--deletes", part.deletes)) if given]
    if part.command == "load":
        words += [f"--engine={engine.client_name}", f"--table-options={engine.table_options}",
                  f"--partitions={options.partitions}", f"--rows={rows}"]
        words += ["--secondary-indexes"] if generation == "ib2016" else []
    elif part.command == "index" and engine.client_name != "ROCKSDB":
        words.append("--one-alter")
    if part.rate:
        words += [f"--query={part.query}", f"--rate={part.rate}", f"--seconds={seconds}",
                  f"--max-seconds={_QUERY_CAP * seconds}"]
    elif part.command == "run":
        words.append(f"--rows={max(1, round(rows * options.write_share * part.rows_share))}")
    if part.command in ("load", "run") and not part.rate:
        words.append(f"--max-seconds={options.max_seconds}")
    return words


def _client(step: Step, target: Target, options: argparse.Namespace, progress: Callable[[str], None],
            seconds: int) -> dict[str, Any]:
    part = _part(step, options)
    program = paths.build_dir(options.build_type) / "bench/insert/cairn-insertbench"
    state = target.scratch / f"{step.detail['generation']}-{step.clients}.rows"
    return client.run(program, part.command, step.name, target,
                      [f"--state={state}", *client_arguments(step, target.engine, options, seconds)], progress)


def step_outcome(found: dict[str, Any] | None, part: Part) -> Outcome | None:
    """Of inserts: rows, or with queries beside them, queries. None where there was no such step."""
    if found is None:
        return None
    kind = "query" if part.query else "insert"
    statements = {name: each for name, each in found["statements"].items() if each}
    series = [{"second": each["second"], "operations": each[kind], "max_ms": each[f"stall_{kind}_ms"]}
              | {f"{name}{what}": each[key] for name in statements
                 for what, key in (("s", name), ("_stall_ms", f"stall_{name}_ms"))}
              for each in found["timeline"]]
    detail = {key: found[key] for key in ("complete", "rows_wanted", "inserted", "deleted", "queries", "query_rows",
                                          "rows_per_commit", "ips", "dps", "qps", "retries", "reports")}
    detail["reached_percent"] = 100 * found["inserted"] / found["rows_wanted"]
    detail["stall_ms"] = {name: each["stall_max_ms"] for name, each in statements.items()}
    detail["statements"] = {name: {key: each[key] for key in ("response_times", "rate_reached_by", "rate_slices",
                                                              "largest_ms")} for name, each in statements.items()}
    if found["min_id_query"]:
        detail |= {"min_id_ms": found["min_id_query"]["max_ms"], "min_id_query": found["min_id_query"]}
    if found["sla"]:
        detail |= {"sla_kept": found["sla"]["kept"], "sla_percent": 100 * found["ips"] / found["sla"]["wanted_ips"]}
    else:
        detail |= {key: found[key] for key in ("last_tenth_ips", "last_ips")}
    operations, unit = (found["queries"], "query") if part.query else (found["inserted"], "row")
    return Outcome(operations, unit, found["seconds"], found["client_cpu_seconds"], client.latencies(statements),
                   series, detail=detail)


def _index_outcome(found: dict[str, Any]) -> Outcome | None:
    index = found["index"]
    if index is None:
        return None
    lines = {each["text"]: {"operations": index["rows"], "seconds": each["seconds"]} for each in index["statements"]}
    return Outcome(index["rows"], "row", index["seconds"], lines=lines)


def _validate_outcome(found: dict[str, Any], indexes: int | None) -> Outcome:
    validate = found["validate"]
    if validate is None or found["error"]:
        raise CairnError(f"the Insert Benchmark's client: {found['error']}")
    problems = list(validate["problems"])
    if indexes not in (None, validate["indexes"]):
        problems.append(f"{validate['indexes']} secondary indexes, not {indexes}")
    return Outcome(validate["rows"], "row", validate["seconds"], problems=problems, detail=validate)


def _settle(step: Step, target: Target, options: argparse.Namespace, progress: Callable[[str], None]) -> Outcome:
    """ANALYZE, then the engine's own way to work off what it owes, until it is idle."""
    rows = int(options.conditions.scale)
    tables = range(1, _tables(step, options) + 1)
    target.query(f"ANALYZE TABLE {', '.join(f'pi{number}' for number in tables)}", _DATABASE)
    before, after = _PAY_DEBT.get(target.engine.client_name, ("", ""))
    if before:
        target.query(before)
    progress("waiting for the server to settle")
    seconds = settle.wait_until_idle(target.pid, options.settle or settle.limit_seconds(rows))
    if after:
        target.query(after)
    return Outcome(rows, "row", seconds)
