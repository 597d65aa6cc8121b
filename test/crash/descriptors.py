# SPDX-License-Identifier: GPL-2.0-only
"""A server whose process can open no more files: writes are refused in time, and it goes on (docs/errors.md)."""

from __future__ import annotations

import resource
import time
from pathlib import Path

from .client import Connection, SqlError
from .server import Server

_ER_GET_ERRMSG = 1296
_ROW_BYTES = 1 << 20
# Many times what a memtable takes, so that the log's next file is needed more than once.
_ROWS_MAX = 600
_REOPENING_SECONDS_MAX = 60
_POLL_SECONDS = 0.1


def taken_by_others(server: Server) -> list[str]:
    """Gives problems. Needs the database sound; ends with the server stopped."""
    # The binary log keeps what it has of a transaction in a file, where that is more than its cache.
    server.start("--cairn-memory=32M", f"--binlog-cache-size={4 * _ROW_BYTES}")
    pid = server.process.pid
    with server.connect() as connection:
        connection.query("CREATE TABLE sound.blobs (id INT AUTO_INCREMENT PRIMARY KEY, b LONGBLOB) ENGINE=CAIRN")
        connection.query("INSERT INTO sound.blobs (b) VALUES ('first')")
        limits = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        descriptors = (int(entry.name) for entry in Path(f"/proc/{pid}/fd").iterdir())
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (max(descriptors) + 1, limits[1]))
        problems, inserted = _insert_until_refused(connection)
        if problems:
            return problems
        if connection.value("SELECT COUNT(*) FROM sound.blobs") != str(inserted + 1):
            return ["rows are missing while writes are refused"]
        resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)
        if not _inserts_again(connection):
            return [f"writes are still refused {_REOPENING_SECONDS_MAX} s later"]
        server.kill()
    server.start()
    with server.connect() as connection:
        count = connection.value("SELECT COUNT(*) FROM sound.blobs")
        checked = connection.query("CHECK TABLE sound.blobs")
    server.stop()
    if count != str(inserted + 2) or checked[-1][3] != "OK":
        return [f"{count} rows instead of {inserted + 2} after the next start, {checked}"]
    return []


def _insert_until_refused(connection: Connection) -> tuple[list[str], int]:
    for inserted in range(_ROWS_MAX):
        try:
            connection.query(f"INSERT INTO sound.blobs (b) VALUES (REPEAT('x', {_ROW_BYTES}))")
        except SqlError as error:
            told = error.code == _ER_GET_ERRMSG and "open_files_limit" in str(error)
            return ([] if told else [f"after {inserted} rows: {error}"]), inserted
    return [f"{_ROWS_MAX} rows were written with no descriptor free"], _ROWS_MAX


def _inserts_again(connection: Connection) -> bool:
    deadline = time.monotonic() + _REOPENING_SECONDS_MAX
    while time.monotonic() < deadline:
        try:
            connection.query("INSERT INTO sound.blobs (b) VALUES ('last')")
            return True
        except SqlError as error:
            if error.code != _ER_GET_ERRMSG:
                raise
        time.sleep(_POLL_SECONDS)
    return False
