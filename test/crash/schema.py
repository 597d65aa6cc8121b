# SPDX-License-Identifier: GPL-2.0-only
"""The tables the writers fill, and how each of their secondary indexes can be compared with its table."""

from __future__ import annotations

from dataclasses import dataclass

DATABASE = "crash"
REPLAY_DATABASE = "crash_replay"
DDL_DATABASE = "crash_ddl"
FAMILY_DATABASE = "crash_family"
LOAD_DATABASE = "crash_load"
COUNTERS = 8

ITEM = """
CREATE TABLE {database}.item (
  id BIGINT NOT NULL PRIMARY KEY,
  writer INT NOT NULL,
  grp INT NULL,
  val DECIMAL(12,2) NOT NULL,
  name VARCHAR(60) NOT NULL,
  code VARBINARY(20) NOT NULL,
  body BLOB,
  UNIQUE KEY by_code (code),
  KEY by_group (grp, val DESC),
  KEY by_name (name, writer),
  KEY by_body (body(12))
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci"""
LOOSE = """
CREATE TABLE {database}.loose (
  writer INT NOT NULL,
  n INT NOT NULL,
  note VARCHAR(40) NOT NULL,
  KEY by_writer (writer, n),
  KEY by_note (note)
) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_unicode_nopad_ci"""
COUNTER = """
CREATE TABLE {database}.counter (
  id INT NOT NULL PRIMARY KEY,
  hits BIGINT NOT NULL,
  KEY by_hits (hits)
)"""
LEDGER = """
CREATE TABLE {database}.ledger (
  writer INT NOT NULL,
  seq BIGINT NOT NULL,
  PRIMARY KEY (writer, seq)
)"""
TABLES = {"item": ITEM, "loose": LOOSE, "counter": COUNTER, "ledger": LEDGER}


@dataclass(frozen=True)
class Index:
    """A secondary index: the columns it can give alone, and a condition that is always true but
    makes the server read through it when the columns wanted are not all in it."""

    table: str
    name: str
    covered: str
    always: str


INDEXES = (
    Index("item", "by_code", "code, id", "code >= ''"),
    Index("item", "by_group", "grp, val, id", "(grp IS NULL OR grp > -1000)"),
    Index("item", "by_name", "name, writer, id", "name >= ''"),
    Index("item", "by_body", "", "(body IS NULL OR body >= '')"),
    Index("loose", "by_writer", "writer, n", "writer >= 0"),
    Index("loose", "by_note", "note", "note >= ''"),
    Index("counter", "by_hits", "hits, id", "hits >= 0"),
)
COLUMNS = {
    "item": "id, writer, grp, val, name, code, body",
    "loose": "writer, n, note",
    "counter": "id, hits",
    "ledger": "writer, seq",
}


def create_statements(engine: str, database: str) -> list[str]:
    statements = [f"CREATE DATABASE {database}"]
    statements += [sql.format(database=database) + f" ENGINE={engine}" for sql in TABLES.values()]
    counters = ", ".join(f"({n}, 0)" for n in range(COUNTERS))
    statements.append(f"INSERT INTO {database}.counter VALUES {counters}")
    return statements
