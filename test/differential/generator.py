# SPDX-License-Identifier: GPL-2.0-only
"""Random tables and statements, written once and run on both engines.

Every SELECT has an order that leaves no choice, or its rows are compared as a set.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

WORDS = (
    *("", " ", "a", "A", "a ", "ab", "abc", "Abd", "b", "B", "bb", "n", "zz", "ss", "x'y", "a\t"),
    *("ä", "ß", "ñ", "日本", "😀"),
)


@dataclass(frozen=True)
class Kind:
    """A column type, how to make a literal of it, and the longest prefix a key may take (0: whole)."""

    sql: str
    literal: Callable[[random.Random], str]
    prefix: int = 0
    must_prefix: bool = False


def _choice(*values: str) -> Callable[[random.Random], str]:
    return lambda rng: rng.choice(values)


def _number(low: int, high: int) -> Callable[[random.Random], str]:
    edges = (low, high, 0 if low <= 0 else low, 1, 2, 3)
    return lambda rng: str(rng.choice(edges) if rng.random() < 0.3 else rng.randint(max(low, -20), min(high, 30)))


def _text(most: int) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        word = (rng.choice(WORDS) + (rng.choice(WORDS) if rng.random() < 0.4 else ""))[:most]
        return "'" + word.replace("'", "''") + "'"

    return make


def _binary(most: int) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        return "x'" + "".join(rng.choice(("00", "01", "61", "20", "FF")) for _ in range(rng.randint(0, most))) + "'"

    return make


def _moment(pattern: str) -> Callable[[random.Random], str]:
    def make(rng: random.Random) -> str:
        return "'" + pattern.format(
            y=rng.choice((1970, 2000, 2001, 2037)), m=rng.randint(1, 12), d=rng.randint(1, 28),
            h=rng.randint(1, 23), i=rng.randint(0, 59), f=rng.choice((0, 1, 500000, 999999)), s=rng.choice(("", "-")),
        ) + "'"

    return make


KINDS = (
    Kind("INT", _number(-(2**31), 2**31 - 1)),
    Kind("TINYINT", _number(-128, 127)),
    Kind("SMALLINT UNSIGNED", _number(0, 65535)),
    Kind("MEDIUMINT", _number(-(2**23), 2**23 - 1)),
    Kind("BIGINT", _number(-(2**63), 2**63 - 1)),
    Kind("BIGINT UNSIGNED", _number(0, 2**64 - 1)),
    Kind("DECIMAL(8,3)", _choice("0", "-0.001", "99999.999", "-99999.999", "1.5", "-1.5", "10", "2.125")),
    Kind("DOUBLE", _choice("0", "-0e0", "1.5", "-1.5", "1e300", "-1e300", "1e-300", "3")),
    Kind("FLOAT", _choice("0", "-0e0", "1.5", "-1.5", "1e30", "3", "0.1")),
    Kind("DATE", _moment("{y}-{m:02}-{d:02}")),
    Kind("DATETIME(6)", _moment("{y}-{m:02}-{d:02} {h:02}:{i:02}:07.{f:06}")),
    Kind("TIMESTAMP(3) NULL", _moment("{y}-{m:02}-{d:02} {h:02}:{i:02}:07.{f:06}")),
    Kind("TIME(4)", _moment("{s}{h}:{i:02}:07.{f:06}")),
    Kind("YEAR", _choice("0", "1901", "2000", "2155", "1999")),
    Kind("BIT(11)", _choice("0", "1", "255", "256", "1024", "2047")),
    Kind("ENUM('z','a','','m')", _choice("'z'", "'a'", "''", "'m'")),
    Kind("SET('z','a','m')", _choice("''", "'z'", "'a'", "'z,a'", "'m'", "'a,m'")),
    Kind("CHAR(6) CHARACTER SET latin1", _choice("''", "'a'", "'A '", "'ab'", "'zz'", "'ä'")),
    Kind("CHAR(8) CHARACTER SET utf8mb4", _text(8), prefix=3),
    Kind("VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci", _text(12), prefix=2),
    Kind("VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_nopad_ci", _text(12), prefix=2),
    Kind("VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", _text(12), prefix=3),
    Kind("VARCHAR(9) CHARACTER SET latin1 COLLATE latin1_german2_ci", _choice("'ä'", "'ae'", "'a'", "'ß'", "'ss'")),
    Kind("BINARY(4)", _binary(4)),
    Kind("VARBINARY(9)", _binary(9), prefix=4),
    Kind("TEXT CHARACTER SET utf8mb4", _text(20), prefix=5, must_prefix=True),
    Kind("BLOB", _binary(14), prefix=6, must_prefix=True),
    Kind("INET6", _choice("'::'", "'::1'", "'ff::'", "'::ffff:1.2.3.4'")),
    Kind("UUID", _choice("'00000000-0000-0000-0000-000000000001'", "'123e4567-e89b-12d3-a456-426655440000'")),
)


@dataclass
class Table:
    name: str
    kinds: dict[str, Kind]
    primary: tuple[str, ...]
    keys: dict[str, tuple[str, ...]]  # secondary, by name: columns
    has_virtual: bool = False
    unique: set[str] = field(default_factory=set)
    virtual_of: str = ""  # the column that `virt` is computed from

    @property
    def loose(self) -> list[str]:
        """Columns that may go: no key has them and nothing is computed from them."""
        held = {*self.primary, self.virtual_of, *(column for columns in self.keys.values() for column in columns)}
        return [column for column in self.kinds if column not in held]

    @property
    def columns(self) -> list[str]:
        return list(self.kinds)

    @property
    def shown(self) -> list[str]:
        return [*self.columns, "virt"] if self.has_virtual else self.columns


def make_table(rng: random.Random, name: str) -> tuple[Table, str]:
    """A table and its CREATE statement, with {engine} left open."""
    kinds = {f"c{n}": rng.choice(KINDS) for n in range(rng.randint(2, 7))}
    usable = [c for c, kind in kinds.items() if not kind.must_prefix]
    primary: tuple[str, ...] = ()
    if usable and rng.random() < 0.85:
        primary = tuple(rng.sample(usable, min(len(usable), rng.choice((1, 1, 2, 3)))))
    parts, keys, unique = [], {}, set()
    for column, kind in kinds.items():
        sql = kind.sql.removesuffix(" NULL")
        null = "NOT NULL" if column in primary else rng.choice(("NULL", "NULL", "NOT NULL"))
        parts.append(f"{column} {sql} {null}")
    has_virtual = rng.random() < 0.3
    virtual_of = rng.choice(list(kinds)) if has_virtual else ""
    if has_virtual:
        parts.append(f"virt VARCHAR(80) CHARACTER SET utf8mb4 AS (CONCAT('v', HEX({virtual_of}))) VIRTUAL")
    if primary:
        parts.append("PRIMARY KEY (" + ", ".join(_part(rng, c, kinds[c], whole=True) for c in primary) + ")")
    for n in range(rng.randint(1, 4)):
        columns = tuple(rng.sample(list(kinds), min(len(kinds), rng.randint(1, 3))))
        if has_virtual and rng.random() < 0.3:
            columns = (*columns[:1], "virt")
        key = f"k{n}"
        keys[key] = columns
        sql = ", ".join(c if c == "virt" else _part(rng, c, kinds[c]) for c in columns)
        is_unique = rng.random() < 0.25
        unique |= {key} if is_unique else set()
        parts.append(f"{'UNIQUE ' if is_unique else ''}KEY {key} ({sql})")
    table = Table(name, kinds, primary, keys, has_virtual, unique, virtual_of)
    return table, _create(rng, table, ", ".join(parts))


def _create(rng: random.Random, table: Table, parts: str) -> str:
    """Mostly a plain table, at times a partitioned one. No temporary one: InnoDB loses rows of
    those when it undoes the deletion and new insertion of a primary key."""
    partitions = ""
    if table.primary and not table.unique and rng.random() < 0.15:
        partitions = f" PARTITION BY KEY ({', '.join(table.primary)}) PARTITIONS 3"
    return f"CREATE TABLE {table.name} ({parts}) ENGINE={{engine}}{partitions}"


def _part(rng: random.Random, column: str, kind: Kind, whole: bool = False) -> str:
    prefix = f"({kind.prefix})" if kind.must_prefix or (kind.prefix and not whole and rng.random() < 0.4) else ""
    return column + prefix + rng.choice(("", "", " DESC"))


class Statements:
    """A stream of statements on one table; each with whether its rows are compared in order."""

    def __init__(self, rng: random.Random, table: Table) -> None:
        self._rng = rng
        self._table = table
        self._added = 0

    def next(self) -> tuple[str, bool]:
        rng = self._rng
        choice = rng.random()
        if choice < 0.3:
            return self._insert(), False
        if choice < 0.42:
            return self._update(), False
        if choice < 0.5:
            return f"DELETE FROM {self._table.name} WHERE {self._condition()}{self._all_order(0.3)}", False
        if choice < 0.62:
            return self._transaction(), False
        if choice < 0.635:
            return self._alter(), False
        if choice < 0.655:
            return self._alter_columns(), False
        return self._select()

    def _value(self, column: str) -> str:
        if self._rng.random() < 0.12:
            return "NULL"
        return self._table.kinds[column].literal(self._rng)

    def _row(self) -> str:
        return "(" + ", ".join(self._value(c) for c in self._table.columns) + ")"

    def _insert(self) -> str:
        rng, table = self._rng, self._table
        columns = ", ".join(table.columns)
        rows = ", ".join(self._row() for _ in range(rng.choice((1, 1, 3, 12))))
        verb = rng.choice(("INSERT", "INSERT", "INSERT IGNORE", "REPLACE"))
        if verb == "INSERT" and rng.random() < 0.3:
            column = rng.choice(table.columns)
            update = f"ON DUPLICATE KEY UPDATE {column} = {self._value(column)}"
            return f"INSERT INTO {table.name} ({columns}) VALUES {rows} {update}"
        return f"{verb} INTO {table.name} ({columns}) VALUES {rows}"

    def _update(self) -> str:
        changed = self._rng.sample(self._table.columns, self._rng.randint(1, min(2, len(self._table.columns))))
        sets = ", ".join(f"{c} = {self._value(c)}" for c in changed)
        ignore = "IGNORE " if self._rng.random() < 0.2 else ""
        return f"UPDATE {ignore}{self._table.name} SET {sets} WHERE {self._condition()}{self._all_order(1)}"

    def _transaction(self) -> str:
        choice = self._rng.random()
        if choice < 0.4:
            return "BEGIN"
        if choice < 0.55:
            return "COMMIT"
        if choice < 0.7:
            return "ROLLBACK"
        if choice < 0.85:
            return f"SAVEPOINT s{self._rng.randint(0, 2)}"
        return f"ROLLBACK TO SAVEPOINT s{self._rng.randint(0, 2)}"

    def _alter(self) -> str:
        rng, table = self._rng, self._table
        key = rng.choice(list(table.keys))
        choice = rng.random()
        if choice < 0.3:
            return f"ALTER TABLE {table.name} FORCE"
        if choice < 0.5:
            return f"ALTER TABLE {table.name} DROP KEY {key}, ADD KEY {key} ({self._key_columns(key)})"
        if choice < 0.6:
            return f"TRUNCATE TABLE {table.name}"
        if choice < 0.8:
            return f"ANALYZE TABLE {table.name}"
        return f"CHECK TABLE {table.name} EXTENDED"

    def _alter_columns(self) -> str:
        """Adds, drops or moves columns, of rows that are there; some of these ways are instant, others copy."""
        rng, table = self._rng, self._table
        place = rng.choice(("", "", " FIRST", f" AFTER {rng.choice(table.columns)}"))
        changes = []
        if table.loose and len(table.kinds) > 2 and rng.random() < 0.5:
            column = rng.choice(table.loose)
            del table.kinds[column]
            changes.append(f"DROP COLUMN {column}")
            place = rng.choice(("", " FIRST"))
        if not changes or rng.random() < 0.5:
            kind = rng.choice(KINDS)
            column = f"d{self._added}"
            self._added += 1
            table.kinds[column] = kind
            null = "NULL" if kind.must_prefix or rng.random() < 0.5 else f"NOT NULL DEFAULT {kind.literal(rng)}"
            changes.append(f"ADD COLUMN {column} {kind.sql.removesuffix(' NULL')} {null}{place}")
        return f"ALTER TABLE {table.name} {', '.join(changes)}"

    def _key_columns(self, key: str) -> str:
        kinds = self._table.kinds
        return ", ".join(c if c == "virt" else _part(self._rng, c, kinds[c]) for c in self._table.keys[key])

    def _condition(self) -> str:
        rng = self._rng
        terms = []
        for column in rng.sample(self._table.columns, rng.randint(1, min(2, len(self._table.columns)))):
            value = self._table.kinds[column].literal(rng)
            other = self._table.kinds[column].literal(rng)
            terms.append(
                rng.choice(
                    (
                        f"{column} = {value}",
                        f"{column} > {value}",
                        f"{column} <= {value}",
                        f"{column} BETWEEN {value} AND {other}",
                        f"{column} IN ({value}, {other})",
                        f"{column} IS NULL",
                        f"{column} <> {value}",
                        f"{column} <=> {value}",
                    )
                )
            )
        return f" {rng.choice(('AND', 'AND', 'OR'))} ".join(terms)

    def _all_order(self, limit_probability: float) -> str:
        """An order by everything, so that both engines touch the same rows in the same turn."""
        order = ", ".join(f"HEX({c}), {c}" for c in self._table.columns)
        limit = f" LIMIT {self._rng.randint(1, 5)}" if self._rng.random() < limit_probability / 2 else ""
        return f" ORDER BY {order}{limit}"

    def _select(self) -> tuple[str, bool]:
        rng, table = self._rng, self._table
        index = rng.choice([*table.keys, *(["PRIMARY"] if table.primary else [])])
        hint = rng.choice((f"FORCE INDEX ({index})", f"FORCE INDEX ({index})", "", f"IGNORE INDEX ({index})"))
        where = f" WHERE {self._condition()}" if rng.random() < 0.8 else ""
        key_columns = table.primary if index == "PRIMARY" else table.keys[index]
        wanted = rng.choice((table.shown, list(key_columns), [*key_columns, *table.primary]))
        shown = ", ".join(f"HEX({c})" for c in dict.fromkeys(wanted))
        lock = rng.choice(("", "", "", " FOR UPDATE", " LOCK IN SHARE MODE"))
        if rng.random() < 0.25:
            column = rng.choice(table.columns)
            return f"SELECT COUNT(*), MIN(HEX({column})), MAX(HEX({column})) FROM {table.name} {hint}{where}", True
        if rng.random() < 0.2:
            column = rng.choice(table.columns)
            return f"SELECT HEX(MIN({column})) IS NULL, COUNT(DISTINCT {column}) FROM {table.name} {hint}{where}", True
        if rng.random() < 0.5:
            direction = rng.choice(("", " DESC"))
            order = ", ".join(f"{c}{direction}" for c in key_columns)
            weights = ", ".join(self._weight(c) for c in key_columns)
            return f"SELECT {weights} FROM {table.name} {hint}{where} ORDER BY {order}", True
        return f"SELECT {shown} FROM {table.name} {hint}{where}{lock}", False

    def _weight(self, column: str) -> str:
        """What decides a column's place in an order: rows of equal keys come in any order."""
        if column == "virt":
            return "virt"
        kind = self._table.kinds[column].sql
        if "CHAR" in kind or "TEXT" in kind:
            # Where trailing spaces count for nothing they must not show either.
            return f"HEX(WEIGHT_STRING({column if 'nopad' in kind else f'RTRIM({column})'}))"
        return f"HEX({column})" if "BLOB" in kind or "BINARY" in kind else f"{column} + 0"
