# SPDX-License-Identifier: GPL-2.0-only
"""sysbench's tables: filled alike on every engine, compared between engines, and left to settle."""

import argparse
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from cairn_cli.bench import settle as settling
from cairn_cli.bench import sysbench
from cairn_cli.bench.workload import Outcome, Step, Target
from cairn_cli.errors import CairnError

# What the published results' tables take in InnoDB, with the index k and room for splits and undo.
BYTES_PER_ROW = 300
T = TypeVar("T")
_LOADERS = 2
_SUMS = "COUNT(*), SUM(id), SUM(k), SUM(CRC32(c)), SUM(CRC32(pad))"


@dataclass(frozen=True)
class Tables:
    """sbtest1 … sbtest<count>, each of `rows` rows at first."""

    count: int
    rows: int

    @property
    def total(self) -> int:
        """Rows of all tables."""
        return self.count * self.rows

    def numbers(self) -> range:
        """The numbers in the tables' names."""
        return range(1, self.count + 1)


def pick(names: str, things: Mapping[str, T], what: str) -> list[T]:
    """The things of a comma-separated list of names; raises CairnError for an unknown one."""
    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if unknown := [name for name in wanted if name not in things]:
        raise CairnError(f"no such {what}: {' '.join(unknown)} (there are: {' '.join(things)})")
    return [things[name] for name in wanted]


def tables_of(options: argparse.Namespace) -> Tables:
    """The tables that the command line asks for."""
    return Tables(count=options.tables, rows=int(options.conditions.scale))


def load(target: Target, tables: Tables, progress: Callable[[str], None]) -> Outcome:
    """Makes the database anew, fills the tables, builds the index k on each, and lets it settle.

    Two tables at a time, one process each; a table's number is the seed of its rows.
    """
    name = sysbench.DATABASE
    target.query(f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name}")
    client_cpu = -sysbench.client_cpu_seconds()

    def fill(number: int) -> None:
        sysbench.run(target, "load.lua", {
            "table": number, "table_size": tables.rows, "create_secondary": False,
            "mysql_storage_engine": target.engine.client_name,
            "table_options": target.engine.table_options}, events=1, seed=number)
        progress(f"table {number} of {tables.count} filled")

    lines = {}
    with Timed(target) as fill_time, ThreadPoolExecutor(_LOADERS) as pool:
        list(pool.map(fill, tables.numbers()))
    client_cpu += sysbench.client_cpu_seconds()
    lines["fill"] = fill_time.line(tables.total)
    with Timed(target) as index_time:
        for number in tables.numbers():
            target.query(f"CREATE INDEX k_{number} ON sbtest{number} (k)", name)
            progress(f"index {number} of {tables.count} built")
    lines["index"] = index_time.line(tables.total)
    return Outcome(operations=tables.total, unit="row",
                   seconds=fill_time.seconds + index_time.seconds, client_cpu_seconds=client_cpu,
                   lines=lines, detail={"settle_seconds": settle(target, tables, progress)})


class Timed:
    """Wall time and the server's CPU of a block."""

    def __init__(self, target: Target) -> None:
        self._pid = target.pid
        self.seconds = self.cpu_seconds = 0.0

    def __enter__(self) -> "Timed":
        self.seconds = -time.monotonic()
        self.cpu_seconds = -sysbench.server_cpu_seconds(self._pid)
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.monotonic()
        self.cpu_seconds += sysbench.server_cpu_seconds(self._pid)

    def line(self, operations: int) -> dict[str, float]:
        """As a sub-result of an Outcome."""
        return {"operations": operations, "seconds": self.seconds,
                "server_cpu_seconds": self.cpu_seconds}


class SameEverywhere:
    """Remembers the first engine's sums over the tables at one point of a run; others must agree.

    The key says all that decides the rows, so that what is remembered holds for the process's life.
    """

    def __init__(self) -> None:
        self._first: dict[tuple[object, ...], tuple[str, list[str]]] = {}

    def check(self, target: Target, tables: Tables, *point: object) -> Outcome:
        """A step that looks for `problems`."""
        with Timed(target) as time_taken:
            problems = self.problems(target, tables, *point)
        return Outcome(operations=tables.total, unit="row", seconds=time_taken.seconds, problems=problems)

    def problems(self, target: Target, tables: Tables, *point: object) -> list[str]:
        """Reads all columns of all tables; says what differs, or is wrong by itself."""
        found = sums(target, tables)
        problems = index_problems(target, tables)
        for number, line in zip(tables.numbers(), found, strict=True):
            if int(line.split()[0]) != tables.rows:
                problems.append(f"sbtest{number} has {line.split()[0]} rows, not {tables.rows}")
        engine, first = self._first.setdefault((tables, *point), (target.engine.name, found))
        problems += [f"sbtest{number}: {_SUMS} is {mine} here and {theirs} on {engine}"
                     for number, mine, theirs in zip(tables.numbers(), found, first, strict=True)
                     if mine != theirs]
        return problems


def sums(target: Target, tables: Tables) -> list[str]:
    """One line for each table, which depends on every value in it."""
    return [target.query(f"SELECT {_SUMS} FROM sbtest{number} FORCE INDEX (PRIMARY)",
                         sysbench.DATABASE).strip().replace("\t", " ")
            for number in tables.numbers()]


def index_problems(target: Target, tables: Tables) -> list[str]:
    """Where a table and its index k do not have the same rows."""
    problems = []
    for number in tables.numbers():
        def of(index: str, table: int = number) -> str:
            return target.query(f"SELECT COUNT(*), SUM(id), SUM(k) FROM sbtest{table}"
                                f" FORCE INDEX ({index})", sysbench.DATABASE).strip()
        primary, secondary = of("PRIMARY"), of(f"k_{number}")
        if primary != secondary:
            problems.append(f"sbtest{number}: rows by the primary key: {primary}; by k: {secondary}")
    return problems


def settle(target: Target, tables: Tables, progress: Callable[[str], None]) -> float:
    """ANALYZE, then `wait_until_idle`."""
    for number in tables.numbers():
        target.query(f"ANALYZE TABLE sbtest{number}", sysbench.DATABASE)
    return wait_until_idle(target, tables, progress)


class SettledTables:
    """The part of a workload on these tables that waits before a measured step."""

    def warm_up(self, step: Step, target: Target, options: argparse.Namespace,
                progress: Callable[[str], None]) -> None:
        """A server that was started just now may still be putting its files in order."""
        if step.repeatable:
            wait_until_idle(target, tables_of(options), progress)


def wait_until_idle(target: Target, tables: Tables, progress: Callable[[str], None]) -> float:
    """Waits until the server's background work is done; returns the seconds."""
    progress("waiting for the server to settle")
    return settling.wait_until_idle(target.pid, settling.limit_seconds(tables.total))
