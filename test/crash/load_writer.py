# SPDX-License-Identifier: GPL-2.0-only
"""Threads that fill empty tables by one statement and change what came, and what must then be there.

Each has a table of its own. Its states are the tag of its load, the rows, and how many of them were changed since; a
crash leaves the state that was acknowledged last, or the one after it.
"""

from __future__ import annotations

import random
import threading
import traceback
from dataclasses import dataclass

from .client import ER_DUP_ENTRY, Connection, SqlError
from .schema import LOAD_DATABASE
from .server import Server
from .writers import Acknowledged

LOAD_WRITERS = 2  # the last of them not in the binary log
ROWS_MIN, ROWS_MAX = 16_000, 24_000  # of about 300 bytes: more than go into the transaction


@dataclass(frozen=True)
class State:
    tag: str = ""
    rows: int = 0
    changed: int = 0
    singles: int = 0  # rows inserted behind the loaded ones


def create_statements(engine: str) -> list[str]:
    columns = "id INT PRIMARY KEY, u INT, v VARCHAR(40), c VARCHAR(300), UNIQUE KEY u (u), KEY v (v, id)"
    return [f"CREATE DATABASE {LOAD_DATABASE}"] + [
        f"CREATE TABLE {LOAD_DATABASE}.load{number} ({columns}) ENGINE={engine}"
        for number in range(1, LOAD_WRITERS + 1)
    ]


class LoadWriter(threading.Thread):
    """`states` are those since the round began, the last of which may not have been acknowledged."""

    def __init__(self, server: Server, number: int, seed: str, state: State, acknowledged: Acknowledged) -> None:
        super().__init__(name=f"load-{number}", daemon=True)
        self.states = [state]
        self.acknowledged = 0  # which of them
        self.loads = 0
        self.failure = ""
        self.number = number
        self._server = server
        self._seed = seed
        self._rng = random.Random(f"load-{seed}-{number}")
        self._commits = acknowledged

    @property
    def table(self) -> str:
        return f"load{self.number}"

    def run(self) -> None:
        try:
            with self._server.connect(LOAD_DATABASE) as connection:
                if self.number == LOAD_WRITERS:
                    connection.query("SET sql_log_bin = 0")
                else:
                    connection.query("SET binlog_format = STATEMENT")
                while True:
                    self._step(connection)
        except SqlError as error:
            if not error.lost_connection:
                self.failure = f"{self.name}: {error}"
        except Exception:
            self.failure = traceback.format_exc()
        finally:
            self._commits.end()

    def _step(self, connection: Connection) -> None:
        now = self.states[-1]
        choice = self._rng.random()
        if now.rows == 0 and now.singles == 0:
            self._load(connection)
        elif choice < 0.4:
            self._do(connection, f"DELETE FROM {self.table}", State())
        elif choice < 0.6:
            self._do(connection, f"TRUNCATE {self.table}", State())
        elif choice < 0.8 and now.changed == 0:
            after = State(now.tag, now.rows, now.rows // 10, now.singles)
            self._do(connection, f"UPDATE {self.table} SET u = -u, v = 'changed' WHERE id > 0 AND id % 10 = 0", after)
        else:
            after = State(now.tag, now.rows, now.changed, now.singles + 1)
            values = f"{-1 - now.singles}, {1_000_000 + now.singles}, 'single', ''"
            self._do(connection, f"INSERT INTO {self.table} VALUES ({values})", after)

    def _load(self, connection: Connection) -> None:
        rows = self._rng.randint(ROWS_MIN, ROWS_MAX)
        tag = f"{self._seed}-{len(self.states)}"
        order = self._rng.choice(("", " ORDER BY seq DESC"))
        unique = "seq * 7919 % 1000003"
        fails = self._rng.random() < 0.15
        if fails:
            unique = f"IF(seq = {rows - 1}, 7919, {unique})"
        sql = (
            f"INSERT INTO {self.table} SELECT seq, {unique}, '{tag}', REPEAT('c', 260) FROM seq_1_to_{rows}{order}"
        )
        if not fails:
            self._do(connection, sql, State(tag, rows))
            self.loads += 1
            return
        try:
            connection.query(sql)
        except SqlError as error:
            if error.code != ER_DUP_ENTRY:
                raise
        else:
            raise SqlError(0, "a load with a duplicate has none", sql)

    def _do(self, connection: Connection, sql: str, after: State) -> None:
        self.states.append(after)
        connection.query(sql)
        self.acknowledged = len(self.states) - 1
        self._commits.count()


def check(connection: Connection, writer: LoadWriter, may_lose: bool) -> tuple[State, list[str]]:
    """The table is as it was when the last statement was acknowledged, or after the one that was under way."""
    allowed = writer.states if may_lose else writer.states[writer.acknowledged :]
    table = f"{LOAD_DATABASE}.{writer.table}"
    problems = []
    for *_, kind, text in connection.query(f"CHECK TABLE {table} EXTENDED"):
        if kind in ("error", "warning") or (kind == "status" and text != "OK"):
            problems.append(f"CHECK TABLE {table}: {text}")
    counted = (
        "COALESCE(MAX(IF(id > 0 AND v <> 'changed', v, '')), ''), COALESCE(SUM(id > 0), 0),"
        " COALESCE(SUM(id > 0 AND v = 'changed'), 0), COALESCE(SUM(id < 0), 0),"
        " COUNT(DISTINCT IF(id > 0 AND v <> 'changed', v, NULL)), COUNT(DISTINCT ABS(u)), COUNT(*)"
    )
    tag, rows, changed, singles, tags, values, count = connection.query(f"SELECT {counted} FROM {table}")[0]
    there = State(str(tag), int(rows or 0), int(changed or 0), int(singles or 0))
    if there not in allowed or int(tags or 0) > 1 or values != count:
        shown = [*allowed[:3], *allowed[-2:]]
        problems.append(f"{table} is {there} with {tags} tags and {values} values, not one of {shown}")
    for index in ("u", "v"):
        if (found := connection.value(f"SELECT COUNT(*) FROM {table} FORCE INDEX ({index}) WHERE {index} > ''")) != (
            wanted := connection.value(f"SELECT COUNT(*) FROM {table} IGNORE INDEX (u, v) WHERE {index} > ''")
        ):
            problems.append(f"{table} has {found} entries in {index}, not {wanted}")
    return there, problems
