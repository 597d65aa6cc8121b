# SPDX-License-Identifier: GPL-2.0-only
"""Faults of files and directories: each must end in its own clear error, and nothing may be lost.

Every fault starts from a copy of one sound data directory with ROWS rows, does its harm, looks at
what the server does, mends the harm and wants every row back.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from . import descriptors, promises, two_engines
from .client import Connection, SqlError
from .server import Server, StartFailed

ROWS = 20_000
SUM_SQL = "SELECT COUNT(*), SUM(id), SUM(CRC32(CONCAT_WS(',', id, a, b))) FROM {table}"
TABLES = ("sound.first", "sound.second")
MakeServer = Callable[[str], Server]
Say = Callable[[str], None]


@dataclass
class Scene:
    """A server on its own copy of the sound data, not running."""

    server: Server
    sums: dict[str, tuple]

    def start_refused(self, *patterns: str) -> list[str]:
        """The server must not start, must end by itself, and must say why."""
        before = self.server.log_size()
        try:
            self.server.start()
        except StartFailed:
            return self.says(before, *patterns) + self.no_crash(before)
        self.server.kill()
        return ["the server started all the same"]

    def says(self, before: int, *patterns: str) -> list[str]:
        text = self.server.log_since(before, 200_000)
        return [f"the log says nothing of /{p}/:\n{text[-1500:]}" for p in patterns if not re.search(p, text, re.I)]

    def no_crash(self, before: int) -> list[str]:
        text = self.server.log_since(before, 200_000)
        if re.search(r"got signal|assertion .*failed|AddressSanitizer|runtime error:", text, re.I):
            return [f"the server crashed:\n{text[-3000:]}"]
        return []

    def intact(self) -> list[str]:
        """Starts, wants every row, stops."""
        try:
            self.server.start()
            with self.server.connect() as connection:
                sums = table_sums(connection)
            self.server.stop()
        except (StartFailed, SqlError) as error:
            return [f"after mending: {error}"]
        return [] if sums == self.sums else [f"after mending: {sums} instead of {self.sums}"]


def table_sums(connection: Connection) -> dict[str, tuple]:
    return {table: connection.query(SUM_SQL.format(table=table))[0] for table in TABLES}


def make_sound(server: Server) -> dict[str, tuple]:
    """Data that is partly in sorted files (by the restarts) and partly in the log (by the kill)."""
    server.base.mkdir(parents=True)
    server.initialise()
    server.start()
    with server.connect() as connection:
        connection.query("CREATE DATABASE sound")
        for table in TABLES:
            connection.query(
                f"CREATE TABLE {table} (id INT PRIMARY KEY, a INT, b VARCHAR(200), KEY (a)) ENGINE={server.engine.name}"
            )
            fill = "INSERT INTO {} SELECT seq, seq % 97, REPEAT(MD5(seq), 6) FROM sound.seq_{}_to_{}"
            connection.query(fill.format(table, 1, ROWS // 2))
        server.stop()
    server.start()
    with server.connect() as connection:
        for table in TABLES:
            connection.query(fill.format(table, ROWS // 2 + 1, ROWS))
        sums = table_sums(connection)
    server.kill()
    return sums


def second_server(scene: Scene) -> list[str]:
    first = scene.server
    first.start()
    second = Server(first.prefix, first.base / "second", first.engine, first.plugin_dir, first.arguments)
    second.base.mkdir()
    second.data.symlink_to(first.data)
    problems = []
    try:
        second.start()
        problems.append("two servers on one directory")
    except StartFailed as error:
        if not re.search(r"lock|in use|another", str(error), re.I):
            problems.append(f"the second server does not say why it ends: {error}")
    finally:
        second.kill()
    with first.connect() as connection:
        if table_sums(connection) != scene.sums:
            problems.append("the first server lost rows")
    first.stop()
    return problems


def directory_missing(scene: Scene) -> list[str]:
    files = scene.server.engine_files
    away = files.with_name("away")
    files.rename(away)
    problems = scene.start_refused(r"cairn")
    if files.exists():
        shutil.rmtree(files)
    away.rename(files)
    return problems + scene.intact()


def directory_is_a_file(scene: Scene) -> list[str]:
    """What cannot be written to, also for root."""
    files = scene.server.engine_files
    away = files.with_name("away")
    files.rename(away)
    files.write_text("not a directory\n")
    problems = scene.start_refused(r"cairn.*(not a directory|cannot|could not|failed)")
    files.unlink()
    away.rename(files)
    return problems + scene.intact()


def current_missing(scene: Scene) -> list[str]:
    """The file by which RocksDB finds a store, and with it the one that says that there is a store.

    The second start would find an empty one.
    """
    current = scene.server.engine_files / "CURRENT"
    witness = scene.server.data / "cairn_store"
    texts = {path: path.read_text() for path in (current, witness)}
    for path in texts:
        path.unlink()
    problems = []
    for _ in range(2):
        problems += scene.start_refused(r"CURRENT is missing, but .* of a store is here")
    for path, text in texts.items():
        path.write_text(text)
    return problems + scene.intact()


def newer_format(scene: Scene) -> list[str]:
    """Raises the number in the directory's own format file."""
    path = scene.server.engine_files / "CAIRN_FORMAT"
    if not path.exists():
        return [f"no {path.name} in the engine's directory"]
    text = path.read_text()
    path.write_text(re.sub(r"\d+", "999", text, count=1))
    problems = scene.start_refused(r"newer|version 999|format 999")
    path.write_text(text)
    return problems + scene.intact()


def _sorted_files(scene: Scene) -> list[Path]:
    return sorted(scene.server.engine_files.rglob("*.sst"), key=lambda p: p.stat().st_size)


def _logs(scene: Scene) -> list[Path]:
    logs = [p for p in scene.server.engine_files.rglob("*.log") if p.stat().st_size > 1000]
    return sorted(logs, key=lambda p: p.name)


def _flip(path: Path) -> None:
    """Changes a bit in each kilobyte of the middle half."""
    raw = bytearray(path.read_bytes())
    for position in range(len(raw) // 4, len(raw) * 3 // 4, 1024):
        raw[position] ^= 0x10
    path.write_bytes(raw)


def _cut(path: Path) -> None:
    raw = path.read_bytes()
    path.write_bytes(raw[: len(raw) // 2])


def _damaged(scene: Scene, path: Path, harm: Callable[[Path], None], may_lose_tail: bool) -> list[str]:
    """After the harm the server refuses to start, or answers reads with an error, or (a damaged end
    of the log) goes on with what came before; it says so, and never crashes or gives wrong rows."""
    whole = path.read_bytes()
    directory = scene.server.data.with_name("before")
    shutil.copytree(scene.server.data, directory, symlinks=True)
    harm(path)
    before = scene.server.log_size()
    problems, errors = [], 0
    try:
        scene.server.start()
        with scene.server.connect() as connection:
            for table in TABLES:
                try:
                    row = connection.query(SUM_SQL.format(table=table))[0]
                    if row != scene.sums[table] and not may_lose_tail:
                        problems.append(f"{table}: wrong rows without an error: {row}")
                    errors += row != scene.sums[table]
                except SqlError as error:
                    errors += 1
                    if error.lost_connection:
                        problems.append(f"{table}: the server went away: {error}")
        if not scene.server.alive:
            problems.append("the server died")
    except StartFailed:
        errors += 1
    scene.server.kill()
    problems += scene.no_crash(before)
    # A log that ends early is what a crash leaves; anything else that costs rows must be told.
    if errors and not (may_lose_tail and harm is _cut):
        problems += scene.says(before, r"corrupt|checksum|truncated|damaged")
    if not errors and harm is _flip and not may_lose_tail:
        problems.append(f"the damage in {path.name} was not noticed")
    shutil.rmtree(scene.server.data)
    directory.rename(scene.server.data)
    assert (scene.server.engine_files / path.relative_to(scene.server.engine_files)).read_bytes() == whole
    return problems + scene.intact()


def sorted_file_flipped(scene: Scene) -> list[str]:
    files = _sorted_files(scene)
    return _damaged(scene, files[-1], _flip, False) if files else ["no sorted file to damage"]


def sorted_file_cut(scene: Scene) -> list[str]:
    files = _sorted_files(scene)
    return _damaged(scene, files[-1], _cut, False) if files else ["no sorted file to damage"]


def sorted_file_gone(scene: Scene) -> list[str]:
    files = _sorted_files(scene)
    return _damaged(scene, files[-1], Path.unlink, False) if files else ["no sorted file to damage"]


def log_flipped(scene: Scene) -> list[str]:
    logs = _logs(scene)
    return _damaged(scene, logs[-1], _flip, True) if logs else ["no log to damage"]


def log_cut(scene: Scene) -> list[str]:
    logs = _logs(scene)
    return _damaged(scene, logs[-1], _cut, True) if logs else ["no log to damage"]


def flushes_fail_under_commits(scene: Scene) -> list[str]:
    return promises.flushes_fail(scene.server)


def flushes_fail_before_unprepared_commits(scene: Scene) -> list[str]:
    return promises.unprepared_commits_are_refused(scene.server)


def flushes_fail_under_the_last_commit_of_a_binary_log(scene: Scene) -> list[str]:
    return promises.last_commit_of_a_log_fails(scene.server)


def flushes_fail_under_users_commits(scene: Scene) -> list[str]:
    return promises.users_commits_fail(scene.server)


def binary_log_fails_under_users_commits(scene: Scene) -> list[str]:
    return promises.commits_are_not_logged(scene.server)


def killed_after_commits_of_two_engines(scene: Scene) -> list[str]:
    return two_engines.commits_outlive_a_kill(scene.server)


def descriptors_taken_by_others(scene: Scene) -> list[str]:
    return descriptors.taken_by_others(scene.server)


CAIRN_FAULTS = (
    descriptors_taken_by_others,
    killed_after_commits_of_two_engines,
    flushes_fail_under_commits,
    flushes_fail_before_unprepared_commits,
    flushes_fail_under_the_last_commit_of_a_binary_log,
    flushes_fail_under_users_commits,
    binary_log_fails_under_users_commits,
    directory_missing,
    directory_is_a_file,
    current_missing,
    newer_format,
    sorted_file_flipped,
    sorted_file_cut,
    sorted_file_gone,
    log_flipped,
    log_cut,
)


def run(make_server: MakeServer, say: Say) -> list[str]:
    """Every fault on its own copy; gives the problems, each with its fault's name."""
    origin = make_server("sound")
    sums = make_sound(origin)
    faults = [second_server]
    if origin.engine.name == "cairn":
        faults += CAIRN_FAULTS
    all_problems = []
    for fault in faults:
        server = make_server(fault.__name__)
        shutil.copytree(origin.base, server.base)
        try:
            problems = fault(Scene(server, sums))
        except (StartFailed, SqlError, OSError) as error:
            problems = [repr(error)]
        finally:
            server.kill()
        say(f"{'FAILED' if problems else 'ok'}: {fault.__name__}")
        for problem in problems:
            say(f"  {problem}")
        all_problems += [f"{fault.__name__}: {problem}" for problem in problems]
    return all_problems
