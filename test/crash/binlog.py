# SPDX-License-Identifier: GPL-2.0-only
"""Replays the binary log beside the tables, so that the two can be compared."""

from __future__ import annotations

import subprocess

from . import checks
from .client import Connection
from .schema import COLUMNS, DATABASE, REPLAY_DATABASE
from .server import Server
from .writers import XA_WRITER_MIN

_OWN = f"writer < {XA_WRITER_MIN}"
COMPARED = {"item": _OWN, "loose": _OWN, "ledger": _OWN, "counter": "1"}


class Replay:
    """A second set of the tables, of InnoDB, that is written by the binary log alone.

    Made when the tables are; `follow` is called after each restart, before any other write.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._next_file = ""

    def begin(self, connection: Connection) -> None:
        """From here on the log's events belong to the replay."""
        connection.query("FLUSH BINARY LOGS")
        self._next_file = self._files(connection)[-1]

    def follow(self, connection: Connection) -> list[str]:
        """Replays the files that the last run of the server wrote; gives problems."""
        files = self._files(connection)
        if self._next_file not in files:
            return [f"binary log {self._next_file} is gone: {files}"]
        todo = files[files.index(self._next_file) : -1]
        self._next_file = files[-1]
        read = [
            self._server.tool("mariadb-binlog"),
            "--no-defaults",
            "--disable-log-bin",
            f"--rewrite-db={DATABASE}->{REPLAY_DATABASE}",
            # Nothing else: recovery itself logs a DROP TABLE for what it cleans up after DDL.
            f"--database={DATABASE}",
            *(str(self._server.data / name) for name in todo),
        ]
        write = [
            self._server.tool("mariadb"),
            "--no-defaults",
            "--user=root",
            "--max-allowed-packet=64M",
            f"--socket={self._server.socket}",
        ]
        with subprocess.Popen(read, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
            writer = subprocess.run(write, stdin=reader.stdout, capture_output=True)
            assert reader.stdout and reader.stderr
            reader.stdout.close()  # else a reader whose writer has died would wait for ever
            complaint = reader.stderr.read()
        problems = []
        if reader.returncode:
            problems.append(f"mariadb-binlog ended with {reader.returncode}: {complaint.decode()[-500:]}")
        if writer.returncode:
            problems.append(f"replaying the binary log: {writer.stderr.decode()[-500:]}")
        return problems

    def compare(self, connection: Connection, may_run_ahead: bool) -> tuple[int, list[str]]:
        """Gives by how many transactions the log is ahead of the tables, and problems.

        With `may_run_ahead` (commits are not written through at once) the log may have more, and
        the replay is then set back to the tables; the tables never may.
        """
        ahead = self._count(connection, REPLAY_DATABASE, DATABASE)
        extra = self._count(connection, DATABASE, REPLAY_DATABASE)
        if extra:
            return ahead, [f"{extra} transactions are in the tables and not in the binary log"]
        if ahead and may_run_ahead:
            self._reset(connection)
            return ahead, []
        return ahead, checks.same_as(connection, REPLAY_DATABASE, COMPARED)

    @staticmethod
    def _count(connection: Connection, database: str, other: str) -> int:
        sql = f"""SELECT COUNT(*) FROM {database}.ledger a LEFT JOIN {other}.ledger b
                  USING (writer, seq) WHERE a.{_OWN} AND b.seq IS NULL"""
        return int(connection.value(sql) or 0)

    @staticmethod
    def _reset(connection: Connection) -> None:
        for table, condition in COMPARED.items():
            columns = COLUMNS[table]
            connection.query(f"TRUNCATE {REPLAY_DATABASE}.{table}")
            connection.query(
                f"INSERT INTO {REPLAY_DATABASE}.{table} ({columns})"
                f" SELECT {columns} FROM {DATABASE}.{table} WHERE {condition}"
            )

    @staticmethod
    def _files(connection: Connection) -> list[str]:
        return [row[0] or "" for row in connection.query("SHOW BINARY LOGS")]
