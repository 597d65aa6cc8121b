# SPDX-License-Identifier: GPL-2.0-only
"""A random table with a period, its own history or both, and statements on portions of time; all rows, those of
history as well, are compared after each statement.

Time stands where the history has put it: each statement is one later than the one before.
"""

from __future__ import annotations

import random

from crash.client import Connection, SqlError
from crash.server import Server

from .runner import BASE, TRIED, Answer, Difference

BEGIN_OF_TIME = 1_000_000_000
STEP = 1200.5  # seconds from statement to statement: partitions by hours fill
DATES = tuple(f"'2001-{month:02}-01'" for month in range(1, 10))
IDS, VALUES = 4, 5
# Both engines change the same rows in the same turn.
ORDER = " ORDER BY id, a, b, s, e"

KEYS = (
    "PRIMARY KEY (id, p WITHOUT OVERLAPS)",
    "PRIMARY KEY (id, p WITHOUT OVERLAPS), KEY (a, s)",
    "PRIMARY KEY (id, s), KEY (a)",
    "PRIMARY KEY (id, e), UNIQUE KEY (a, p WITHOUT OVERLAPS)",
    "KEY (id, s), UNIQUE KEY (id, a, p WITHOUT OVERLAPS)",
    "KEY (id), KEY (b(2))",
    "KEY (id), UNIQUE KEY (b, p WITHOUT OVERLAPS)",
    "UNIQUE KEY (a, e), KEY (e)",
)
VERSIONED = (
    "",
    " WITH SYSTEM VERSIONING",
    " WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME LIMIT 5 PARTITIONS 4",
    " WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME INTERVAL 1 HOUR STARTS '2001-09-09 00:00:00' PARTITIONS 3",
)


class Periods:
    """One table; `create` has {engine} left open.

    Not drawn: partitions that the server adds (AUTO), as InnoDB refuses a transaction that it began before; WITHOUT
    OVERLAPS beside partitions, which InnoDB does not keep; AUTO_INCREMENT, as the numbers that portions leave out
    are an engine's own matter; columns with a default value that may be NULL, where InnoDB finds NULL changed to NULL.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        versioned = rng.choice(VERSIONED)
        keys = rng.choice([key for key in KEYS if "PARTITION" not in versioned or "OVERLAPS" not in key])
        self.is_versioned = bool(versioned)
        virtual = rng.choice(("", " v INT AS (a + id) VIRTUAL, KEY (v),"))
        self.create = (
            f"CREATE TABLE t (id INT NOT NULL, a INT, b VARCHAR(20) NOT NULL,{virtual}"
            f" s DATE NOT NULL, e DATE NOT NULL, PERIOD FOR p (s, e), {keys}) ENGINE={{engine}}{versioned}"
        )

    def statement(self) -> str:
        rng = self._rng
        choice = rng.random()
        if choice < 0.35:
            return self._insert()
        if choice < 0.6:
            sets = self._assignments()
            return f"UPDATE {self._ignore()}t{self._portion()} SET {sets} WHERE {self._condition()}{ORDER}"
        if choice < 0.75:
            return f"DELETE FROM t{self._portion()} WHERE {self._condition()}{ORDER}"
        if choice < 0.79 and self.is_versioned:
            return "DELETE HISTORY FROM t" + rng.choice(("", " BEFORE SYSTEM_TIME NOW() - INTERVAL 3 HOUR"))
        if choice < 0.81:
            return rng.choice(("ALTER TABLE t FORCE", "ANALYZE TABLE t"))
        return rng.choice(("BEGIN", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO SAVEPOINT s"))

    def _ignore(self) -> str:
        return "IGNORE " if self._rng.random() < 0.15 else ""

    def _times(self) -> tuple[str, str]:
        first, last = sorted(self._rng.sample(range(len(DATES)), 2))
        return DATES[first], DATES[last]

    def _portion(self) -> str:
        if self._rng.random() < 0.35:
            return ""
        return " FOR PORTION OF p FROM {} TO {}".format(*self._times())

    def _value(self) -> str:
        return "NULL" if self._rng.random() < 0.15 else str(self._rng.randrange(VALUES))

    def _text(self) -> str:
        return self._rng.choice(("'x'", "'X '", "'yy'", "'a longer one'"))

    def _insert(self) -> str:
        rng = self._rng
        rows = ", ".join(
            "({}, {}, {}, {}, {})".format(rng.randrange(IDS), self._value(), self._text(), *self._times())
            for _ in range(rng.choice((1, 1, 1, 3)))
        )
        verb = rng.choice(("INSERT", "INSERT", "INSERT IGNORE", "REPLACE"))
        tail = f" ON DUPLICATE KEY UPDATE a = {self._value()}" if verb == "INSERT" and rng.random() < 0.3 else ""
        return f"{verb} INTO t (id, a, b, s, e) VALUES {rows}{tail}"

    def _assignments(self) -> str:
        rng = self._rng
        others = ("a = a + 1", "a = id, id = id + 1")
        return rng.choice((f"a = {self._value()}", f"b = {self._text()}", f"id = {rng.randrange(IDS)}", *others))

    def _condition(self) -> str:
        rng = self._rng
        others = (f"b = {self._text()}", f"s <= {rng.choice(DATES)}")
        return rng.choice((f"id = {rng.randrange(IDS)}", f"a = {rng.randrange(VALUES)}", *others))


def run_periods(server: Server, seed: int, statements: int) -> Difference | None:
    """One history; None when the engines agree all along."""
    rng = random.Random(f"periods-{seed}")
    periods = Periods(rng)
    difference = Difference(seed, [periods.create])
    with server.connect() as base, server.connect() as tried:
        for connection, database, engine in ((base, BASE, "InnoDB"), (tried, TRIED, server.engine.name)):
            connection.query(f"CREATE OR REPLACE DATABASE {database}")
            connection.query(f"USE {database}")
            connection.query("SET time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES'")
            connection.query(f"SET timestamp = {BEGIN_OF_TIME}")
            connection.query(periods.create.replace("{engine}", engine))
        for number in range(1, statements):
            sql = periods.statement()
            difference.history.append(sql)
            difference.base, difference.tried = (_answer(side, sql, number, periods) for side in (base, tried))
            if difference.base != difference.tried:
                return difference
    return None


def _answer(connection: Connection, sql: str, number: int, periods: Periods) -> Answer:
    """What became of the statement, and all rows after it."""
    connection.query(f"SET timestamp = {BEGIN_OF_TIME + number * STEP}")
    try:
        connection.query(sql)
        outcome: object = None if sql.startswith(("ALTER", "ANALYZE")) else connection.affected_rows
    except SqlError as error:
        outcome = ("error", error.code)
    columns, source = ("*, row_start, row_end", "t FOR SYSTEM_TIME ALL") if periods.is_versioned else ("*", "t")
    try:
        rows: object = sorted(connection.query(f"SELECT {columns} FROM {source}"), key=repr)
    except SqlError as error:
        rows = ("error", error.code)
    return "changed", (outcome, rows)
