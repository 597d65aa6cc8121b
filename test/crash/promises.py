# SPDX-License-Identifier: GPL-2.0-only
"""Commits that the binary log has and the engine is kept from: flushes fail in between."""

from __future__ import annotations

import re
import subprocess
import threading
from dataclasses import dataclass, field

from .client import SqlError
from .server import Server, StartFailed

TABLE = "sound.promised"
WRITERS = 12
ACKNOWLEDGED_MIN = 400


@dataclass
class _Writers:
    """Each inserts numbers of its own, one a transaction, until an error."""

    server: Server
    acknowledged: list[int] = field(default_factory=list)
    threads: list[threading.Thread] = field(default_factory=list)
    enough: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        for number in range(WRITERS):
            thread = threading.Thread(target=self._write, args=(number,))
            thread.start()
            self.threads.append(thread)

    def join(self) -> None:
        for thread in self.threads:
            thread.join()

    def _write(self, number: int) -> None:
        try:
            with self.server.connect() as connection:
                value = number
                while True:
                    connection.query(f"INSERT INTO {TABLE} VALUES ({value})")
                    self.acknowledged.append(value)
                    value += WRITERS
                    if len(self.acknowledged) >= ACKNOWLEDGED_MIN:
                        self.enough.set()
        except SqlError:
            self.enough.set()


def _logged(server: Server) -> int:
    """Rows inserted into the table by the binary logs."""
    logs = sorted(path for path in server.data.glob("binlog.*") if path.suffix[1:].isdigit())
    command = [server.tool("mariadb-binlog"), "--no-defaults", "--base64-output=decode-rows", "-v", *map(str, logs)]
    text = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")
    return len(re.findall(r"^### INSERT INTO `sound`.`promised`", text, re.M))


def flushes_fail(server: Server) -> list[str]:
    """The directory of the engine's files goes away while connections commit, and a flush finds it gone. What had come
    into the binary log by then must be in the table after the next start; and there must be one, with nothing left to
    decide by hand."""
    server.start()
    with server.connect() as connection:
        connection.query(f"CREATE TABLE {TABLE} (id INT PRIMARY KEY) ENGINE={server.engine.name}")
        writers = _Writers(server)
        writers.start()
        writers.enough.wait()
        away = server.engine_files.with_name("away")
        server.engine_files.rename(away)
        try:
            connection.query("OPTIMIZE TABLE sound.first")
        except SqlError as error:
            if not error.lost_connection:
                raise
    writers.join()
    away.rename(server.engine_files)
    try:
        server.stop()
    except StartFailed:
        server.kill()  # it has stopped by itself, or does so now
    try:
        server.start()
    except StartFailed as error:
        return [f"a start is needed that decides by itself: {error}"]
    with server.connect() as connection:
        found = {int(row[0]) for row in connection.query(f"SELECT id FROM {TABLE}")}
    logged = _logged(server)
    server.stop()
    problems = []
    if lost := set(writers.acknowledged) - found:
        problems.append(f"{len(lost)} acknowledged rows are gone")
    if logged != len(found):
        problems.append(f"the binary log has {logged} rows, the table {len(found)}")
    return problems
