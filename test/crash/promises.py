# SPDX-License-Identifier: GPL-2.0-only
"""Commits that the binary log has and the engine is kept from, as flushes fail in between; or that it does not get."""

from __future__ import annotations

import re
import resource
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from .client import Connection, SqlError
from .server import Server, StartFailed

TABLE = "sound.promised"
WRITERS = 12
ACKNOWLEDGED_MIN = 400
LISTED_SECONDS_MAX = 10
BINARY_LOG_BYTES_MIN = 1_000_000


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


def _count_logged(server: Server, pattern: str) -> int:
    """Lines of the binary logs' text."""
    logs = sorted(path for path in server.data.glob("binlog.*") if path.suffix[1:].isdigit())
    command = [server.tool("mariadb-binlog"), "--no-defaults", "--base64-output=decode-rows", "-v", *map(str, logs)]
    text = subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8", "replace")
    return len(re.findall(pattern, text, re.M))


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
    logged = _count_logged(server, r"^### INSERT INTO `sound`.`promised`")
    server.stop()
    problems = []
    if lost := set(writers.acknowledged) - found:
        problems.append(f"{len(lost)} acknowledged rows are gone")
    if logged != len(found):
        problems.append(f"the binary log has {logged} rows, the table {len(found)}")
    return problems


@contextmanager
def _without_new_files(server: Server) -> Iterator[None]:
    """Folders lie where the engine's next files of rows are to come, as nothing else keeps root from writing."""
    names = [path.name for path in server.engine_files.iterdir()]
    last = max(int(found[1]) for name in names if (found := re.search(r"(?:^|-)(\d{6})(?:\.|$)", name)))
    folders = [server.engine_files / f"{number:06}.sst" for number in range(last + 1, last + 101)]
    for folder in folders:
        folder.mkdir()
    try:
        yield
    finally:
        for folder in folders:
            folder.rmdir()


def _prepare(connection: Connection, name: str, value: int) -> None:
    connection.query(f"XA START '{name}'")
    connection.query(f"INSERT INTO {TABLE} VALUES ({value})")
    connection.query("SAVEPOINT inserted")
    connection.query(f"XA END '{name}'")
    connection.query(f"XA PREPARE '{name}'")


def _await_alone(connection: Connection) -> None:
    while connection.value("SELECT COUNT(*) FROM information_schema.processlist") != "1":
        time.sleep(0.01)


def _close_store(connection: Connection) -> None:
    """By a flush that fails, without new files. Nothing comes into the binary log."""
    connection.query("SET sql_log_bin = 0")
    with suppress(SqlError):  # a flush of the engine's own may have failed before
        connection.query("UPDATE sound.first SET a = a + 1 WHERE id = 1")
        connection.query("OPTIMIZE TABLE sound.first")
    connection.query("SET sql_log_bin = 1")


def _refused_commit(other: Connection, committer: Connection, name: str) -> list[str]:
    _close_store(other)
    try:
        committer.query(f"XA COMMIT '{name}'")
    except SqlError as error:
        return [] if error.lost_connection else [f"the server goes on with a log that is ahead: {error}"]
    return ["answered as committed"]


def _user_commit_fails(server: Server, name: str, value: int, by_name: bool) -> list[str]:
    server.start()
    with server.connect() as other:
        owner = server.connect()
        _prepare(owner, name, value)
        committer = other if by_name else owner
        if by_name:
            owner.close()
            _await_alone(other)
        with _without_new_files(server):
            problems = _refused_commit(other, committer, name)
    server.kill()
    server.start()
    with server.connect() as connection:
        if (listed := [row[3] for row in connection.query("XA RECOVER")]) == [name]:
            connection.query("SET sql_log_bin = 0")
            connection.query(f"XA COMMIT '{name}'")
        else:
            problems.append(f"listed after the start: {listed}")
        if connection.value(f"SELECT COUNT(*) FROM {TABLE} WHERE id = {value}") != "1":
            problems.append("not committed by name")
    server.stop()
    return problems


def users_commits_fail(server: Server) -> list[str]:
    """XA COMMIT is in the binary log when the engine refuses it, since a flush has failed: the server stops instead of
    an answer, and the transaction is found prepared again, to be committed without a second event."""
    server.start()
    with server.connect() as connection:
        connection.query(f"CREATE TABLE {TABLE} (id INT PRIMARY KEY) ENGINE={server.engine.name}")
    server.stop()
    problems = []
    ways = {"named": True, "own": False}
    for value, (name, by_name) in enumerate(ways.items()):
        problems += [f"{name}: {problem}" for problem in _user_commit_fails(server, name, value, by_name)]
    if (logged := _count_logged(server, r"^XA COMMIT ")) != len(ways):
        problems.append(f"the binary log has {logged} commits of {len(ways)}")
    return problems


# The server does not have the engine prepare: another engine that takes part cannot, and be it only read, or nothing
# but temporary tables was changed here.
UNPREPARED = (
    (f"INSERT INTO {TABLE} SELECT * FROM sound.plain",),
    ("BEGIN", "SELECT * FROM sound.plain", f"INSERT INTO {TABLE} VALUES (2)", "COMMIT"),
    ("BEGIN", "INSERT INTO sound.elsewhere VALUES (3)", "INSERT INTO sound.own VALUES (3)", "COMMIT"),
)


def unprepared_commits_are_refused(server: Server) -> list[str]:
    """A store that is closed refuses them before the binary log or another engine has any of them."""
    engine = server.engine.name
    server.start()
    problems = []
    with server.connect() as connection:
        connection.query(f"CREATE TABLE {TABLE} (id INT PRIMARY KEY) ENGINE={engine}")
        connection.query("CREATE TABLE sound.elsewhere (id INT PRIMARY KEY) ENGINE=InnoDB")
        connection.query("CREATE TABLE sound.plain (id INT PRIMARY KEY) ENGINE=Aria")
        connection.query("INSERT INTO sound.plain VALUES (1)")
        connection.query(f"CREATE TEMPORARY TABLE sound.own (id INT PRIMARY KEY) ENGINE={engine}")
        connection.query(f"INSERT INTO {TABLE} VALUES (0)")  # else the first one would be refused as a load
        with _without_new_files(server):
            _close_store(connection)
            for *before, last in UNPREPARED:
                for sql in before:
                    connection.query(sql)
                if not _is_refused(connection, last):
                    problems.append(f"answered as done: {last}")
        for table, rows in ((TABLE, "1"), ("sound.elsewhere", "0")):
            if (found := connection.value(f"SELECT COUNT(*) FROM {table}")) != rows:
                problems.append(f"{table} has {found} rows")
    server.kill()
    if (logged := _count_logged(server, r"^### INSERT INTO `sound`.`(promised|elsewhere)`")) != 1:
        problems.append(f"the binary log has {logged} rows")
    return problems


def _prepare_count(connection: Connection) -> int:
    return int(connection.query("SHOW GLOBAL STATUS LIKE 'Handler_prepare'")[0][1])


def last_commit_of_a_log_fails(server: Server) -> list[str]:
    """The binary log goes on to its next file after a commit that the engine is kept from. The next start must still
    look for it in the file before."""
    # InnoDB would have the log wait for its own.
    options = ("--skip-innodb", f"--default-storage-engine={server.engine.name}", "--max-binlog-size=4096")
    server.start(*options)
    rows = 2000
    values = ",".join(f"({value})" for value in range(1, rows))
    problems = []
    with server.connect() as other, server.connect() as writer:
        other.query(f"CREATE TABLE {TABLE} (id INT PRIMARY KEY) ENGINE={server.engine.name}")
        other.query(f"INSERT INTO {TABLE} VALUES (0)")
        other.query("CREATE TABLE sound.plain (id INT PRIMARY KEY) ENGINE=Aria")
        # Who is prepared waits for a second one to come.
        other.query("SET GLOBAL binlog_commit_wait_usec = 600000000, GLOBAL binlog_commit_wait_count = 2")
        before = _prepare_count(other)

        def write() -> None:
            with suppress(SqlError):
                writer.query(f"INSERT INTO {TABLE} VALUES {values}")
                problems.append("answered as committed")

        thread = threading.Thread(target=write)
        thread.start()
        while _prepare_count(other) < before + 2:  # the binary log counts as an engine
            time.sleep(0.01)
        with _without_new_files(server):
            _close_store(other)
            with suppress(SqlError):
                other.query("INSERT INTO sound.plain VALUES (1)")
            thread.join()
    server.kill()
    server.start(*options)
    with server.connect() as connection:
        found = connection.value(f"SELECT COUNT(*) FROM {TABLE}")
    server.stop()
    logged = _count_logged(server, r"^### INSERT INTO `sound`.`promised`")
    if not found == str(logged) == str(rows):
        problems.append(f"the binary log has {logged} rows, the table {found}")
    return problems


@contextmanager
def _full_binary_log(server: Server, connection: Connection) -> Iterator[None]:
    """The server can append to no file that is as long as its binary log or longer."""
    length = int(connection.query("SHOW MASTER STATUS")[0][1])
    process = server.process.pid
    before = resource.prlimit(process, resource.RLIMIT_FSIZE)
    resource.prlimit(process, resource.RLIMIT_FSIZE, (length, before[1]))
    try:
        yield
    finally:
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)


_PREPARED_EMPTY = ("XA START 'unlogged'", "XA END 'unlogged'", "XA PREPARE 'unlogged'")
_LET_GO_EMPTY = (*(f"third: {sql}" for sql in _PREPARED_EMPTY), "third: close")
_BEGUN_AGAIN = ("XA START 'unlogged'", f"INSERT INTO {TABLE} VALUES (-2)")
_USED_AGAIN = (*_BEGUN_AGAIN, "XA END 'unlogged'")
# What comes after an XA COMMIT that is not logged, by its connection or, where it says so, by another one. If it does
# not close the connection, this is the one that names the transaction in the end. What was prepared empty the server
# rolls back by itself when its connection is closed, and who names it hears of that.
AFTER_UNLOGGED = (
    (),
    ("close",),
    (f"SELECT * FROM {TABLE}",),
    (f"SELECT * FROM {TABLE}", "close"),
    (f"INSERT INTO {TABLE} VALUES (-1)", "close"),
    ("COMMIT",),
    ("COMMIT", "close"),
    ("ROLLBACK", "close"),
    (*_USED_AGAIN, "XA ROLLBACK 'unlogged'", "close"),
    (*_USED_AGAIN, "XA PREPARE 'unlogged'"),
    (*_USED_AGAIN, "XA PREPARE 'unlogged'", "close"),
    (*_PREPARED_EMPTY, "XA ROLLBACK 'unlogged'"),
    ("close", *_LET_GO_EMPTY, "other: XA COMMIT 'unlogged'"),
    ("close", *_LET_GO_EMPTY, "other: XA ROLLBACK 'unlogged'"),
    ("SET lock_wait_timeout = 0", "other: FLUSH TABLES WITH READ LOCK", *_PREPARED_EMPTY, "other: UNLOCK TABLES"),
    (*(f"other: {sql}" for sql in _BEGUN_AGAIN), "close", "other: XA END 'unlogged'", "other: XA ROLLBACK 'unlogged'"),
)


def _is_refused(connection: Connection, sql: str) -> bool:
    try:
        connection.query(sql)
    except SqlError as error:
        if error.lost_connection:
            raise
        return True
    return False


def _await_listed(connection: Connection, names: list[str]) -> list[str]:
    deadline = time.monotonic() + LISTED_SECONDS_MAX
    while (listed := [row[3] for row in connection.query("XA RECOVER")]) != names:
        if time.monotonic() > deadline:
            return [f"listed: {listed}"]
        time.sleep(0.01)
    return []


def _follow(server: Server, sessions: dict[str, Connection], following: tuple[str, ...]) -> None:
    """Some of it is refused. Should the XID be listed already, so is all that gives it again, and is left out: it would
    mean the transaction that was prepared before."""
    is_listed = False
    for step in following:
        name, _, sql = step.rpartition(": ")
        if name not in sessions:
            sessions[name] = server.connect()
        if sql == "close":
            sessions[name].close()
            _await_alone(sessions["other"])
        elif not (is_listed and sql.startswith("XA ")):
            refused = _is_refused(sessions[name], sql)
            is_listed = is_listed or (refused and sql.startswith("XA START"))


def _unlogged_commit(server: Server, other: Connection, value: int, following: tuple[str, ...]) -> list[str]:
    problems = []
    find = f"SELECT COUNT(*) FROM {TABLE} WHERE id = {value}"
    with server.connect() as owner:
        _prepare(owner, "unlogged", value)
        with _full_binary_log(server, other):
            if not _is_refused(owner, "XA COMMIT 'unlogged'"):
                problems.append("answered as committed")
        _follow(server, {"": owner, "other": other}, following)
        if other.value(find) != "0":
            problems.append("committed all the same")
        problems += _await_listed(other, ["unlogged"])
        namer = other if "close" in following else owner
        if _is_refused(namer, "XA COMMIT 'unlogged'"):
            problems.append("cannot be named")
        if not _is_refused(namer, "ROLLBACK TO SAVEPOINT inserted"):
            problems.append("a savepoint outlives its transaction")
        problems += _await_listed(other, [])
    _await_alone(other)
    return problems if other.value(find) == "1" else [*problems, "not committed by name"]


def _unlogged_by_name(server: Server, other: Connection, value: int) -> list[str]:
    """Whoever is refused has changed nothing: the other end is as possible as it was."""
    problems = []
    find = f"SELECT COUNT(*) FROM {TABLE} WHERE id = {value}"
    with server.connect() as owner:
        _prepare(owner, "unlogged", value)
    _await_alone(other)
    for end in ("COMMIT", "ROLLBACK"):
        with _full_binary_log(server, other):
            if not _is_refused(other, f"XA {end} 'unlogged'"):
                problems.append(f"{end} is answered as done")
        if other.value(find) != "0":
            problems.append(f"there after {end}")
        problems += _await_listed(other, ["unlogged"])
    other.query("XA COMMIT 'unlogged'")
    return problems if other.value(find) == "1" else [*problems, "not committed by name"]


def _last_event(connection: Connection) -> str:
    log = connection.query("SHOW MASTER STATUS")[0][0]
    return connection.query(f"SHOW BINLOG EVENTS IN '{log}'")[-1][2]


def _logs(server: Server) -> set[str]:
    return {path.name for path in server.engine_files.glob("*.log")}


def _await_without_logs(server: Server, connection: Connection, logs: set[str]) -> list[str]:
    connection.query(f"OPTIMIZE TABLE {TABLE}")
    deadline = time.monotonic() + LISTED_SECONDS_MAX
    while kept := _logs(server) & logs:
        if time.monotonic() > deadline:
            return [f"logs are kept: {kept}"]
        time.sleep(0.01)
    return []


def _statements_after_unlogged(server: Server, other: Connection, value: int) -> list[str]:
    """The connection's next statements are transactions by themselves: rolled back as long as the binary log is full,
    and ended by an Xid event there afterwards."""
    problems = []
    insert = f"INSERT INTO {TABLE} VALUES (-3)"
    with server.connect() as owner:
        _prepare(owner, "unlogged", value)
        with _full_binary_log(server, other):
            logs = _logs(server)
            for sql in ("XA COMMIT 'unlogged'", insert):
                if not _is_refused(owner, sql):
                    problems.append(f"answered as done: {sql}")
            if _is_refused(other, f"SELECT * FROM {TABLE} WHERE id = -3 FOR UPDATE NOWAIT"):
                problems.append("the row of a refused INSERT is locked")
            if owner.value(f"SELECT COUNT(*) FROM {TABLE} WHERE id = -3") != "0":
                problems.append("the row of a refused INSERT is there")
        owner.query(insert)
        if (last := _last_event(other)) != "Xid":
            problems.append(f"a statement's last event: {last}")
        problems += _await_listed(other, ["unlogged"])
        owner.query("XA COMMIT 'unlogged'")
    _await_alone(other)
    return problems + _await_without_logs(server, other, logs)


def commits_are_not_logged(server: Server) -> list[str]:
    """The binary log does not get an XA COMMIT, so its connection hears of an error before the engine is asked.
    Whatever that connection or another one does next, also under the same XID, the transaction stays prepared, and can
    be named again."""
    # InnoDB would write to longer files of its own.
    server.start("--skip-innodb", f"--default-storage-engine={server.engine.name}")
    problems = []
    with server.connect() as other:
        create = f"CREATE TABLE IF NOT EXISTS {TABLE} (id INT PRIMARY KEY) ENGINE={server.engine.name}"
        other.query(create)
        other.query(f"{create} /* longer than logs of the engine {'.' * BINARY_LOG_BYTES_MIN} */")
        for value, following in enumerate(AFTER_UNLOGGED):
            found = _unlogged_commit(server, other, value, following)
            problems += [f"then {following}: {problem}" for problem in found]
        value = len(AFTER_UNLOGGED)
        problems += [f"statements: {problem}" for problem in _statements_after_unlogged(server, other, value)]
        problems += [f"named: {problem}" for problem in _unlogged_by_name(server, other, value + 1)]
    server.stop()
    return problems
