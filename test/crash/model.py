# SPDX-License-Identifier: GPL-2.0-only
"""What one writer plans to do, and what its rows must then be.

Each writer owns a range of ids in `item` and its own rows in `loose`, so its rows depend on its
own transactions alone. Every transaction also inserts (writer, seq) into `ledger`: the highest
seq found after a crash says how far the writer came, and the model then says every row. Ids are
few, so keys are deleted and inserted again all the time.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from .client import ER_DUP_ENTRY
from .schema import COUNTERS

IDS_PER_WRITER = 150
ID_STRIDE = 1_000_000

Row = tuple[str | None, ...]
ITEM, LOOSE = "item", "loose"


@dataclass(frozen=True)
class Statement:
    sql: str
    error: int = 0  # the error it must end in; 0: none


@dataclass(frozen=True)
class Plan:
    """One transaction. `changes` maps (table, key) to the new row, or to None for no row."""

    seq: int
    statements: tuple[Statement, ...]
    changes: dict[tuple[str, int], Row | None]
    commits: bool = True
    autocommit: bool = False
    counts: bool = False


def _literal(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def _values(row: Row) -> str:
    return "(" + ", ".join(_literal(value) for value in row) + ")"


@dataclass
class Model:
    """The rows of one writer after its transaction `seq`, and the plans made since `base` rows."""

    writer: int
    rng: random.Random
    counters: bool = True
    seq: int = 0
    hits: int = 0  # how often its transactions counted up a shared counter
    rows: dict[tuple[str, int], Row] = field(default_factory=dict)

    def apply(self, plan: Plan) -> None:
        self.seq = plan.seq
        self.hits += plan.counts
        for key, row in plan.changes.items():
            if row is None:
                self.rows.pop(key, None)
            else:
                self.rows[key] = row

    def next_plan(self) -> Plan:
        seq = self.seq + 1
        ledger = Statement(f"INSERT INTO ledger VALUES ({self.writer}, {seq})")
        if self.rng.random() < 0.05:
            return Plan(seq, (ledger,), {}, autocommit=True)
        changes: dict[tuple[str, int], Row | None] = {}
        statements: list[Statement] = []
        large = self.rng.random() < 0.02
        for _ in range(400 if large else self.rng.randint(1, 6)):
            statements += self._step(changes)
        statements.insert(self.rng.randint(0, len(statements)), ledger)
        if self.rng.random() < 0.15:
            statements += self._rolled_back_to_savepoint(changes)
        if self.counters:
            counter = self.rng.randrange(COUNTERS)
            statements.append(Statement(f"UPDATE counter SET hits = hits + 1 WHERE id = {counter}"))
        commits = self.rng.random() >= 0.1
        return Plan(seq, tuple(statements), changes if commits else {}, commits=commits, counts=self.counters)

    def expected(self, table: str) -> list[Row]:
        return sorted((row for (where, _), row in self.rows.items() if where == table), key=repr)

    def _step(self, changes: dict[tuple[str, int], Row | None]) -> list[Statement]:
        if self.rng.random() < 0.25:
            return self._loose_step(changes)
        number = self.rng.randrange(IDS_PER_WRITER)
        old = self._current(changes, (ITEM, number))
        new = self._item(number)
        if old is None:
            changes[ITEM, number] = new
            return [Statement(f"INSERT INTO item VALUES {_values(new)}")]
        choice = self.rng.random()
        if choice < 0.25:
            changes[ITEM, number] = None
            return [Statement(f"DELETE FROM item WHERE id = {new[0]}")]
        if choice < 0.35:
            changes[ITEM, number] = new
            return [Statement(f"REPLACE INTO item VALUES {_values(new)}")]
        if choice < 0.45:
            return [self._failing_insert(changes, number)]
        if choice < 0.6:
            return self._move(changes, number, old)
        row = (*old[:2], new[2], new[3], new[4], *old[5:])
        changes[ITEM, number] = row
        sql = f"UPDATE item SET grp = {_literal(row[2])}, val = {row[3]}, name = {_literal(row[4])} WHERE id = {row[0]}"
        return [Statement(sql)]

    def _move(self, changes: dict, number: int, old: Row) -> list[Statement]:
        """Gives a row another primary key, when that one is free."""
        target = self.rng.randrange(IDS_PER_WRITER)
        if self._current(changes, (ITEM, target)) is not None:
            return []
        row = (str(self._id(target)), old[1], old[2], old[3], old[4], f"{self._id(target)}", old[6])
        changes[ITEM, number] = None
        changes[ITEM, target] = row
        return [Statement(f"UPDATE item SET id = {row[0]}, code = '{row[5]}' WHERE id = {old[0]}")]

    def _failing_insert(self, changes: dict, taken: int) -> Statement:
        """Several rows of which the last is there already: the statement must leave none."""
        free = [n for n in range(IDS_PER_WRITER) if self._current(changes, (ITEM, n)) is None][:5]
        rows = ", ".join(_values(self._item(n)) for n in [*free, taken])
        return Statement(f"INSERT INTO item VALUES {rows}", error=ER_DUP_ENTRY)

    def _loose_step(self, changes: dict) -> list[Statement]:
        number = self.rng.randrange(IDS_PER_WRITER)
        row = (str(self.writer), str(number), self._word())
        if self._current(changes, (LOOSE, number)) is None:
            changes[LOOSE, number] = row
            return [Statement(f"INSERT INTO loose VALUES {_values(row)}")]
        where = f"WHERE writer = {self.writer} AND n = {number}"
        if self.rng.random() < 0.5:
            changes[LOOSE, number] = None
            return [Statement(f"DELETE FROM loose {where}")]
        changes[LOOSE, number] = row
        return [Statement(f"UPDATE loose SET note = {_literal(row[2])} {where}")]

    def _rolled_back_to_savepoint(self, changes: dict) -> list[Statement]:
        scratch = dict(changes)
        inner = [step for _ in range(4) for step in self._step(scratch)]
        return [Statement("SAVEPOINT s"), *inner, Statement("ROLLBACK TO SAVEPOINT s")]

    def _current(self, changes: dict, key: tuple[str, int]) -> Row | None:
        return changes[key] if key in changes else self.rows.get(key)

    def _id(self, number: int) -> int:
        return self.writer * ID_STRIDE + number

    def _item(self, number: int) -> Row:
        group = None if self.rng.random() < 0.1 else str(self.rng.randint(-5, 20))
        value = f"{self.rng.randint(-99999, 99999) / 100:.2f}"
        length = self.rng.choice((0, 3, 12, 200, 3000))
        body = None if self.rng.random() < 0.1 else (self._word() * 300)[:length]
        return (str(self._id(number)), str(self.writer), group, value, self._word(), str(self._id(number)), body)

    def _word(self) -> str:
        return "".join(self.rng.choice("abcDEFäßé xyz'") for _ in range(self.rng.randint(1, 30)))
