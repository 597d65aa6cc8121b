# SPDX-License-Identifier: GPL-2.0-only
"""A thread that creates, fills, renames, alters, truncates and drops tables until the server dies."""

from __future__ import annotations

import random
import threading
import traceback
from dataclasses import dataclass

from .client import ER_LOCK_WAIT_TIMEOUT, Connection, SqlError
from .schema import DATABASE, DDL_DATABASE
from .server import Server
from .writers import Acknowledged

TABLES_MAX = 6
State = dict[str, int]  # table: its number of rows


@dataclass(frozen=True)
class Step:
    sql: str
    after: State


def create_sql(engine: str, name: str) -> str:
    return (
        f"CREATE TABLE {name} (id INT AUTO_INCREMENT PRIMARY KEY, a INT, b VARCHAR(30),"
        f" KEY a (a), UNIQUE KEY b (b)) ENGINE={engine}"
    )


def create_select_sql(engine: str, name: str, tag: str, rows: int) -> str:
    """Rows enough to go past the transaction, into files of their own."""
    columns = f"seq % 7 a, CONCAT('{tag}', seq * 7919 % 100003) b, REPEAT('c', 250) c"
    return f"{create_sql(engine, name)} SELECT {columns} FROM seq_1_to_{rows}"


class DdlWriter(threading.Thread):
    """`state` is what was acknowledged last, `pending` what the step under way would make of it."""

    def __init__(self, server: Server, seed: str, state: State, acknowledged: Acknowledged) -> None:
        super().__init__(name="ddl", daemon=True)
        self.state = dict(state)
        self.pending: State = dict(state)
        self.failure = ""
        self.history: list[str] = []
        self._server = server
        self._rng = random.Random(seed)
        self._seed = seed
        self._commits = acknowledged
        self._number = 0

    def run(self) -> None:
        try:
            with self._server.connect(DDL_DATABASE) as connection:
                connection.query("SET sql_log_bin = 0")
                while True:
                    step = self._next()
                    self.pending = step.after
                    self.history.append(step.sql)
                    connection.query(step.sql)
                    self.state = step.after
        except SqlError as error:
            if not error.lost_connection:
                self.failure = f"ddl: {error}; before it: {self.history[-6:-1]}"
        except Exception:
            self.failure = traceback.format_exc()
        finally:
            self._commits.end()

    def _next(self) -> Step:
        self._number += 1
        free = [f"t{n}" for n in range(TABLES_MAX) if f"t{n}" not in self.state]
        if not self.state or (free and self._rng.random() < 0.3):
            name = self._rng.choice(free)
            if self._rng.random() < 0.3:
                rows = self._rng.randint(15_000, 20_000)
                sql = create_select_sql(self._server.engine.name, name, f"{self._seed}-{self._number}-", rows)
                return Step(sql, {**self.state, name: rows})
            return Step(create_sql(self._server.engine.name, name), {**self.state, name: 0})
        name = self._rng.choice(sorted(self.state))
        choice = self._rng.random()
        if choice < 0.4:
            rows = self._rng.randint(1, 50)
            tag = f"{self._seed}-{self._number}-"
            sql = f"INSERT INTO {name} (a, b) SELECT seq % 7, CONCAT('{tag}', seq) FROM seq_1_to_{rows}"
            return Step(sql, {**self.state, name: self.state[name] + rows})
        if choice < 0.55:
            return Step(f"TRUNCATE TABLE {name}", {**self.state, name: 0})
        if choice < 0.7 and free:
            target = self._rng.choice(free)
            after = {**self.state, target: self.state[name]}
            del after[name]
            return Step(f"RENAME TABLE {name} TO {target}", after)
        if choice < 0.76:
            return Step(self._instant_alter(name), dict(self.state))
        if choice < 0.8:
            column = f"`c{self._seed}-{self._number}`"
            return Step(f"ALTER TABLE {name} ADD COLUMN {column} INT DEFAULT 7, FORCE", dict(self.state))
        if choice < 0.9:
            return Step(self._index_sql(name), dict(self.state))
        after = dict(self.state)
        del after[name]
        return Step(f"DROP TABLE {name}", after)

    def _instant_alter(self, name: str) -> str:
        """Rows stay as they are, so that tables have rows of many versions."""
        place = self._rng.choice(("", "FIRST", "AFTER id"))
        if self._rng.random() < 0.5:
            change = f"DROP COLUMN IF EXISTS x, ADD COLUMN x VARCHAR(9) DEFAULT 'x{self._number}' {place}"
        else:
            change = f"ADD COLUMN `i{self._seed}-{self._number}` INT DEFAULT {self._number} {place}"
        return f"ALTER TABLE {name} {change}, ALGORITHM=INSTANT"

    def _index_sql(self, name: str) -> str:
        number = self._rng.randrange(2)
        if self._rng.random() < 0.5:
            changes = f"ADD INDEX IF NOT EXISTS i{number} (a, b), ADD UNIQUE IF NOT EXISTS u{number} (b, a)"
        else:
            changes = f"DROP INDEX IF EXISTS i{number}, DROP INDEX IF EXISTS u{number}"
        return f"ALTER TABLE {name} {changes}, ALGORITHM=NOCOPY, LOCK=NONE"


class IndexWriter(threading.Thread):
    """Adds and drops an index of a table that the writers fill, while they do."""

    def __init__(self, server: Server, seed: str, acknowledged: Acknowledged) -> None:
        super().__init__(name="index", daemon=True)
        self.failure = ""
        self.altered = 0
        self._server = server
        self._rng = random.Random(f"index-{seed}")
        self._commits = acknowledged

    def run(self) -> None:
        try:
            with self._server.connect(DATABASE) as connection:
                connection.query("SET sql_log_bin = 0, lock_wait_timeout = 1")
                while True:
                    self._alter(connection)
        except SqlError as error:
            if not error.lost_connection:
                self.failure = f"index: {error}"
        except Exception:
            self.failure = traceback.format_exc()
        finally:
            self._commits.end()

    def _alter(self, connection: Connection) -> None:
        name, parts = self._rng.choice((("built", "(writer, val)"), ("built_unique", "(id, code)")))
        unique = "UNIQUE" if name == "built_unique" else "INDEX"
        change = f"ADD {unique} IF NOT EXISTS {name} {parts}"
        if self._rng.random() < 0.5:
            change = f"DROP INDEX IF EXISTS {name}"
        try:
            connection.query(f"ALTER TABLE item {change}, ALGORITHM=NOCOPY, LOCK=NONE")
            self.altered += 1
        except SqlError as error:
            # A transaction that is long, or prepared without a connection, is in the way.
            if error.code != ER_LOCK_WAIT_TIMEOUT:
                raise


def check(connection: Connection, writer: DdlWriter, may_lose_rows: bool) -> tuple[State, list[str]]:
    """The tables are those of before or after the step under way, and each is sound."""
    problems = []
    there: State = {}
    for (name,) in connection.query(f"SHOW TABLES FROM {DDL_DATABASE}"):
        there[str(name)] = int(connection.value(f"SELECT COUNT(*) FROM {DDL_DATABASE}.{name}") or 0)
        for *_, kind, text in connection.query(f"CHECK TABLE {DDL_DATABASE}.{name} EXTENDED"):
            if kind in ("error", "warning") or (kind == "status" and text != "OK"):
                problems.append(f"CHECK TABLE {name}: {text}")
    allowed = [writer.state, writer.pending]
    if may_lose_rows:
        if sorted(there) not in [sorted(state) for state in allowed]:
            problems.append(f"tables {sorted(there)}, not {[sorted(s) for s in allowed]}")
    elif there not in allowed:
        problems.append(f"tables {there}, not one of {allowed}")
    return there, problems
