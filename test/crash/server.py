# SPDX-License-Identifier: GPL-2.0-only
"""A private server that is made to be killed: own data directory, socket and binary log."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from .client import Connection, SqlError

START_SECONDS_MAX = 120
POLL_SECONDS = 0.05


class StartFailed(Exception):
    """The server ended, or did not answer, instead of starting."""


@dataclass(frozen=True)
class Engine:
    """What a server needs to be told so that a test can run on an engine."""

    name: str
    flush_option: str
    arguments: tuple[str, ...]
    directory: str  # under the data directory: where the engine keeps its files

    def flush_arguments(self, setting: int) -> tuple[str, ...]:
        return (f"--{self.flush_option}={setting}",)


INNODB = Engine(
    name="innodb",
    flush_option="innodb-flush-log-at-trx-commit",
    arguments=("--innodb-log-file-size=32M", "--innodb-buffer-pool-size=128M"),
    directory=".",
)
CAIRN = Engine(
    name="cairn",
    flush_option="cairn-flush-log-at-trx-commit",
    arguments=("--plugin-load-add=ha_cairn.so", "--innodb-buffer-pool-size=32M"),
    directory="#cairn",
)
ENGINES = {engine.name: engine for engine in (INNODB, CAIRN)}


@dataclass
class Server:
    """Start, kill and start again. Not for use by several threads.

    `prefix` is laid out as an installation (bin, sbin, share, lib/mysql/plugin); `plugin_dir` is
    where ha_cairn.so lies when that is not the prefix's own plugin folder.
    """

    prefix: Path
    base: Path
    engine: Engine
    plugin_dir: Path | None = None
    arguments: tuple[str, ...] = ()
    process: subprocess.Popen | None = field(default=None, init=False)

    @property
    def data(self) -> Path:
        return self.base / "data"

    @property
    def socket(self) -> str:
        return str(self.base / "sock")

    @property
    def log(self) -> Path:
        return self.base / "server.log"

    @property
    def engine_files(self) -> Path:
        return self.data / self.engine.directory

    def tool(self, name: str) -> str:
        for folder in ("bin", "sbin", "libexec"):
            candidate = self.prefix / folder / name
            if candidate.exists():
                return str(candidate)
        raise FileNotFoundError(f"{name} in {self.prefix}")

    def initialise(self) -> None:
        """A new, empty data directory with the system tables; root has no password."""
        self.data.mkdir(parents=True)
        share = self.prefix / "share"
        share = share / "mysql" if (share / "mysql" / "mysql_system_tables.sql").exists() else share
        script = "create database if not exists mysql;\nuse mysql;\nset @auth_root_socket=NULL;\n"
        for name in ("mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"):
            script += (share / name).read_text()
        command = [self.tool("mariadbd"), *self._fixed_arguments(), "--bootstrap", "--silent-startup"]
        with self.log.open("ab") as log:
            done = subprocess.run(command, input=script.encode(), stdout=log, stderr=log)
        if done.returncode:
            raise StartFailed(f"bootstrap ended with {done.returncode}, see {self.log}")

    def start(self, *extra: str) -> None:
        """Starts and waits until it answers; StartFailed with the end of its log otherwise."""
        command = [
            self.tool("mariadbd"),
            *self._fixed_arguments(),
            f"--socket={self.socket}",
            "--log-bin=binlog",
            "--server-id=1",
            "--binlog-format=ROW",
            "--sync-binlog=1",
            *self.engine.arguments,
            *self.arguments,
            *extra,
        ]
        if self.plugin_dir:
            command.append(f"--plugin-dir={self.plugin_dir}")
        log_start = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("ab") as log:
            # SIGXFSZ stays ignored, as it is here: a file at its limit is an error for the server, not its end.
            self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                            restore_signals=False)
        deadline = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                code = self.process.returncode
                self.process = None
                raise StartFailed(f"ended with {code}:\n{self.log_since(log_start)}")
            try:
                self.connect().close()
                return
            except SqlError:
                time.sleep(POLL_SECONDS)
        self.kill()
        raise StartFailed(f"no answer in {START_SECONDS_MAX} s:\n{self.log_since(log_start)}")

    def connect(self, database: str = "") -> Connection:
        return Connection(self.socket, database)

    def kill(self) -> None:
        """kill -9, and waits until it is gone."""
        if self.process:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            self.process = None
            Path(self.socket).unlink(missing_ok=True)

    def stop(self) -> None:
        """An orderly shutdown; kills when that takes too long, which is an error."""
        if not self.process:
            return
        self.process.terminate()
        try:
            code = self.process.wait(START_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise StartFailed("did not shut down") from None
        self.process = None
        if code:
            raise StartFailed(f"shutdown ended with {code}:\n{self.log_tail()}")

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def log_size(self) -> int:
        return self.log.stat().st_size if self.log.exists() else 0

    def log_since(self, offset: int, limit: int = 6000) -> str:
        with self.log.open("rb") as log:
            log.seek(offset)
            return log.read()[-limit:].decode("utf-8", "replace")

    def log_tail(self, limit: int = 3000) -> str:
        return self.log_since(max(0, self.log_size() - limit), limit)

    def _fixed_arguments(self) -> list[str]:
        arguments = [
            "--no-defaults",
            f"--basedir={self.prefix}",
            f"--datadir={self.data}",
            f"--lc-messages-dir={self._messages_dir()}",
            f"--tmpdir={self.base}",
            f"--pid-file={self.base}/pid",
            "--skip-networking",
            "--loose-skip-name-resolve",
            "--character-set-server=utf8mb4",
        ]
        if os.geteuid() == 0:
            arguments.append("--user=root")
        return arguments

    def _messages_dir(self) -> Path:
        share = self.prefix / "share"
        return share / "mysql" if (share / "mysql" / "english").exists() else share
