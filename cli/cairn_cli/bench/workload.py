# SPDX-License-Identifier: GPL-2.0-only
"""The contract between the bench runner and its workloads.

The runner makes a `Target` for each engine: a private server under the conditions asked for. It calls
`run_step` and measures around it: disk, CPU, memory, the engine's own counters. The workload says
what was done in the meantime, as an `Outcome`. All types here are plain data that go to JSON.
"""

import argparse
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from cairn_cli.bench.engines import Engine
from cairn_cli.errors import CairnError


@dataclass(frozen=True)
class Conditions:
    """Of the whole invocation; the same for every engine."""

    memory_bytes: int | None = None  # the server's cgroup limit; None: no limit
    device: str = "fast"  # "fast" | "volume" | "slow-ssd" | "disk": see conditions.DEVICES
    cold: bool = False  # drop the page cache before each step
    flush_setting: int = 2  # 0 | 1 | 2, as in innodb_flush_log_at_trx_commit
    clients: tuple[int, ...] = ()  # the sweep; empty: the workload's default
    repeats: int = 1  # of repeatable steps, interleaved over the engines
    seconds: int | None = None  # length of a timed step; None: the workload's default
    scale: float | None = None  # in the workload's unit; None: the workload's default


@dataclass(frozen=True)
class Target:
    """One engine's private server, up and running, inside its cgroup."""

    engine: Engine
    socket: Path  # connect as root without a password
    pid: int  # of the server
    data: Path  # the server's data folder
    scratch: Path  # for the client's files (logs, JSON); the same for all steps of an engine
    query: Callable[..., str]  # query(sql: str, database: str = "") -> rows, tab-separated


@dataclass(frozen=True)
class Step:
    """One measured piece of a workload."""

    name: str  # unique within the workload, e.g. "load", "query-1", "qr100"
    # A step that is not repeatable runs once per engine, in the order of the list. Neighbouring
    # repeatable ones form a block, which is repeated and interleaved over the engines (A, B, A, B).
    repeatable: bool
    clients: int = 1
    shown: bool = True  # in the final table
    detail: dict[str, Any] = field(default_factory=dict)  # the workload's own parameters


@dataclass
class Outcome:
    """What a workload returns of a step."""

    operations: int
    unit: str  # "transaction" | "row" | "query"
    seconds: float  # of the timed part alone, without connecting and without sync
    client_cpu_seconds: float = 0.0
    # Per operation: {"count", "p50_ms", "p95_ms", "p99_ms", "max_ms"}.
    latencies: dict[str, dict[str, float]] = field(default_factory=dict)
    # Rate over time: {"second": end of the interval, "operations": in it, "max_ms": worst stall}.
    series: list[dict[str, float]] = field(default_factory=list)
    # Optional sub-results: {name: {"operations", "seconds", "server_cpu_seconds", ...}}.
    lines: dict[str, dict[str, float]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)  # not empty: not shown as a result
    detail: dict[str, Any] = field(default_factory=dict)  # all else worth keeping


class StepFailed(CairnError):
    """A step that broke off; `outcome` is what was done until then, kept in the results as partial."""

    def __init__(self, why: str, outcome: Outcome | None = None) -> None:
        super().__init__(why)
        self.outcome = outcome


@dataclass(frozen=True)
class Column:
    """A figure of the final table, at a dotted path into a step's JSON object (docs/benchmarks.md)."""

    label: str
    path: str  # e.g. "rate", "outcome.latencies.GET_NODE.p99_ms", "metrics.server_cpu_us"
    digits: int = 1
    better: Literal["higher", "lower"] | None = None
    divisor: float = 1.0
    resolution: float = 0.0  # relative: of percentiles, which are bounds of a histogram's buckets


def cost_columns(cpu_digits: int, switch_digits: int) -> list[Column]:
    """What an operation costs the disk (KB of 1024 bytes) and the CPU (µs)."""
    per = "metrics.per_operation."
    return [
        Column("reads/op", f"{per}reads", 3, "lower"),
        Column("KB read/op", f"{per}read_kb", 2, "lower"),
        Column("writes/op", f"{per}writes", 3, "lower"),
        Column("KB written/op", f"{per}written_kb", 2, "lower"),
        Column("flushes/op", f"{per}flushes", 4, "lower"),
        Column("server CPU µs/op", f"{per}server_cpu_us", cpu_digits, "lower"),
        Column("client CPU µs/op", f"{per}client_cpu_us", cpu_digits, "lower"),
        Column("total CPU µs/op", f"{per}total_cpu_us", cpu_digits, "lower"),
        Column("context switches/op", f"{per}context_switches", switch_digits, "lower"),
    ]


class Workload(Protocol):
    """What a workload is: `WORKLOAD` in the module (or package) `cairn_cli.bench.<NAME>`.

    `registry.py` lists the names.
    """

    NAME: str  # the word after `./cairn bench`
    HELP: str
    UNIT: str  # of a step's operations: "transaction", "row", "query"
    # False: it runs a program of its own. Then there is one engine, `engines.NONE`, and of `Target`
    # only `scratch` means something; pid is 0.
    NEEDS_SERVER: bool
    # What it shows is data larger than memory.
    LARGE_DATA: bool
    # The command line of its test, e.g. ("--scale", "5000", "--seconds", "5"): a few seconds each.
    TINY: tuple[str, ...]
    # Applied where the command line says nothing: scale, seconds, clients, repeats.
    DEFAULTS: Conditions

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the workload's own options; the common ones (--scale, --clients …) are there."""

    def steps(self, options: argparse.Namespace) -> list[Step]:
        """The steps in order. `options` has the common options as attributes, defaults applied:
        `options.conditions` (a full Conditions), `options.engines`; and the workload's own. During
        `warm_up` and `run_step` also `options.repeat`, the number of the repeat from 0."""

    def disk_bytes_needed(self, options: argparse.Namespace, engine: Engine) -> int:
        """An estimate of the most space the data takes; checked before the load."""

    def warm_up(self, step: Step, target: Target, options: argparse.Namespace,
                progress: Callable[[str], None]) -> None:
        """Optional. Runs before each step, not measured. That the server was started since the last one, or that
        another had a turn, can be told by `target.pid`."""

    def run_step(self, step: Step, target: Target, options: argparse.Namespace,
                 progress: Callable[[str], None]) -> Outcome:
        """Runs one step. Raises CairnError (or StepFailed) when it could not be done to its end."""

    def parts(self, step: Step, target: Target, options: argparse.Namespace,
              progress: Callable[[str], None]) -> Generator[None, None, Outcome]:
        """Optional; runs a repeatable step in place of `run_step`, and yields where other engines may have
        their turn. The server is paused meanwhile, and nothing is counted as this step's."""

    def columns(self, options: argparse.Namespace) -> list[Column]:
        """The figures of the final table, for the steps that have them."""
