# SPDX-License-Identifier: GPL-2.0-only
"""Random SELECTs that Cairn carries out past the server's optimizer, and some that it must not: as by its plans.

Both databases are Cairn's: in one the optimizer is asked for all. So rows of the same values come in the same order.
"""

from __future__ import annotations

import random
import re

from crash.client import Connection, SqlError
from crash.server import Server

from .runner import BASE, TRIED, Answer, Difference

# Name, and the parts of its keys; the first is the primary key.
_KEYS = {
    "one": {"PRIMARY": ("id",), "k": ("ti",), "u": ("bi", "si"), "d": ("ub", "ut")},
    "three": {"PRIMARY": ("ti", "ub", "mi"), "k": ("si", "bi"), "u": ("i",)},
}
_CREATE = {
    "one": """CREATE TABLE one (id INT PRIMARY KEY, ti TINYINT, ut TINYINT UNSIGNED, si SMALLINT NOT NULL, mi MEDIUMINT,
      i INT UNSIGNED, bi BIGINT, ub BIGINT UNSIGNED, y YEAR, v VARCHAR(20), tw BIGINT AS (ti * 2) VIRTUAL,
      KEY k (ti), UNIQUE KEY u (bi, si), KEY d (ub DESC, ut)) ENGINE=Cairn""",
    "three": """CREATE TABLE three (id INT, ti TINYINT, ut TINYINT UNSIGNED, si SMALLINT, mi MEDIUMINT UNSIGNED,
      i INT, bi BIGINT, ub BIGINT UNSIGNED, y YEAR, v TEXT, tw BIGINT AS (si * 2) STORED,
      PRIMARY KEY (ti, ub, mi), KEY k (si, bi DESC), UNIQUE KEY u (i)) ENGINE=Cairn""",
}
_COLUMNS = ("id", "ti", "ut", "si", "mi", "i", "bi", "ub", "y", "v", "tw")
_ALL = {"ti": (-128, 127), "ut": (0, 255), "si": (-32768, 32767), "mi": (0, 8388607), "i": (0, 2147483647),
        "bi": (-2**63, 2**63 - 1), "ub": (0, 2**64 - 1), "id": (-2**31, 2**31 - 1), "tw": (-300, 300)}
_ROWS = 250
# Where the optimizer may choose by samples of the index, which differ, in which order rows of one value come.
_COSTED = ("USE INDEX", "IGNORE INDEX", "DISTINCT", "COUNT(*)")
_ODD = ("NULL", "'3'", "2.5", "3.0", "3e0", "0x03", "b'11'", "TRUE", "-(-3)", "1 + 2", "DATE'2020-01-01'", "@n",
        "18446744073709551615", "-9223372036854775808", "99999999999999999999", "-1", "(SELECT 3)", "i", "''")
# Integers of either sign, and what is none.
_PARAMETERS = ("NULL", "'3'", "'x'", "2.5", "3.0", "3e0", "DATE'2020-01-01'", "18446744073709551615",
               "-9223372036854775808", "99999999999999999999", "-1")
_RESTS = ("v LIKE 'v%'", "y = 2003", "y = 3", "ti IS NOT NULL", "si + 1 > 3", "ut IN (1, 2, 3)", "mi <> 3",
          "ti <=> 3", "(id = 3 OR si = 3)", "ut", "tw > 3", "NOT si > 3", "LENGTH(v) > ti", "10 / ut > 1")


def run_plain(server: Server, seed: int, statements: int) -> Difference | None:
    """The answers of both databases to random SELECTs between changes; None when they agree all along."""
    rng = random.Random(seed)
    difference = Difference(seed)
    with server.connect() as base, server.connect() as tried:
        rows = {table: [_row(rng) for _ in range(_ROWS)] for table in _CREATE}
        for connection, database, plain in ((base, BASE, 0), (tried, TRIED, 1)):
            _fill(connection, database, rows)
            connection.query(f"SET cairn_plain_selects = {plain}")
            connection.query("SELECT id FROM one LIMIT 1")  # of which there are no warnings
        taken_before, taken_prepared = _taken(tried), 0
        for _ in range(statements):
            together = _some(rng)
            is_prepared = together[0].startswith("PREPARE")
            taken_others = _taken(tried) if is_prepared else 0
            for sql in together:
                difference.history = [*difference.history[-30:], sql]
                # Which are asked for by a statement of its own.
                warned = sql is together[-1]
                in_order = "ORDER BY" in together[0] and not any(word in together[0] for word in _COSTED)
                difference.base = _answer(base, sql, warned, in_order)
                difference.tried = _answer(tried, sql, warned, in_order)
                if difference.base != difference.tried:
                    return difference
            if is_prepared:
                taken_prepared += _taken(tried) - taken_others
        difference.history = ["SHOW GLOBAL STATUS LIKE 'Cairn_plain_selects'"]
        taken, least, least_prepared = _taken(tried) - taken_before, statements // 50, statements // 200
        difference.base = ("rows", f"{least} at least, {least_prepared} of them prepared")
        difference.tried = ("rows", f"{taken}, {taken_prepared} of them prepared")
        return difference if taken < least or taken_prepared < least_prepared else None


def _fill(connection: Connection, database: str, rows: dict[str, list[str]]) -> None:
    connection.query(f"CREATE OR REPLACE DATABASE {database}")
    connection.query(f"USE {database}")
    connection.query("SET NAMES utf8mb4, sql_mode = '', @n = 3")
    names = ", ".join(column for column in _COLUMNS if column != "tw")
    for table, create in _CREATE.items():
        connection.query(create)
        connection.query(f"INSERT IGNORE INTO {table} ({names}) VALUES {', '.join(rows[table])}")


def _value(rng: random.Random, column: str) -> int:
    """Small, or at an edge of the column's type or of another."""
    low, high = _ALL.get(column, (0, 255))
    if rng.random() < 0.6:
        return rng.randint(-1, 12)
    return rng.choice((low, high, low - 1, high + 1, low + 1, 2**63 - 1, 2**63, -1))


def _row(rng: random.Random) -> str:
    def value(column: str) -> str:
        if column not in {"id", "si", "ub"} and rng.random() < 0.1:
            return "NULL"
        low, high = _ALL[column]
        return str(min(max(_value(rng, column) if rng.random() < 0.3 else rng.randint(0, 9), low), high))

    numbers = ", ".join(value(column) for column in _COLUMNS[1:8])
    return f"({rng.randint(-300, 300)}, {numbers}, {2000 + rng.randint(0, 9)}, 'v{rng.randint(0, 99)}')"


def _bound(rng: random.Random, column: str, *, exact: bool) -> str:
    def value() -> str:
        return rng.choice(_ODD) if rng.random() < 0.04 else str(_value(rng, column))

    if exact:
        return f"{column} = {value()}" if rng.random() < 0.9 else f"{value()} = {column}"
    return rng.choice((f"{column} {rng.choice(('<', '<=', '>', '>='))} {value()}",
                       f"{value()} {rng.choice(('<', '<=', '>', '>='))} {column}",
                       f"{column} >= {value()} AND {column} < {value()}",
                       f"{column} BETWEEN {value()} AND {value()}",
                       f"{column} BETWEEN {rng.randint(0, 3)} AND {rng.randint(3, 12)}"))


def _list(rng: random.Random, column: str) -> str:
    values = [str(_value(rng, column)) for _ in range(rng.choice((2, 2, 3, 8, 20, 129)))]
    if rng.random() < 0.1:
        values[0] = rng.choice(_ODD)
    return f"{column} {rng.choice(('IN', 'IN', 'IN', 'IN', 'NOT IN'))} ({', '.join(values)})"


def _select(rng: random.Random) -> str:
    table = rng.choice(list(_KEYS))
    key = rng.choice(list(_KEYS[table]))
    parts = _KEYS[table][key]
    given = rng.randint(1, len(parts))
    where = [_bound(rng, part, exact=True) for part in parts[:given - 1]]
    where.append(_bound(rng, parts[given - 1], exact=rng.random() < 0.5))
    if rng.random() < 0.25:
        listed = rng.randrange(given)
        where[listed] = _list(rng, parts[listed])
    if rng.random() < 0.15:
        where.append(rng.choice(_RESTS))
    rng.shuffle(where)
    chosen = rng.choice(("*", ", ".join(rng.sample(_COLUMNS, 3)), ", ".join(parts), "v, id + ti, @n, tw"))
    hint = ""
    if key != "PRIMARY" or rng.random() < 0.2:
        hint = f" {rng.choice(('FORCE', 'FORCE', 'FORCE', 'USE', 'IGNORE'))} INDEX ({key})"
    order = ""
    if rng.random() < 0.5:
        way = rng.choice(("", " DESC"))
        wanted = list(parts[rng.randint(0, given - 1):])
        if rng.random() < 0.1:
            wanted = [rng.choice(_COLUMNS), *_KEYS[table]["PRIMARY"]]  # which no rows have in common
        order = " ORDER BY " + ", ".join(part + (way if rng.random() < 0.9 else " DESC") for part in wanted)
    limit = rng.choice(("", "", "", " LIMIT 3", " LIMIT 2, 4", " LIMIT 0", " LIMIT 100, 5"))
    first = rng.choice(("SELECT", "SELECT", "SELECT", "SELECT", "SELECT SQL_CALC_FOUND_ROWS", "SELECT DISTINCT"))
    if not order or any(word in first + hint for word in _COSTED):
        limit = rng.choice(("", "", " LIMIT 0", " LIMIT 100000"))
    lock = rng.choice(("", "", "", "", " FOR UPDATE", " LOCK IN SHARE MODE", " LOCK IN SHARE MODE SKIP LOCKED"))
    return f"{first} {chosen} FROM {table}{hint} WHERE {' AND '.join(where)}{order}{limit}{lock}"


def _some(rng: random.Random) -> list[str]:
    """What belongs together: a SELECT in one of the ways to send it, or a change."""
    form = rng.random()
    table = rng.choice(list(_CREATE))
    if form < 0.05:
        return [rng.choice(("BEGIN", "COMMIT", "ROLLBACK", "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
                            "SET SESSION TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET @n = 4"))]
    if form < 0.10:
        return [f"UPDATE {table} SET ti = {rng.randint(0, 9)}, v = 'new' WHERE si = {rng.randint(0, 9)} LIMIT 3"]
    if form < 0.13:
        return [f"DELETE FROM {table} WHERE bi = {rng.randint(0, 9)} ORDER BY id LIMIT 2"]
    sql = _select(rng)
    if form < 0.80:
        return [sql, "SELECT FOUND_ROWS()"]
    if form < 0.85:
        return [f"SELECT COUNT(*) FROM ({sql.replace('DISTINCT', '').replace(' FOR UPDATE', '')}) AS q"]
    return _prepared(rng, sql)


def _prepared(rng: random.Random, sql: str) -> list[str]:
    """The statement with some of its numbers as parameters, whose values and types change between executions."""
    values: list[str] = []

    def parameter(number: re.Match[str]) -> str:
        if rng.random() < 0.3:
            return number[0]
        values.append(number[0])
        return "?"

    head, where, rest = sql.partition(" WHERE ")
    conditions, *tail = re.split("( ORDER BY | LIMIT )", rest)
    conditions = re.sub(r"(?<![\w.'-])-?\d+(?![\w.'])", parameter, conditions)
    quoted = (head + where + conditions + "".join(tail)).replace("'", "''")
    using = " USING " + ", ".join(f"@p{i}" for i in range(len(values))) if values else ""

    def changed(value: str) -> str:
        kind = rng.random()
        if kind < 0.7:
            return value
        return str(rng.randint(-1, 12)) if kind < 0.9 else rng.choice(_PARAMETERS)

    statements = [f"PREPARE s FROM '{quoted}'"]
    for _ in range(4):
        if values:
            statements.append("SET " + ", ".join(f"@p{i} = {changed(value)}" for i, value in enumerate(values)))
        statements.append(f"EXECUTE s{using}")
    return [*statements[:-1], "SELECT FOUND_ROWS()", statements[-1]]


def _taken(connection: Connection) -> int:
    return int(connection.query("SHOW GLOBAL STATUS LIKE 'Cairn_plain_selects'")[0][1])


def _answer(connection: Connection, sql: str, warned: bool, in_order: bool) -> Answer:
    """Rows or the error, and warnings."""
    try:
        rows: object = connection.query(sql)
        if not in_order:
            rows = sorted(rows, key=repr)
    except SqlError as error:
        rows = error.code
    if not warned:
        return "rows", rows
    return "answer", (rows, [(code, text.replace(TRIED, BASE)) for _, code, text in connection.query("SHOW WARNINGS")])
