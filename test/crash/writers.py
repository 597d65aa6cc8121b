# SPDX-License-Identifier: GPL-2.0-only
"""Threads that write until the server dies, and remember what was acknowledged."""

from __future__ import annotations

import copy
import random
import threading
import traceback

from .client import ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT, Connection, SqlError
from .model import Model, Plan
from .schema import DATABASE
from .server import Server

RETRY = frozenset({ER_LOCK_DEADLOCK, ER_LOCK_WAIT_TIMEOUT})
XA_WRITER_MIN = 1000


class Acknowledged:
    """Counts commits of all writers and wakes the one who waits for a number of them."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._commits = 0
        self._ended = 0

    def count(self) -> None:
        with self._changed:
            self._commits += 1
            self._changed.notify_all()

    def end(self) -> None:
        with self._changed:
            self._ended += 1
            self._changed.notify_all()

    def wait(self, commits: int, writers: int, seconds_max: float) -> int:
        """Until so many commits, or until every writer ended; gives the number of commits."""
        with self._changed:
            self._changed.wait_for(lambda: self._commits >= commits or self._ended >= writers, seconds_max)
            return self._commits


class Writer(threading.Thread):
    """One connection's transactions in a round.

    After the thread ended: `plans` are the transactions since the round began, `acknowledged` is
    the last seq whose commit was answered, `failure` what went wrong other than the server dying.
    """

    def __init__(self, server: Server, model: Model, acknowledged: Acknowledged) -> None:
        super().__init__(name=f"writer-{model.writer}", daemon=True)
        self.base = copy.deepcopy(model)
        self.model = model
        self.plans: list[Plan] = []
        self.acknowledged = model.seq
        self.failure = ""
        self._server = server
        self._commits = acknowledged

    @property
    def xa(self) -> bool:
        return self.model.writer >= XA_WRITER_MIN

    def run(self) -> None:
        try:
            with self._server.connect(DATABASE) as connection:
                if self.xa:
                    connection.query("SET sql_log_bin = 0")
                while True:
                    self._transaction(connection)
        except SqlError as error:
            if not error.lost_connection:
                self.failure = f"writer {self.model.writer}: {error}"
        except Exception:
            self.failure = traceback.format_exc()
        finally:
            self._commits.end()

    def _transaction(self, connection: Connection) -> None:
        plan = self.model.next_plan()
        if plan.commits:
            self.plans.append(plan)
        while not self._attempt(connection, plan):
            pass
        if plan.commits:
            self.model.apply(plan)
            self.acknowledged = plan.seq
            self._commits.count()

    def _attempt(self, connection: Connection, plan: Plan) -> bool:
        """False when the server chose this transaction as a victim: to be tried again."""
        xid = f"'{self.model.writer}-{plan.seq}'"
        try:
            if plan.autocommit and not self.xa:
                self._run(connection, plan)
                return True
            connection.query(f"XA START {xid}" if self.xa else "BEGIN")
            self._run(connection, plan)
            if not self.xa:
                connection.query("COMMIT" if plan.commits else "ROLLBACK")
                return True
            connection.query(f"XA END {xid}")
            if plan.commits:
                connection.query(f"XA PREPARE {xid}")
            connection.query(f"XA {'COMMIT' if plan.commits else 'ROLLBACK'} {xid}")
            return True
        except SqlError as error:
            if error.code not in RETRY:
                raise
            self._give_up(connection, xid)
            return False

    def _give_up(self, connection: Connection, xid: str) -> None:
        if not self.xa:
            connection.query("ROLLBACK")
            return
        for sql in (f"XA END {xid}", f"XA ROLLBACK {xid}"):
            try:
                connection.query(sql)
            except SqlError as error:
                if error.lost_connection:
                    raise

    @staticmethod
    def _run(connection: Connection, plan: Plan) -> None:
        for statement in plan.statements:
            try:
                connection.query(statement.sql)
            except SqlError as error:
                if error.code != statement.error:
                    raise
            else:
                if statement.error:
                    raise SqlError(0, f"no error {statement.error}", statement.sql)


def new_models(seed: int, writers: int, xa_writers: int) -> list[Model]:
    numbers = [*range(1, writers + 1), *range(XA_WRITER_MIN, XA_WRITER_MIN + xa_writers)]
    return [Model(n, random.Random(f"{seed}-{n}"), counters=n < XA_WRITER_MIN) for n in numbers]
