# SPDX-License-Identifier: GPL-2.0-only
"""LinkBench: load a social graph, then its ten operations in their mix; every count is validated.

The client is bench/linkbench (its README has the model and the departures from the original). The
query step is repeated on the same, ageing graph; each repeat's figures are kept, so that it can be
seen whether the state is steady.
"""

import argparse
import math
from collections.abc import Callable
from typing import Any

from cairn_cli import paths
from cairn_cli.bench import client
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.workload import Column, Conditions, Outcome, Step, StepFailed, Target, cost_columns

OPERATIONS = ("ADD_LINK", "DELETE_LINK", "UPDATE_LINK", "COUNT_LINK", "MULTIGET_LINK",
              "GET_LINKS_LIST", "ADD_NODE", "UPDATE_NODE", "DELETE_NODE", "GET_NODE")
# Percent of each operation, in the order above.
PROFILES = {
    "fb2011": (8.9886601, 2.9907664, 8.0122125, 4.8863567, 0.5261142,
               50.7119145, 2.5732789, 7.366437, 1.0115914, 12.9326683),
    "fb2017": (5.35038, 0.98401, 4.75589, 4.27898, 12.14725,
               22.57039, 2.61198, 3.06256, 0.25166, 43.9869),
}
_MIX_POINTS_MAX = 0.5
# The client's name of an engine, and what it appends to every table.
_CLIENT_ENGINES = {"cairn": ("cairn", ""), "innodb": ("innodb", ""),
                   "innodb-compressed": ("innodb-zlib", ""),  # as published: not the node table
                   "innodb-page-compressed": ("innodb", "PAGE_COMPRESSED=1"), "myrocks": ("myrocks", "")}
# Per id, after hours of requests; published figures and ours.
_DISK_BYTES_PER_ID = {"cairn": 900, "myrocks": 900, "innodb-compressed": 1300}
_DISK_BYTES_PER_ID_OTHER = 1900
_DISK_BYTES_BASE = 2 << 30  # redo log, temporary files


def mix_problems(counts: dict[str, int], profile: str) -> list[str]:
    """Operations whose share is off by more than half a percentage point (of a million requests or
    more; with fewer, by that plus five standard deviations of chance)."""
    total = sum(counts.values())
    found = []
    for name, percent in zip(OPERATIONS, PROFILES[profile], strict=True):
        share = percent / 100
        chance = 0.0 if total >= 1_000_000 else 500 * math.sqrt(share * (1 - share) / max(total, 1))
        seen = 100 * counts.get(name, 0) / max(total, 1)
        if abs(seen - percent) > _MIX_POINTS_MAX + chance:
            found.append(f"{name} is {seen:.2f} % of the requests, not {percent:.2f} %")
    return found


class LinkBench:
    """The workload `linkbench`."""

    NAME = "linkbench"
    HELP = "LinkBench: a social graph's mix of reads and writes, with its counts validated"
    UNIT = "transaction"
    NEEDS_SERVER = True
    LARGE_DATA = True
    TINY = ("--scale", "5000", "--memory", "256M", "--seconds", "3", "--warmup", "0", "--repeats", "1")
    DEFAULTS = Conditions(memory_bytes=512 << 20, flush_setting=2, clients=(2,), repeats=3, seconds=60,
                          scale=2_000_000)

    def __init__(self) -> None:
        self._warm = 0  # the server that the last requests went to

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The workload's own options; --scale is the number of nodes."""
        group = parser.add_argument_group("linkbench (--scale: nodes of the graph)")
        group.add_argument("--profile", choices=tuple(PROFILES), default="fb2011",
                           help="mix and payloads (default: %(default)s)")
        group.add_argument("--loaders", type=int, default=2, metavar="N",
                           help="threads that load links, beside the one for nodes (default: %(default)s)")
        group.add_argument("--warmup", type=int, default=20, metavar="SECONDS",
                           help="of requests before a turn, unless the server had the last one (default: %(default)s)")
        group.add_argument("--partitions", type=int, default=0, metavar="N", help="PARTITION BY KEY, all three tables")
        group.add_argument("--prepared", action="store_true", help="prepared statements in place of SQL text")
        group.add_argument("--max-degree", default="auto", metavar="N", help="the most links of an id: auto, none or N")
        group.add_argument("--sample", type=int, default=1, metavar="N",
                           help="validate one of N ranges of ids (default: all)")

    def steps(self, options: argparse.Namespace) -> list[Step]:
        """load, a query step for each number of clients, validate."""
        sweep = options.conditions.clients
        names = {clients: "query" if len(sweep) == 1 else f"query-{clients}" for clients in sweep}
        return [Step("load", False, options.loaders + 1),
                *(Step(names[clients], True, clients) for clients in sweep), Step("validate", False, shown=False)]

    def disk_bytes_needed(self, options: argparse.Namespace, engine: Engine) -> int:
        """From the sizes of published and own runs, per id."""
        per_id = _DISK_BYTES_PER_ID.get(engine.kind, _DISK_BYTES_PER_ID_OTHER)
        return int(options.conditions.scale * per_id) + _DISK_BYTES_BASE

    def warm_up(self, step: Step, target: Target, options: argparse.Namespace,
                progress: Callable[[str], None]) -> None:
        """Requests that fill the caches, of a server just started or one that others had a turn after: a kernel may
        take the page cache of who does nothing for a minute (DAMON), and leaves what a process has allocated."""
        if not step.repeatable or not options.warmup or self._warm == target.pid:
            return
        _client("run", step, target, options, progress,
                [*_requests(step, options, odd=True), f"--seconds={options.warmup}"])
        self._warm = target.pid

    def run_step(self, step: Step, target: Target, options: argparse.Namespace,
                 progress: Callable[[str], None]) -> Outcome:
        """Runs the client for one of its three commands."""
        if step.name == "load":
            return _load_outcome(_client("load", step, target, options, progress, []))
        if step.name == "validate":
            return _validate_outcome(_client("validate", step, target, options, progress,
                                             [f"--sample={options.sample}"]))
        arguments = [*_requests(step, options, odd=False), f"--seconds={options.conditions.seconds}"]
        return _query_outcome(_client("run", step, target, options, progress, arguments), options.profile)

    def columns(self, options: argparse.Namespace) -> list[Column]:
        """What the field's tables have."""
        return [
            Column("operations/s", "rate", 0, "higher"),
            *cost_columns(cpu_digits=0, switch_digits=2),
            Column("database MB", "metrics.size.database_bytes", 0, "lower", 1e6),
            Column("data folder MB", "metrics.size.data_bytes", 0, "lower", 1e6),
            Column("RSS MB", "metrics.memory.rss_bytes", 0, "lower", 1e6),
            Column("peak RSS MB", "metrics.memory.peak_rss_bytes", 0, "lower", 1e6),
            Column("write amplification", "metrics.engine.write_amplification", 2, "lower"),
            *(Column(f"{name} {which} ms", f"outcome.latencies.{name}.{which}_ms", 2, "lower",
                     resolution=resolution)
              for name in ("UPDATE_NODE", "GET_NODE", "UPDATE_LINK", "GET_LINKS_LIST")
              for which, resolution in (("p99", client.PERCENTILE_RESOLUTION), ("max", 0.0))),
        ]


WORKLOAD = LinkBench()


def _requests(step: Step, options: argparse.Namespace, *, odd: bool) -> list[str]:
    """Options of a request phase. Each has requests of its own, the same for every engine."""
    seed = 1000 * step.clients + 2 * options.repeat + odd
    return [f"--threads={step.clients}", f"--seed={seed}", *(["--prepared"] if options.prepared else [])]


def _client(command: str, step: Step, target: Target, options: argparse.Namespace,
            progress: Callable[[str], None], arguments: list[str]) -> dict[str, Any]:
    """Runs the client and returns its JSON object; raises CairnError when it did not get that far."""
    program = paths.build_dir(options.build_type) / "bench/linkbench/cairn-linkbench"
    kind, table_options = _CLIENT_ENGINES[target.engine.kind]
    found = client.run(
        program, command, step.name, target,
        [f"--engine={kind}", f"--table-options={table_options}", f"--ids={int(options.conditions.scale)}",
         f"--max-degree={options.max_degree}", f"--profile={options.profile}", f"--loaders={options.loaders}",
         f"--partitions={options.partitions}", "--data-device=none", *arguments], progress)
    if found["error"]:
        partial = _query_outcome(found, options.profile) if found["run"] else None
        raise StepFailed(f"LinkBench's client: {found['error']}", partial)
    return found


def _load_outcome(found: dict[str, Any]) -> Outcome:
    load = found["load"]
    rows = load["nodes"] + load["links"] + load["counts"]
    return Outcome(rows, "row", load["seconds"], load["metrics"]["client"]["cpu_seconds"],
                   client.latencies(load["batches"]),
                   detail={name: load[name] for name in ("nodes", "links", "counts", "links_per_node", "retries")}
                   | {"max_degree": found["max_degree"], "server": found["server"]})


def _query_outcome(found: dict[str, Any], profile: str) -> Outcome:
    run = found["run"]
    problems = mix_problems({name: each["count"] for name, each in run["operations"].items()}, profile)
    if run["failed"]:
        problems.append(f"{run['failed']} requests failed, the last with: {run['last_error']}")
    series = [{"second": each["second"], "operations": each["transactions"], "max_ms": each["max_ms"]}
              for each in run["intervals"]]
    detail = {"found": {name: each["found"] for name, each in run["operations"].items()},
              "percent": {name: each["percent"] for name, each in run["operations"].items()},
              "range_rows": run["range_rows"], "retries": run["retries"], "prepared": run["prepared"]}
    return Outcome(run["transactions"], "transaction", run["seconds"], run["metrics"]["client"]["cpu_seconds"],
                   client.latencies(run["operations"]), series, problems=problems, detail=detail)


def _validate_outcome(found: dict[str, Any]) -> Outcome:
    validate = found["validate"]
    problems = [] if validate["consistent"] else [
        f"{validate['count_mismatches']} counts differ from the links, {validate['index_mismatches']} ranges differ "
        "between the two indexes", *validate["examples"][:3]]
    return Outcome(validate["links_checked"], "row", validate["seconds"], problems=problems, detail=validate)
