# SPDX-License-Identifier: GPL-2.0-only
"""Three connections take turns in transactions; no statement waits for a lock, so the turns decide all.

Run with the same turns on InnoDB and on the engine under test: rows, counts and errors must be the
same. Which rows and gaps are locked is not, so turns end where one engine alone finds a lock held.
"""

from __future__ import annotations

import random

from crash.client import Connection, SqlError
from crash.server import Server

from .runner import BASE, TRIED, Answer, Difference

CONNECTIONS = 3
LOCKED = frozenset({1205, 1213, 1180})  # time-out, deadlock, and what SKIP LOCKED makes of a time-out
ROWS = 8
READ_COMMITTED, REPEATABLE_READ = "READ COMMITTED", "REPEATABLE READ"
CREATE = "CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT, UNIQUE KEY ub (b), KEY ka (a))"


def run_turns(server: Server, seed: int, turns: int, level: str) -> Difference | None:
    """None when both engines agree all along."""
    rng = random.Random(seed)
    difference = Difference(seed, [CREATE, level])
    sides = [_connect(server, BASE, "InnoDB", level), _connect(server, TRIED, server.engine.name, level)]
    try:
        for _ in range(turns):
            turn = rng.randrange(CONNECTIONS)
            sql = _statement(rng, level)
            difference.history.append(f"/* {turn} */ {sql}")
            difference.base, difference.tried = (_answer(side[turn], sql) for side in sides)
            if difference.base != difference.tried:
                refused = any(side[0] == "error" and side[1] in LOCKED for side in (difference.base, difference.tried))
                return None if refused else difference
    finally:
        for side in sides:
            for connection in side:
                connection.close()
    return None


def _connect(server: Server, database: str, engine: str, level: str) -> list[Connection]:
    side = [server.connect() for _ in range(CONNECTIONS)]
    side[0].query(f"CREATE OR REPLACE DATABASE {database}")
    side[0].query(f"{CREATE.replace(' t ', f' {database}.t ')} ENGINE={engine}")
    side[0].query(f"INSERT INTO {database}.t VALUES " + ", ".join(f"({n}, {n % 3}, {n * 10})" for n in range(ROWS)))
    for connection in side:
        connection.query(f"USE {database}")
        connection.query(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
        connection.query("SET innodb_lock_wait_timeout = 0, cairn_lock_wait_timeout = 0")
    return side


def _statement(rng: random.Random, level: str) -> str:
    row, value = rng.randrange(ROWS + 2), rng.randrange(4)
    changes = [
        f"UPDATE t SET a = {value} WHERE id = {row}",
        f"UPDATE t SET b = {rng.randrange(12) * 10} WHERE id = {row}",
        f"DELETE FROM t WHERE id = {row}",
        f"INSERT INTO t VALUES ({row}, {value}, {rng.randrange(12) * 10})",
        f"SELECT * FROM t WHERE id = {row} FOR UPDATE",
    ]
    reads = [
        "SELECT * FROM t ORDER BY id",
        f"SELECT id FROM t FORCE INDEX (ka) WHERE a = {value} ORDER BY id",
        "SELECT a, id FROM t FORCE INDEX (ka) ORDER BY a DESC, id DESC",
        f"SELECT * FROM t FORCE INDEX (ub) WHERE b >= {rng.randrange(12) * 10} ORDER BY b",
        f"SELECT * FROM t WHERE b = {rng.randrange(12) * 10}",
    ]
    ends = ["BEGIN", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO s"]
    if level == READ_COMMITTED:
        changes += [
            f"SELECT * FROM t WHERE id = {row} LOCK IN SHARE MODE",
            f"UPDATE t SET a = a + 1 WHERE b = {row * 10}",
            f"REPLACE INTO t VALUES ({row}, {value}, {rng.randrange(12) * 10})",
        ]
    return rng.choice(rng.choice((changes, changes, reads, ends)))


def _answer(connection: Connection, sql: str) -> Answer:
    try:
        rows = connection.query(sql)
    except SqlError as error:
        return "error", error.code
    return ("rows", rows) if sql.startswith("SELECT") else ("changed", connection.affected_rows)
