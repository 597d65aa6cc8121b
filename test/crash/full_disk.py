# SPDX-License-Identifier: GPL-2.0-only
"""A disk that runs full under a running server, several times over: the engine's files lie on a small
file system in memory, the server's own files and the binary log elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .client import Connection, SqlError
from .server import Server, StartFailed

DISK_MIB = 560
# Memtables are an eighth of it: what is dropped shall lie in files of its own, not among the newest.
MEMORY_MIB = 32
ROW_BYTES = 8000
# Nothing that could be compressed. The function gives up to 1024 bytes.
DATA_SQL = f"CONCAT({', '.join(['RANDOM_BYTES(1000)'] * (ROW_BYTES // 1000))})"
# Rows of a statement for each session: small ones, and some that are a good part of the room left.
SESSIONS = (16, 16, 64, 4000)
WAIT_SECONDS_MAX = 90
REFUSAL = re.compile(r"free space")
SKIPPED_EXIT_CODE = 77


class Skipped(Exception):
    """Why the test cannot be made here."""


@contextmanager
def small_disk(at: Path, mib: int) -> Iterator[None]:
    """A file system of that size; Skipped where none may be mounted."""
    if os.geteuid() != 0:
        raise Skipped("needs root, to mount a small file system")
    at.mkdir(parents=True)
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(at)],
                          capture_output=True, text=True)
    if done.returncode:
        raise Skipped(f"cannot mount a small file system: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(at)], check=True)


@dataclass
class Session:
    """Fills a table of its own, and knows what was acknowledged. One thread at a time."""

    number: int
    rows: int
    batches: set[int] = field(default_factory=set)
    next_batch: int = 0
    refusal: str = ""

    @property
    def table(self) -> str:
        return f"full.t{self.number}"

    def create(self, connection: Connection) -> None:
        connection.query(f"CREATE TABLE {self.table} (batch INT, n INT, data BLOB, PRIMARY KEY (batch, n), KEY (n))"
                         " ENGINE=CAIRN")
        self.batches.clear()

    def insert(self, connection: Connection) -> bool:
        """One statement; False when it was refused for want of space, other errors are raised."""
        batch, self.next_batch = self.next_batch, self.next_batch + 1
        try:
            connection.query(f"INSERT INTO {self.table} SELECT {batch}, seq, {DATA_SQL} FROM full.seq_1_to_{self.rows}")
        except SqlError as error:
            if error.lost_connection or not REFUSAL.search(str(error)):
                raise
            self.refusal = str(error)
            return False
        self.batches.add(batch)
        return True

    def check(self, connection: Connection) -> list[str]:
        """Each acknowledged batch is there whole, by the primary key and by the other; refused ones are not."""
        wanted = {str(batch): str(self.rows) for batch in self.batches}
        problems = []
        for index in ("PRIMARY", "n"):
            rows = connection.query(
                f"SELECT batch, COUNT(*) FROM {self.table} FORCE INDEX ({index}) WHERE n > 0 GROUP BY batch")
            if (found := {str(batch): str(count) for batch, count in rows}) != wanted:
                problems.append(f"{self.table} by {index}: not what was acknowledged:"
                                f" {sorted(found.items() ^ wanted.items())[:10]}")
        lengths = connection.value(f"SELECT COALESCE(SUM(LENGTH(data)), 0) FROM {self.table}")
        if int(lengths or 0) != len(wanted) * self.rows * ROW_BYTES:
            problems.append(f"{self.table}: {lengths} bytes of data")
        return problems


class FullDisk:
    """One run: fill, read, make room by each means, fill, kill, start."""

    def __init__(self, server: Server, disk: Path, say: Callable[[str], None]) -> None:
        self.server = server
        self.disk = disk
        self.say = say
        self.sessions = [Session(number, rows) for number, rows in enumerate(SESSIONS)]
        self.problems: list[str] = []

    def run(self) -> list[str]:
        options = (f"--cairn-data-dir={self.disk}/files", f"--cairn-memory={MEMORY_MIB << 20}")
        before = self.server.log_size()
        self.server.start(*options)
        with self.server.connect() as connection:
            connection.query("CREATE DATABASE full")
            for session in self.sessions:
                session.create(connection)
        for name, make_room in (("TRUNCATE", self._truncate), ("DROP", self._drop)):
            self._fill(name)
            with self.server.connect() as connection:
                self._check_refused(connection)
                self._delete(connection)
                make_room(connection)
            self._await_recovery(name)
        self._fill("kill -9")
        self.server.kill()
        self.say("killed on the full disk")
        self.server.start(*options)
        with self.server.connect() as connection:
            for session in self.sessions:
                self.problems += session.check(connection)
            self._truncate(connection)
        self._await_recovery("restart")
        self.server.stop()
        text = self.server.log_since(before, 1 << 20)
        if found := re.search(r"got signal|assertion .*failed|Sanitizer|runtime error:", text, re.I):
            self.problems.append(f"the server's log has '{found.group()}'")
        return self.problems

    def _fill(self, why: str) -> None:
        """All sessions insert until each is refused."""

        def work(session: Session) -> None:
            try:
                with self.server.connect() as connection:
                    while session.insert(connection):
                        pass
            except SqlError as error:
                self.problems.append(f"while filling before {why}: {error}")

        threads = [threading.Thread(target=work, args=(session,)) for session in self.sessions]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        usage = os.statvfs(self.disk)
        self.say(f"full before {why}: {usage.f_bavail * usage.f_frsize >> 20} MB free;"
                 f" {[len(session.batches) for session in self.sessions]} batches acknowledged")
        if not self.server.alive:
            raise StartFailed(f"the server went away on a full disk:\n{self.server.log_tail()}")

    def _check_refused(self, connection: Connection) -> None:
        """Refusals name the disk; reads go on."""
        try:
            # Room may have come back since, by a compaction: then it is made.
            connection.query("CREATE OR REPLACE TABLE full.definition (a INT) ENGINE=CAIRN")
        except SqlError as error:
            if not REFUSAL.search(str(error)):
                self.problems.append(f"a definition is refused without its reason: {error}")
        for session in self.sessions:
            if str(self.disk) not in session.refusal:
                self.problems.append(f"the refusal does not name the disk: {session.refusal}")
            self.problems += session.check(connection)

    def _truncate(self, connection: Connection) -> None:
        session = self._largest()
        connection.query(f"TRUNCATE TABLE {session.table}")
        session.batches.clear()

    def _drop(self, connection: Connection) -> None:
        session = self._largest()
        connection.query(f"ALTER TABLE {session.table} DROP KEY n")
        connection.query(f"DROP TABLE {session.table}")
        # A definition is little, but it is a write: it waits for the room.
        self._await_room(lambda: session.create(connection))

    def _delete(self, connection: Connection) -> None:
        """Removing rows is refused only while a compaction has taken the rest of the reserve. The room it makes
        comes later: compactions need some themselves."""
        session = min(self.sessions, key=lambda session: len(session.batches) * session.rows)
        self._await_room(lambda: connection.query(f"DELETE FROM {session.table}"))
        session.batches.clear()
        self.problems += session.check(connection)

    @staticmethod
    def _await_room(write: Callable[[], object]) -> None:
        """Tries until it is not refused for want of space; the last refusal is raised."""
        deadline = time.monotonic() + WAIT_SECONDS_MAX
        while True:
            try:
                write()
                return
            except SqlError as error:
                if not REFUSAL.search(str(error)) or time.monotonic() > deadline:
                    raise
                time.sleep(0.2)

    def _largest(self) -> Session:
        return max(self.sessions, key=lambda session: len(session.batches) * session.rows)

    def _await_recovery(self, why: str) -> None:
        """Without a restart each session is served again."""
        begun = time.monotonic()
        session = self.sessions[0]
        with self.server.connect() as connection:
            while not session.insert(connection):
                if time.monotonic() > begun + WAIT_SECONDS_MAX:
                    self.problems.append(f"after {why} writes are still refused: {session.refusal}")
                    return
                time.sleep(0.2)
        self.say(f"writes are accepted {time.monotonic() - begun:.1f} s after {why}")


def run(server: Server, say: Callable[[str], None]) -> list[str]:
    """Gives the problems; Skipped where it cannot be made."""
    server.base.mkdir(parents=True)
    disk = server.base / "disk"
    with small_disk(disk, DISK_MIB):
        try:
            server.initialise()
            return FullDisk(server, disk, say).run()
        except (StartFailed, SqlError) as error:
            return [str(error)]
        finally:
            server.kill()
            # What is left of the disk when a failed run is looked at.
            for log in (disk / "files").glob("LOG*"):
                shutil.copy(log, server.base)
