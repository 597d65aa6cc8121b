# SPDX-License-Identifier: GPL-2.0-only
"""Random tables tied by foreign keys, and statements on them; all rows are compared after each.

Where several things stand in the way of a statement, which is met first is an engine's own matter: errors of
duplicates and of foreign keys count as one.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from crash.client import Connection, SqlError
from crash.server import Server

from .runner import BASE, TRIED, Answer, Difference

REFUSED = frozenset({1062, 1451, 1452, 1761, 1762})
ACTIONS = ("RESTRICT", "NO ACTION", "CASCADE", "CASCADE", "SET NULL", "SET NULL")
KEYS = (("a",), ("b",), ("a", "b"))
TARGETS = {1: (("id",), ("a",), ("b",)), 2: (("a", "b"), ("id", "b"), ("b", "a"))}
VALUES = 5


class Family:
    """Two to four tables and the keys between them."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.tables = [f"t{n}" for n in range(rng.randint(2, 4))]
        self._type = rng.choice(("INT", "INT", "VARCHAR(4)", "DECIMAL(5,2)", "BIGINT UNSIGNED"))

    def create(self) -> list[str]:
        """Statements with {engine} left open."""
        rng, kind = self._rng, self._type
        statements = []
        for table in self.tables:
            unique = rng.choice(("KEY (a)", "KEY (a)", "UNIQUE KEY (a)"))
            statements.append(
                f"CREATE TABLE {table} (id {kind} PRIMARY KEY, a {kind}, b {kind}, n INT NOT NULL DEFAULT 0,"
                f" v INT AS (n + 1) VIRTUAL, {unique}, KEY (b, a), KEY (a, b), KEY (id, b)) ENGINE={{engine}}"
            )
        taken: set[tuple[str, str]] = set()
        for _ in range(rng.randint(1, 5)):
            columns = rng.choice(KEYS)
            target = rng.choice(TARGETS[len(columns)])
            child, parent = rng.choice(self.tables), rng.choice(self.tables)
            if child == parent:
                # A row may be its own parent; InnoDB lets it in only if it wrote the parent's index before the child's
                columns, target = columns[:1], ("id",)
            if taken & {(child, column) for column in columns}:
                continue
            taken |= {(child, column) for column in columns}
            # InnoDB refuses to forget the parent in a row that another key removes in the same breath.
            on_delete, on_update = rng.choice(ACTIONS[:4] if child == parent else ACTIONS), rng.choice(ACTIONS)
            statements.append(
                f"ALTER TABLE {child} ADD FOREIGN KEY ({', '.join(columns)}) REFERENCES {parent} ({', '.join(target)})"
                f" ON DELETE {on_delete} ON UPDATE {on_update}"
            )
        return statements

    def statements(self, count: int) -> Iterator[str]:
        for _ in range(count):
            yield self._statement()

    def _value(self, may_be_null: bool = True) -> str:
        if may_be_null and self._rng.random() < 0.25:
            return "NULL"
        value = str(self._rng.randrange(VALUES))
        return f"'{value}'" if self._type.startswith("VARCHAR") else value

    def _row(self) -> str:
        return f"({self._value(False)}, {self._value()}, {self._value()}, {self._rng.randrange(9)})"

    def _statement(self) -> str:
        rng = self._rng
        table = rng.choice(self.tables)
        choice = rng.random()
        if choice < 0.45:
            return self._insert(table)
        if choice < 0.7:
            return self._update(table)
        if choice < 0.85:
            ignore = rng.choice(("", "", "IGNORE "))
            limit = rng.choice(("", " LIMIT 1"))
            return f"DELETE {ignore}FROM {table} WHERE {self._condition()} ORDER BY id{limit}"
        return rng.choice(("BEGIN", "BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT s", "ROLLBACK TO SAVEPOINT s"))

    def _insert(self, table: str) -> str:
        rng = self._rng
        rows = ", ".join(self._row() for _ in range(rng.choice((1, 1, 1, 3))))
        verb = rng.choice(("INSERT", "INSERT", "INSERT IGNORE", "REPLACE"))
        tail = ""
        if verb.startswith("INSERT") and rng.random() < 0.3:
            tail = f" ON DUPLICATE KEY UPDATE {self._assignment()}"
        return f"{verb} INTO {table} (id, a, b, n) VALUES {rows}{tail}"

    def _update(self, table: str) -> str:
        ignore = self._rng.choice(("", "", "IGNORE "))
        sets = ", ".join(self._assignment() for _ in range(self._rng.choice((1, 1, 2))))
        if self._rng.random() < 0.2:
            sets = self._own_key()
        return f"UPDATE {ignore}{table} SET {sets} WHERE {self._condition()} ORDER BY id"

    def _own_key(self) -> str:
        """A row's key and what may refer to it, changed together."""
        column = self._rng.choice(("a", "b"))
        return self._rng.choice(
            (f"{column} = id, id = {self._value(False)}", f"id = {self._value(False)}, {column} = id", f"{column} = id")
        )

    def _assignment(self) -> str:
        column = self._rng.choice(("id", "a", "a", "b", "b", "n"))
        return f"{column} = {self._rng.randrange(9) if column == 'n' else self._value(column != 'id')}"

    def _condition(self) -> str:
        column = self._rng.choice(("id", "id", "a", "b"))
        return f"{column} {self._rng.choice(('=', '=', '>=', '<='))} {self._value(False)}"


def run_family(server: Server, seed: int, statements: int) -> Difference | None:
    """One history; None when the engines agree all along."""
    rng = random.Random(f"family-{seed}")
    family = Family(rng)
    difference = Difference(seed, ["/* foreign keys */"])
    with server.connect() as base, server.connect() as tried:
        for connection, database in ((base, BASE), (tried, TRIED)):
            connection.query("SET foreign_key_checks = 0")
            connection.query(f"CREATE OR REPLACE DATABASE {database}")
            connection.query(f"USE {database}")
            connection.query("SET foreign_key_checks = 1, sql_mode = 'STRICT_TRANS_TABLES'")
        agreed = True
        for sql in [*family.create(), *family.statements(statements)]:
            difference.history.append(sql)
            difference.base = _answer(base, sql.replace("{engine}", "InnoDB"), family)
            difference.tried = _answer(tried, sql.replace("{engine}", server.engine.name), family)
            agreed = difference.base == difference.tried
            if not agreed:
                break
        for connection, database in ((base, BASE), (tried, TRIED)):
            connection.query(f"SET STATEMENT foreign_key_checks = 0 FOR DROP DATABASE {database}")
    return None if agreed else difference


def _answer(connection: Connection, sql: str, family: Family) -> Answer:
    """What became of the statement, and all rows after it."""
    try:
        connection.query(sql)
        outcome: object = connection.affected_rows
    except SqlError as error:
        outcome = "refused" if error.code in REFUSED else error.code
    if sql.startswith(("CREATE", "ALTER")):
        return "done" if isinstance(outcome, int) and outcome < 1000 else "not done", None
    rows = [tuple(connection.query(f"SELECT * FROM {table} ORDER BY id")) for table in family.tables]
    return "changed", (outcome, rows)
