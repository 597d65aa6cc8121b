# SPDX-License-Identifier: GPL-2.0-only
"""Runs a random history on InnoDB and on the engine under test, in two databases of one server."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from crash.client import Connection, SqlError
from crash.server import Server

from .generator import Statements, make_table

BASE, TRIED = "base_engine", "tried_engine"
# Errors whose text or very number may differ for one reason: which duplicate key was met first.
Answer = tuple[str, object]


@dataclass
class Difference:
    """A history that ends in different answers; `history` is enough to see it again."""

    seed: int
    history: list[str] = field(default_factory=list)
    base: Answer = ("", None)
    tried: Answer = ("", None)

    def __str__(self) -> str:
        return "\n".join([f"seed {self.seed}:", *self.history, f"-- InnoDB: {self.base}", f"-- tried:  {self.tried}"])


def run_history(server: Server, seed: int, statements: int) -> Difference | None:
    """One table's history; None when the engines agree all along."""
    rng = random.Random(seed)
    table, create = make_table(rng, "t")
    stream = Statements(rng, table)
    difference = Difference(seed)
    with server.connect() as base, server.connect() as tried:
        for connection, database in ((base, BASE), (tried, TRIED)):
            connection.query(f"CREATE OR REPLACE DATABASE {database}")
            connection.query(f"USE {database}")
            connection.query("SET NAMES utf8mb4, timestamp = 1000000000")
            connection.query("SET sql_mode = 'STRICT_TRANS_TABLES'")
        engines = ("InnoDB", server.engine.name)
        for number in range(statements):
            text, in_order = (create, True) if number == 0 else stream.next()
            difference.history.append(text)
            difference.base = _answer(base, text.format(engine=engines[0]) if number == 0 else text, in_order)
            difference.tried = _answer(tried, text.format(engine=engines[1]) if number == 0 else text, in_order)
            if difference.base != difference.tried:
                return difference
            if number == 0 and difference.base[0] == "error":
                return None  # such a table can be had on neither
    return None


def _answer(connection: Connection, sql: str, in_order: bool) -> Answer:
    try:
        rows = connection.query(sql)
    except SqlError as error:
        return "error", error.code
    if sql.startswith(("ANALYZE", "CHECK")):
        return "rows", [row[3] for row in rows if row[2] == "status"]
    if rows or sql.startswith("SELECT"):
        return "rows", rows if in_order else sorted(rows, key=repr)
    if sql.startswith(("ALTER", "CREATE", "TRUNCATE")):
        return "done", None  # how many rows were copied is the engine's way of doing it
    return "changed", connection.affected_rows
