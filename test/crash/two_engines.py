# SPDX-License-Identifier: GPL-2.0-only
"""Commits of Cairn and InnoDB together: once one has returned, a server that is killed has both halves.

Not among the SQL tests: those keep their files in memory, where InnoDB takes its log for persistent memory and has each
commit in it at once.
"""

from __future__ import annotations

from .server import Server

_CHANGES = ("UPDATE both_engines.ours SET a = a + 1", "UPDATE both_engines.innodbs SET a = a + 1")
_TRANSACTIONS = {
    "a transaction": ("BEGIN", *_CHANGES, "COMMIT"),
    "a transaction, the other engine first": ("BEGIN", *reversed(_CHANGES), "COMMIT"),
    "a statement": ("UPDATE both_engines.ours AS o, both_engines.innodbs AS i SET o.a = o.a + 1, i.a = i.a + 1",),
    "an XA transaction in one phase": ("XA START 'both'", *_CHANGES, "XA END 'both'", "XA COMMIT 'both' ONE PHASE"),
}


def commits_outlive_a_kill(server: Server) -> list[str]:
    """Gives problems. Ends with the server killed."""
    count = 0
    server.start()
    with server.connect() as connection:
        connection.query("CREATE DATABASE both_engines")
        for table, engine in (("ours", "CAIRN"), ("innodbs", "InnoDB")):
            connection.query(f"CREATE TABLE both_engines.{table} (a INT) ENGINE={engine}")
            connection.query(f"INSERT INTO both_engines.{table} VALUES (0)")
    for logged in ("--log-bin=binlog", "--skip-log-bin"):
        for name, statements in _TRANSACTIONS.items():
            server.kill()
            server.start(logged)
            with server.connect() as connection:
                for sql in statements:
                    connection.query(sql)
            count += 1
            server.kill()
            server.start(logged)
            with server.connect() as connection:
                prepared = connection.query("XA RECOVER")
                # Not locking, so that what is prepared does not make it wait.
                counts = [connection.value(f"SELECT a FROM both_engines.{table}") for table in ("ours", "innodbs")]
            if prepared or counts != [str(count)] * 2:
                return [f"{name}, {logged}: committed {count}, there are {counts}, and prepared {prepared}"]
    server.kill()
    return []
