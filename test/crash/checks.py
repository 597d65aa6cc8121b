# SPDX-License-Identifier: GPL-2.0-only
"""What must hold after a crash and a restart. Every function gives the list of what does not."""

from __future__ import annotations

from dataclasses import dataclass

from .client import Connection
from .model import Model
from .schema import COLUMNS, DATABASE, INDEXES, TABLES, Index
from .writers import Writer

SHOWN_ROWS = 5


@dataclass(frozen=True)
class Recovered:
    """A writer's rows as they must be from now on, and how many acknowledged commits are gone."""

    model: Model
    lost_commits: int


def resolve_prepared(connection: Connection, writers: list[Writer], others: set[str]) -> list[str]:
    """Ends what XA RECOVER lists: even seq by commit, odd by rollback. It may list only what was under way last."""
    problems = []
    known = others | {f"{w.model.writer}-{w.plans[-1].seq}" for w in writers if w.xa and w.plans}
    for *_, xid in connection.query("XA RECOVER"):
        if xid not in known:
            problems.append(f"XA RECOVER lists {xid}, which was not under way")
        verb = "ROLLBACK" if xid and int(xid.split("-")[1]) % 2 else "COMMIT"
        connection.query(f"XA {verb} '{xid}'")
    left = connection.query("XA RECOVER")
    if left:
        problems.append(f"XA RECOVER still lists {left}")
    return problems


def writer_rows(connection: Connection, writer: Writer, may_lose: bool) -> tuple[Recovered, list[str]]:
    """The writer's transactions must be there up to some seq, whole, and none after it."""
    number = writer.base.writer
    highest, count = connection.query(f"SELECT COALESCE(MAX(seq), 0), COUNT(*) FROM ledger WHERE writer = {number}")[0]
    found = int(highest or 0)
    problems = []
    if int(count or 0) != found:
        problems.append(f"writer {number}: ledger has {count} entries up to {found}")
    attempted = writer.plans[-1].seq if writer.plans else writer.base.seq
    lost = max(0, writer.acknowledged - found)
    if found > attempted:
        problems.append(f"writer {number}: transaction {found} found, only {attempted} attempted")
    if found < writer.base.seq:
        problems.append(f"writer {number}: transaction {found} found, {writer.base.seq} was there before this round")
    if lost and not may_lose:
        problems.append(
            f"writer {number}: {lost} acknowledged commits are lost, {found} found, {writer.acknowledged} acknowledged"
        )
    model = writer.base
    model.rng = writer.model.rng
    for plan in writer.plans:
        if plan.seq <= found:
            model.apply(plan)
    model.seq = found
    problems += _compare(connection, model, "item")
    problems += _compare(connection, model, "loose")
    return Recovered(model, lost), problems


def _compare(connection: Connection, model: Model, table: str) -> list[str]:
    rows = connection.query(f"SELECT {COLUMNS[table]} FROM {table} WHERE writer = {model.writer}")
    there, wanted = set(rows), set(model.expected(table))
    problems = []
    if len(rows) != len(there):
        problems.append(f"{table} of writer {model.writer}: {len(rows) - len(there)} rows twice")
    if there - wanted:
        problems.append(f"{table} of writer {model.writer}: not to be there: {_some(there - wanted)}")
    if wanted - there:
        problems.append(f"{table} of writer {model.writer}: missing: {_some(wanted - there)}")
    return problems


def counter_hits(connection: Connection, expected: int) -> list[str]:
    """The shared counters were counted up once by every transaction found, and by no other."""
    hits = int(connection.value("SELECT SUM(hits) FROM counter") or 0)
    return [] if hits == expected else [f"counter: {hits} hits, {expected} by the transactions found"]


def tables(connection: Connection) -> list[str]:
    """CHECK TABLE, then every secondary index against its table in both directions."""
    problems = []
    for table in TABLES:
        for _, _, kind, text in connection.query(f"CHECK TABLE {table} EXTENDED"):
            if kind in ("error", "warning") or (kind == "status" and text != "OK"):
                problems.append(f"CHECK TABLE {table}: {kind} {text}")
    for index in INDEXES:
        problems += _index(connection, index)
    return problems


def _index(connection: Connection, index: Index) -> list[str]:
    """By index-only reads where it covers, and by reading the rows it points to."""
    problems = []
    selections = [(COLUMNS[index.table], index.always)]
    if index.covered:
        selections.append((index.covered, "1"))
    for columns, condition in selections:
        through = f"SELECT {columns} FROM {index.table} FORCE INDEX ({index.name}) WHERE {condition}"
        direct = f"SELECT {columns} FROM {index.table} IGNORE INDEX ({index.name}) WHERE {condition}"
        for name, left, right in (("has more than", through, direct), ("lacks rows of", direct, through)):
            rows = connection.query(f"{left} EXCEPT ALL {right}")
            if rows:
                problems.append(f"index {index.name} {name} {index.table} ({columns}): {_some(rows)}")
    return problems


def same_as(connection: Connection, replay: str, tables_and_conditions: dict[str, str]) -> list[str]:
    """The tables must be what replaying the binary log made of them."""
    problems = []
    for table, condition in tables_and_conditions.items():
        columns = COLUMNS[table]
        ours = f"SELECT {columns} FROM {DATABASE}.{table} WHERE {condition}"
        theirs = f"SELECT {columns} FROM {replay}.{table} WHERE {condition}"
        for name, left, right in (("has more than", ours, theirs), ("lacks rows of", theirs, ours)):
            rows = connection.query(f"{left} EXCEPT ALL {right}")
            if rows:
                problems.append(f"{table} {name} the binary log: {_some(rows)}")
    return problems


def _some(rows) -> str:
    shown = sorted(rows, key=repr)[:SHOWN_ROWS]
    cut = [tuple(v[:40] if v else v for v in row) for row in shown]
    return f"{len(rows)} rows, such as {cut}"
