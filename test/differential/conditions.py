# SPDX-License-Identifier: GPL-2.0-only
"""Random conditions on walks of whole tables: the same rows, warnings, effects and counters on both engines.

The tables have no secondary keys, joins have their order said, and nothing asks for the primary key's ranges, so that
both engines are given the same plan, and whatever differs is theirs.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from crash.client import Connection, SqlError
from crash.server import Server

from .runner import BASE, TRIED, Answer, Difference

SIZES = {"t1": 400, "t2": 120, "t3": 40}
CREATE = """CREATE TABLE {table} (
  id INT PRIMARY KEY, a INT, nn INT NOT NULL, b VARCHAR(20), c CHAR(8) CHARACTER SET latin1, d DECIMAL(8,2), u DOUBLE,
  dt DATETIME, da DATE, tm TIME, y YEAR, e ENUM('x','y','z'), s SET('p','q','r'), g BIT(5), h BLOB, vb VARBINARY(10),
  bi BIGINT UNSIGNED, bn BINARY(4), w UUID, p TEXT COMPRESSED, v INT AS (10 DIV (a - 3)) VIRTUAL
) ENGINE={engine} DEFAULT CHARSET=utf8mb4"""
FILL = """INSERT INTO {table} (id, a, nn, b, c, d, u, dt, da, tm, y, e, s, g, h, vb, bi, bn, w, p) SELECT seq,
  IF(seq % 7, seq % 20, NULL), seq % 9, IF(seq % 11, CONCAT('b', seq % 17), NULL),
  IF(seq % 5, CONCAT('c', seq % 6), NULL), IF(seq % 6, seq % 40 / 4 - 5, NULL), IF(seq % 8, seq % 30 / 3, NULL),
  IF(seq % 9, '2020-01-01' + INTERVAL seq % 50 HOUR, NULL), IF(seq % 10, '2020-01-01' + INTERVAL seq % 20 DAY, NULL),
  IF(seq % 4, SEC_TO_TIME(seq % 60 * 60), NULL), 1990 + seq % 20,
  IF(seq % 13, 1 + seq % 3, NULL), seq % 8, seq % 32, IF(seq % 3, REPEAT('h', seq % 12), NULL), CONCAT('v', seq % 8),
  18446744073709551615 - seq % 10, LPAD(seq % 30, 4, '0'),
  IF(seq % 3, CONCAT('00000000-0000-0000-0000-00000000', LPAD(seq, 4, '0')), NULL), REPEAT('p', seq % 300)
  FROM seq_1_to_{rows}"""

# What columns are compared with beside each other, mostly of their own kind.
_NUMBERS = ("0", "1", "3", "5", "-1", "2.5", "7", "1e0", "12", "NULL", "18446744073709551610", "'5'", "'b3'", "TRUE")
_TEXTS = ("'b3'", "'B3 '", "'c2'", "'x'", "'z'", "'p,q'", "'v1'", "'hhh'", "''", "NULL", "3", "_latin1'c1'", "x'6231'",
          "'0007'")
_TIMES = ("'2020-01-02'", "'2020-01-01 10:00:00'", "NULL", "20200102", "TIMESTAMP'2020-01-02 00:00:00'",
          "DATE'2020-01-03'", "'junk'", "'00:10:00'", "TIME'00:20:00'")
COLUMNS = {**dict.fromkeys(("a", "nn", "d", "u", "y", "g", "bi", "v"), _NUMBERS),
           **dict.fromkeys(("b", "c", "e", "s", "h", "vb", "bn", "w", "p"), _TEXTS),
           **dict.fromkeys(("dt", "da", "tm"), _TIMES)}
_COMPARISONS = ("=", "<", ">", "<=", ">=", "<>", "<=>")
_PATTERNS = ("'b1%'", "'%3'", "'c_'", "'%0%'", "'h%'", "NULL", "'2020-01-0%'", "''")
_SQL_MODES = ("", "ERROR_FOR_DIVISION_BY_ZERO", "NO_ZERO_DATE,STRICT_ALL_TABLES")


def run_conditions(server: Server, seed: int, statements: int) -> Difference | None:
    """Both engines' answers to random SELECTs; None when they agree all along."""
    rng = random.Random(seed)
    difference = Difference(seed)
    with server.connect() as base, server.connect() as tried:
        for connection, database, engine in ((base, BASE, "InnoDB"), (tried, TRIED, server.engine.name)):
            _fill(connection, database, engine)
        for number in range(statements):
            if number % 15 == 0:
                setting = (f"SET join_cache_level = {rng.randrange(9)}, sql_mode = '{rng.choice(_SQL_MODES)}', "
                           f"optimizer_switch = 'materialization={rng.choice(('on', 'off'))}'")
                for connection in (base, tried):
                    connection.query(setting)
                difference.history = [setting]
            sql = _statement(rng)
            difference.base, difference.tried = _answer(base, sql), _answer(tried, sql)
            if difference.base != difference.tried:
                difference.history.append(sql)
                return difference
    return None


def _fill(connection: Connection, database: str, engine: str) -> None:
    connection.query(f"CREATE OR REPLACE DATABASE {database}")
    connection.query(f"USE {database}")
    connection.query("SET NAMES utf8mb4, sql_mode = '', max_error_count = 5")
    for table, rows in SIZES.items():
        connection.query(CREATE.format(table=table, engine=engine))
        connection.query(FILL.format(table=table, rows=rows))


def _answer(connection: Connection, sql: str) -> Answer:
    """Rows or the error, warnings with the rows that they name, how often an effect came, how many rows were read."""
    connection.query("SET @n = 0")
    connection.query("FLUSH STATUS")
    try:
        rows: object = connection.query(sql)
    except SqlError as error:
        rows = error.code
    texts = [(code, text.replace(TRIED, BASE)) for _, code, text in connection.query("SHOW WARNINGS")]
    warnings = texts, connection.query("SHOW COUNT(*) WARNINGS")
    counters = connection.query("SHOW STATUS WHERE variable_name IN ('Handler_read_rnd_next', 'Column_decompressions')")
    return "answer", (rows, warnings, connection.query("SELECT @n"), counters)


def _statement(rng: random.Random) -> str:
    form = rng.random()
    if form < 0.6:
        tables = [rng.choice(("t1", "t2"))]
        source = tables[0]
    elif form < 0.75:
        tables = rng.sample(("t2", "t3"), 2)
        source = f"{tables[0]} STRAIGHT_JOIN {tables[1]} ON {_all_of(rng, tables)}"
    elif form < 0.9:
        tables = ["t2", "t3"]
        source = f"t2 LEFT JOIN t3 ON {_all_of(rng, ['t3'])}"
    else:
        tables = ["q"]
        source = f"(SELECT * FROM t1 WHERE {_all_of(rng, ['t1'])}) AS q"
    first, where = tables[0], _all_of(rng, tables)
    columns = ", ".join(f"{table}.{column}" for table in tables for column in rng.sample(list(COLUMNS), 3))
    digest = f"SUM(CRC32(CONCAT_WS('#', {columns})))"
    order = ", ".join(f"{table}.id" for table in tables)
    return rng.choice((
        f"SELECT COUNT(*), {digest} FROM {source} WHERE {where}",
        f"SELECT COUNT(*), {digest} FROM {source} WHERE {where}",
        f"SELECT {first}.id, CAST({first}.id * 100 AS DECIMAL(3)) AS n FROM {source} WHERE {where} "
        f"LIMIT {rng.randint(1, 9)}",
        f"SELECT {first}.id FROM {source} WHERE {where} ORDER BY {order} + 0 LIMIT {rng.randint(1, 9)}",
        f"SELECT {first}.nn, COUNT(*), {digest} FROM {source} WHERE {where} GROUP BY {first}.nn ORDER BY 1",
        f"SELECT DISTINCT {first}.b FROM {source} WHERE {where} ORDER BY 1",
        f"SELECT MAX({first}.h), MIN({first}.vb), MAX({first}.id), MIN({first}.dt) FROM {source} WHERE {where}",
    ))


def _all_of(rng: random.Random, tables: Sequence[str]) -> str:
    return " AND ".join(_condition(rng, tables) for _ in range(rng.randint(1, 3)))


def _condition(rng: random.Random, tables: Sequence[str], depth: int = 0) -> str:
    table = rng.choice(tables)
    name = rng.choice(list(COLUMNS))
    column = f"{table}.{name}"
    negation = rng.choice(("", "NOT "))

    def operand() -> str:
        if rng.random() < 0.15:
            return f"{rng.choice(tables)}.{rng.choice(list(COLUMNS))}"
        return rng.choice(COLUMNS[name])

    forms = [
        lambda: f"{column} {rng.choice(_COMPARISONS)} {operand()}",
        lambda: f"{column} {rng.choice(_COMPARISONS)} {operand()}",
        lambda: f"{column} {rng.choice(_COMPARISONS)} {operand()}",
        lambda: f"{column} IS {negation}NULL",
        lambda: f"{column} {negation}BETWEEN {operand()} AND {operand()}",
        lambda: f"{column} {negation}IN ({', '.join(operand() for _ in range(rng.randint(1, 4)))})",
        lambda: f"{column} {negation}LIKE {rng.choice(_PATTERNS)}",
        lambda: f"{rng.choice(('LENGTH', 'CHAR_LENGTH'))}({column}) {rng.choice('<>=')} {rng.randrange(8)}",
        lambda: column,
        lambda: f"CRC32({column}) % 3 <> {rng.randrange(3)}",
        lambda: f"10 / ({table}.nn - 3) > {rng.randint(1, 3)}",
        lambda: "(@n := @n + 1) > 0",
    ]
    if depth < 3:
        forms += [
            lambda: f"({_condition(rng, tables, depth + 1)} AND {_condition(rng, tables, depth + 1)})",
            lambda: f"({_condition(rng, tables, depth + 1)} OR {_condition(rng, tables, depth + 1)})",
            lambda: f"({_condition(rng, tables, depth + 1)}) {rng.choice(('=', 'IS', '<=>', 'IS NOT'))} "
                    f"{rng.choice(('TRUE', 'FALSE'))}",
            lambda: f"NOT ({_condition(rng, tables, depth + 1)})",
            lambda: f"{table}.nn {negation}IN (SELECT i.a FROM t3 AS i WHERE {_condition(rng, ['i'], depth + 1)})",
            lambda: f"{negation}EXISTS (SELECT * FROM t3 AS i WHERE i.nn = {table}.nn "
                    f"AND {_condition(rng, ['i'], depth + 1)})",
            lambda: f"{table}.nn < (SELECT COUNT(*) FROM t3 AS i WHERE {_condition(rng, ['i'], depth + 1)})",
        ]
    return rng.choice(forms)()
