# SPDX-License-Identifier: GPL-2.0-only
"""Workload ddl: indexes built on a table with rows, and tables copied.

Each statement is measured alone, with nobody else on the server. What it made is undone, unmeasured, so
that each repeat finds the same table.
"""

import argparse
from collections.abc import Callable, Generator
from dataclasses import dataclass

from cairn_cli.bench import sysbench
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.sysbench_tables import (
    BYTES_PER_ROW,
    SameEverywhere,
    SettledTables,
    Tables,
    Timed,
    load,
    pick,
    tables_of,
    wait_until_idle,
)
from cairn_cli.bench.workload import Column, Conditions, Outcome, Step, Target

_COPIES = 3  # the table, its copy until the statement ends, and what an engine has not yet freed
_BY_INDEX, _DROP_INDEX = "sbtest1 FORCE INDEX (made)", "DROP INDEX made ON sbtest1"


@dataclass(frozen=True)
class Statement:
    """One statement. "@" stands for the engine's name and its table options."""

    name: str
    text: str
    made: str = "sbtest1"  # where all rows must be found afterwards
    undo: str = ""


STATEMENTS = (
    Statement("index-int", "ALTER TABLE sbtest1 ADD INDEX made (k, id)", _BY_INDEX, _DROP_INDEX),
    Statement("index-text", "ALTER TABLE sbtest1 ADD INDEX made (c)", _BY_INDEX, _DROP_INDEX),
    # As the engine does it by itself: InnoDB rebuilds without the server's copy.
    Statement("rebuild", "ALTER TABLE sbtest1 ENGINE=@"),
    Statement("copy", "ALTER TABLE sbtest1 ENGINE=@, ALGORITHM=COPY"),
    Statement("create-select", "CREATE TABLE made (PRIMARY KEY (id), KEY (k)) ENGINE=@ SELECT * FROM sbtest1",
              "made", "DROP TABLE made"),
)


class DdlWorkload(SettledTables):
    """Load of one table, then each statement."""

    NAME = "ddl"
    HELP = "index builds and copies of a table"
    UNIT = "row"
    NEEDS_SERVER = True
    LARGE_DATA = False
    TINY = ("--scale", "20000", "--repeats", "1")
    DEFAULTS = Conditions(scale=1_000_000, repeats=3)  # rows of the table

    def __init__(self) -> None:
        self._same = SameEverywhere()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The size is --scale, rows of the table."""
        parser.set_defaults(tables=1)
        parser.add_argument("--statements", default=",".join(statement.name for statement in STATEMENTS),
                            metavar="LIST", help="statements (default: all of %(default)s)")

    def steps(self, options: argparse.Namespace) -> list[Step]:
        """The statements are repeated, by turns; the load is not."""
        chosen(options.statements)
        return [Step("load", repeatable=False), Step("statements", repeatable=True),
                Step("check", repeatable=False)]

    def disk_bytes_needed(self, options: argparse.Namespace, engine: Engine) -> int:
        """Of uncompressed tables."""
        return _COPIES * tables_of(options).total * BYTES_PER_ROW

    def run_step(self, step: Step, target: Target, options: argparse.Namespace,
                 progress: Callable[[str], None]) -> Outcome:
        """Runs the load, or looks whether all rows are there after it all."""
        table = tables_of(options)
        if step.name == "load":
            return load(target, table, progress)
        return self._same.check(target, table, step.name)

    def parts(self, step: Step, target: Target, options: argparse.Namespace,
              progress: Callable[[str], None]) -> Generator[None, None, Outcome]:
        """Each statement is a part."""
        table = tables_of(options)
        outcome = Outcome(operations=0, unit="row", seconds=0.0)
        for statement in chosen(options.statements):
            progress(statement.name)
            _run(statement, target, table, outcome)
            wait_until_idle(target, table, progress)
            yield
        return outcome

    def columns(self, options: argparse.Namespace) -> list[Column]:
        """Seconds, and the server's CPU of each row."""
        columns = []
        for statement in chosen(options.statements):
            path = f"outcome.lines.{statement.name}"
            columns += [Column(f"{statement.name} s", f"{path}.seconds", 2, "lower"),
                        Column(f"{statement.name} CPU ns/row", f"{path}.server_cpu_ns", 0, "lower")]
        return columns


def chosen(names: str) -> list[Statement]:
    """The statements of a list of names."""
    return pick(names, {statement.name: statement for statement in STATEMENTS}, "statement")


def _run(statement: Statement, target: Target, table: Tables, outcome: Outcome) -> None:
    engine = f"{target.engine.client_name} {target.engine.table_options}".strip()
    with Timed(target) as taken:
        target.query(statement.text.replace("@", engine), sysbench.DATABASE)
    line = taken.line(table.rows)
    outcome.lines[statement.name] = line | {"server_cpu_ns": line["server_cpu_seconds"] * 1e9 / table.rows}
    outcome.operations += table.rows
    outcome.seconds += line["seconds"]
    outcome.problems += _problems(statement, target, table)
    if statement.undo:
        target.query(statement.undo, sysbench.DATABASE)


def _problems(statement: Statement, target: Target, table: Tables) -> list[str]:
    counted = target.query(f"SELECT COUNT(*) FROM {statement.made}", sysbench.DATABASE).strip()
    if counted != str(table.rows):
        return [f"{statement.name}: {counted} rows, not {table.rows}"]
    return []


WORKLOAD = DdlWorkload()
