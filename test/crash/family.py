# SPDX-License-Identifier: GPL-2.0-only
"""Threads that change parents whose children follow by foreign keys, and what must hold of all of them at any time.

Families are born whole, and die and move by their parent's row alone. So whatever was under way when the server was
killed, each parent has all of its children and these all of theirs, and nobody is without a parent.
"""

from __future__ import annotations

import random
import threading
import traceback

from .client import ER_DUP_ENTRY, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, Connection, SqlError
from .schema import FAMILY_DATABASE
from .server import Server
from .writers import Acknowledged

PARENTS = 30
CHILDREN = 4
GRANDCHILDREN = 3  # of each child
LASTING_PARENT = 0  # a tenant keeps it from going, and nobody writes to it

ER_ROW_IS_REFERENCED, ER_NO_REFERENCED_ROW, ER_FOREIGN_DUPLICATE_KEY = 1451, 1452, 1761
EXPECTED = frozenset(
    {
        *(ER_DUP_ENTRY, ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT),
        *(ER_ROW_IS_REFERENCED, ER_NO_REFERENCED_ROW, ER_FOREIGN_DUPLICATE_KEY),
    }
)

TABLES = {
    "parent": "id INT PRIMARY KEY, n INT NOT NULL, KEY (n)",
    "child": "id BIGINT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, slot INT NOT NULL, body VARBINARY(300),"
    " UNIQUE KEY place (parent, slot), KEY (slot),"
    " FOREIGN KEY (parent) REFERENCES parent(id) ON DELETE CASCADE ON UPDATE CASCADE",
    "grandchild": "parent INT NOT NULL, slot INT NOT NULL, n INT NOT NULL, KEY place (parent, slot),"
    " FOREIGN KEY (parent, slot) REFERENCES child(parent, slot) ON DELETE CASCADE ON UPDATE CASCADE",
    "guest": "id BIGINT AUTO_INCREMENT PRIMARY KEY, parent INT,"
    " FOREIGN KEY (parent) REFERENCES parent(id) ON DELETE SET NULL ON UPDATE CASCADE",
    "tenant": "id BIGINT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, FOREIGN KEY (parent) REFERENCES parent(id)",
}


def create_statements(engine: str) -> list[str]:
    """The tables, with one family that stays."""
    statements = [f"CREATE DATABASE {FAMILY_DATABASE}"]
    statements += [
        f"CREATE TABLE {FAMILY_DATABASE}.{name} ({columns}) ENGINE={engine}" for name, columns in TABLES.items()
    ]
    statements += _birth(LASTING_PARENT, f"{FAMILY_DATABASE}.")
    statements.append(f"INSERT INTO {FAMILY_DATABASE}.tenant (parent) VALUES ({LASTING_PARENT})")
    return statements


def _birth(parent: int, database: str = "") -> list[str]:
    children = ", ".join(f"({parent}, {slot}, REPEAT('b', {slot * 90}))" for slot in range(CHILDREN))
    grandchildren = ", ".join(f"({parent}, {s}, {n})" for s in range(CHILDREN) for n in range(GRANDCHILDREN))
    return [
        f"INSERT INTO {database}parent VALUES ({parent}, {parent % 7})",
        f"INSERT INTO {database}child (parent, slot, body) VALUES {children}",
        f"INSERT INTO {database}grandchild VALUES {grandchildren}",
    ]


class FamilyWriter(threading.Thread):
    """One connection's changes. After it ended `failure` says what went wrong other than the server dying."""

    def __init__(self, server: Server, number: int, seed: str, acknowledged: Acknowledged, xa: bool) -> None:
        super().__init__(name=f"family-{number}", daemon=True)
        self.failure = ""
        self.xid = ""  # of the last transaction
        self._server = server
        self._number = number
        self._rng = random.Random(f"family-{seed}-{number}")
        self._commits = acknowledged
        self._xa = xa
        self._sequence = 0

    def run(self) -> None:
        try:
            with self._server.connect(FAMILY_DATABASE) as connection:
                if self._xa:
                    connection.query("SET sql_log_bin = 0")
                while True:
                    self._transaction(connection)
        except SqlError as error:
            if not error.lost_connection:
                self.failure = f"family: {error}"
        except Exception:
            self.failure = traceback.format_exc()
        finally:
            self._commits.end()

    def _transaction(self, connection: Connection) -> None:
        statements, whole = self._plan()
        self._sequence += 1
        self.xid = f"family{self._number}-{self._sequence}"
        connection.query(f"XA START '{self.xid}'" if self._xa else "BEGIN")
        commits = self._rng.random() >= 0.1
        for sql in statements:
            try:
                connection.query(sql)
            except SqlError as error:
                if error.code not in EXPECTED:
                    raise
                # What a statement that failed leaves is nothing, so the others may be committed.
                if whole or error.code in (ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT):
                    commits = False
                    break
        self._end(connection, commits)

    def _end(self, connection: Connection, commits: bool) -> None:
        if not self._xa:
            connection.query("COMMIT" if commits else "ROLLBACK")
            return
        steps = ["END", "PREPARE", "COMMIT"] if commits else ["END", "ROLLBACK"]
        for step in steps:
            try:
                connection.query(f"XA {step} '{self.xid}'")
            except SqlError as error:
                # A deadlock's victim is rolled back before it is told.
                if error.lost_connection or commits:
                    raise

    def _plan(self) -> tuple[list[str], bool]:
        """Statements, and whether they are only good together."""
        rng = self._rng
        one, other = rng.randint(1, PARENTS), rng.randint(1, PARENTS)
        choice = rng.random()
        if choice < 0.35:
            return _birth(one), True
        if choice < 0.5:
            return [f"DELETE FROM parent WHERE id = {one}"], False
        if choice < 0.7:
            return [f"UPDATE parent SET id = {other} WHERE id = {one}", f"DELETE FROM parent WHERE id = {one}"], False
        if choice < 0.75:
            return [f"DELETE FROM parent WHERE id BETWEEN {one} AND {one + 5}"], False
        if choice < 0.85:
            return [f"INSERT INTO guest (parent) VALUES ({one}), ({other})"], False
        if choice < 0.9:
            return [f"INSERT INTO tenant (parent) VALUES ({one})"], False
        if choice < 0.96:
            moving_out = f"DELETE FROM tenant WHERE parent <> {LASTING_PARENT}"
            return [moving_out, f"REPLACE INTO guest VALUES (1, {one})"], False
        undone = [f"DELETE FROM parent WHERE id = {one}", f"UPDATE parent SET id = {one} WHERE id = {other}"]
        last = f"UPDATE parent SET n = n + 1 WHERE id = {other}"
        return ["SAVEPOINT s", *undone, "ROLLBACK TO SAVEPOINT s", last], False


def check(connection: Connection) -> list[str]:
    """Gives what does not hold."""
    problems = []
    for table in TABLES:
        for *_, kind, text in connection.query(f"CHECK TABLE {FAMILY_DATABASE}.{table} EXTENDED"):
            if kind in ("error", "warning") or (kind == "status" and text != "OK"):
                problems.append(f"CHECK TABLE {table}: {kind} {text}")
    for what, sql in _broken().items():
        rows = connection.query(sql)
        if rows:
            problems.append(f"{what}: {len(rows)}, such as {rows[:5]}")
    return problems


def _broken() -> dict[str, str]:
    """Queries that find nothing."""
    parent, child, grandchild = (f"{FAMILY_DATABASE}.{table}" for table in ("parent", "child", "grandchild"))
    queries = {
        f"{table} without a parent": f"SELECT x.parent FROM {FAMILY_DATABASE}.{table} x LEFT JOIN {parent} p"
        " ON p.id = x.parent WHERE x.parent IS NOT NULL AND p.id IS NULL"
        for table in ("child", "guest", "tenant")
    }
    queries["grandchild without a child"] = (
        f"SELECT x.parent, x.slot FROM {grandchild} x LEFT JOIN {child} c USING (parent, slot) WHERE c.id IS NULL"
    )
    queries["parent without all of its children"] = (
        f"SELECT p.id, COUNT(c.id) AS n FROM {parent} p LEFT JOIN {child} c ON c.parent = p.id"
        f" GROUP BY p.id HAVING n <> {CHILDREN}"
    )
    queries["child without all of its children"] = (
        f"SELECT c.parent, c.slot, COUNT(g.n) AS n FROM {child} c LEFT JOIN {grandchild} g USING (parent, slot)"
        f" GROUP BY c.parent, c.slot HAVING n <> {GRANDCHILDREN}"
    )
    return queries
