# SPDX-License-Identifier: GPL-2.0-only
"""Rounds of: write from many connections, kill -9, start again, check everything."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from . import checks, family, load_writer
from .binlog import Replay
from .client import Connection, SqlError
from .ddl_writer import DdlWriter, IndexWriter, State, check
from .family import FamilyWriter
from .load_writer import LoadWriter
from .schema import DATABASE, DDL_DATABASE, REPLAY_DATABASE, create_statements
from .server import Server
from .writers import Acknowledged, Writer, new_models

ROUND_SECONDS_MAX = 90
# Commits until the kill: few at times, so that starting up is hit too.
COMMITS_MIN, COMMITS_MAX = 1, 1200


@dataclass(frozen=True)
class Options:
    rounds: int
    flush_setting: int
    seed: int
    writers: int = 6
    xa_writers: int = 1
    ddl: bool = True
    family_writers: int = 3  # the last of them by XA
    promise: int | None = None  # check as if this were the flush setting
    load_writers: int = load_writer.LOAD_WRITERS
    tamper: str = ""  # a statement run before the checks, to prove that they find it

    @property
    def may_lose(self) -> bool:
        return (self.flush_setting if self.promise is None else self.promise) == 0


@dataclass
class Summary:
    rounds: int = 0
    commits: int = 0
    lost_commits: int = 0
    log_ahead: int = 0
    recovery_seconds_max: float = 0.0
    problems: list[str] = field(default_factory=list)


class Crashes:
    """A server's life over many crashes, at one flush setting."""

    def __init__(self, server: Server, options: Options, say: Callable[[str], None]) -> None:
        self._server = server
        self._options = options
        self._say = say
        self._rng = random.Random(options.seed)
        self._models = new_models(options.seed, options.writers, options.xa_writers)
        self._ddl_state: State = {}
        self._load_states = [load_writer.State() for _ in range(options.load_writers)]
        self._replay = Replay(server)
        self._summary = Summary()

    def run(self) -> Summary:
        self._server.initialise()
        self._start()
        self._prepare()
        for number in range(1, self._options.rounds + 1):
            self._round(number)
            if self._summary.problems:
                break
        if self._server.alive:
            self._server.stop()
        return self._summary

    def _prepare(self) -> None:
        with self._server.connect() as connection:
            statements = create_statements(self._server.engine.name, DATABASE)
            statements += create_statements("InnoDB", REPLAY_DATABASE)
            statements.append(f"CREATE DATABASE {DDL_DATABASE}")
            statements += family.create_statements(self._server.engine.name)
            statements += load_writer.create_statements(self._server.engine.name)
            for sql in statements:
                connection.query(sql)
            self._replay.begin(connection)

    def _start(self) -> float:
        began = time.monotonic()
        self._server.start(*self._server.engine.flush_arguments(self._options.flush_setting))
        return time.monotonic() - began

    def _round(self, number: int) -> None:
        acknowledged = Acknowledged()
        writers = [Writer(self._server, model, acknowledged) for model in self._models]
        ddl = DdlWriter(self._server, f"{self._options.seed}-{number}", self._ddl_state, acknowledged)
        index = IndexWriter(self._server, f"{self._options.seed}-{number}", acknowledged)
        last_family = self._options.family_writers
        families = [
            FamilyWriter(self._server, n, f"{self._options.seed}-{number}", acknowledged, xa=n == last_family)
            for n in range(1, last_family + 1)
        ]
        loaders = [
            LoadWriter(self._server, n, f"{self._options.seed}-{number}", state, acknowledged)
            for n, state in enumerate(self._load_states, start=1)
        ]
        threads = [*writers, *families, *loaders]
        if self._options.ddl:
            threads += [ddl, index]
        for thread in threads:
            thread.start()
        wanted = self._rng.randint(COMMITS_MIN, COMMITS_MAX)
        commits = acknowledged.wait(wanted, len(threads), ROUND_SECONDS_MAX)
        if not self._server.alive:
            self._summary.problems.append(f"the server died under load:\n{self._server.log_tail()}")
        self._server.kill()
        for thread in threads:
            thread.join()
        self._summary.problems += [thread.failure for thread in threads if thread.failure]
        seconds = self._start()
        try:
            lost, ahead = self._check(writers, ddl, {each.xid for each in families}, loaders)
        except SqlError as error:
            self._summary.problems.append(f"the checks ended in {error}\n{self._server.log_tail()}")
            lost, ahead = 0, 0
        summary = self._summary
        summary.rounds, summary.commits = number, summary.commits + commits
        summary.lost_commits += lost
        summary.log_ahead += ahead
        summary.recovery_seconds_max = max(summary.recovery_seconds_max, seconds)
        self._say(
            f"round {number}: killed after {commits} commits, {sum(each.loads for each in loaders)} loads,"
            f" up in {seconds:.1f} s, {lost} lost, log ahead {ahead}"
            + (f", {index.altered} indexes altered, in {ddl.history[-1]}" if ddl.history else "")
        )
        for problem in summary.problems:
            self._say(f"  PROBLEM: {problem}")

    def _check(
        self, writers: list[Writer], ddl: DdlWriter, family_xids: set[str], loaders: list[LoadWriter]
    ) -> tuple[int, int]:
        problems = self._summary.problems
        with self._server.connect(DATABASE) as connection:
            connection.query("SET sql_log_bin = 0")
            connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
            if self._options.tamper:
                connection.query(self._options.tamper)
            problems += checks.resolve_prepared(connection, writers, family_xids)
            problems += family.check(connection)
            for number, loader in enumerate(loaders):
                self._load_states[number], found = load_writer.check(connection, loader, self._options.may_lose)
                problems += found
            lost, self._models = 0, []
            for writer in writers:
                recovered, found = checks.writer_rows(connection, writer, self._options.may_lose)
                problems += found
                lost += recovered.lost_commits
                self._models.append(recovered.model)
            problems += checks.counter_hits(connection, sum(m.hits for m in self._models))
            problems += checks.tables(connection)
            if self._options.ddl:
                self._ddl_state, found = check(connection, ddl, self._options.may_lose)
                problems += found
            ahead, found = self._compare_log(connection)
            problems += found
        return lost, ahead

    def _compare_log(self, connection: Connection) -> tuple[int, list[str]]:
        problems = self._replay.follow(connection)
        ahead, found = self._replay.compare(connection, self._options.may_lose)
        return ahead, problems + found
