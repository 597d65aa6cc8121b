# SPDX-License-Identifier: GPL-2.0-only
"""A private MariaDB server of this checkout: own data folder, a Unix socket, no network."""

import contextlib
import hashlib
import os
import shutil
import signal
import socket
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cairn_cli import paths, process, tree
from cairn_cli.errors import CairnError

_START_TIMEOUT_S = 120
_STOP_TIMEOUT_S = 300
_POLL_S = 0.05
_SOCKET_PATH_BYTES_MAX = 100


@dataclass(frozen=True)
class Server:
    """One private server, known by its name; it need not run."""

    name: str = "server"
    build_type: str = "release"
    plugins: Path | None = None  # another folder of plugins than the installation's

    @property
    def directory(self) -> Path:
        """Holds all of the server's files."""
        return paths.VAR / self.name

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.directory / "data"

    @property
    def log(self) -> Path:
        """The server's error log."""
        return self.directory / "server.log"

    @property
    def socket(self) -> Path:
        """The socket, in a short place where the checkout's path is too long for one."""
        usual = self.directory / "server.sock"
        if len(os.fsencode(usual)) <= _SOCKET_PATH_BYTES_MAX:
            return usual
        key = hashlib.sha256(os.fsencode(usual)).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"cairn-{key}.sock"

    def pid(self) -> int | None:
        """The running server's process id; None when it does not run."""
        try:
            pid = int((self.directory / "server.pid").read_text(encoding="ascii"))
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if os.fsencode(self.data) in command else None

    def initialise(self) -> None:
        """Makes the data folder with its system tables, unless it is there."""
        if (self.data / "mysql").is_dir():
            return
        base = tree.prepare(self.build_type)
        process.capture([base / "bin/mariadb-install-db", "--no-defaults", f"--basedir={base}",
                         f"--datadir={self.data}", "--auth-root-authentication-method=normal",
                         "--skip-test-db", *_as_root()],
                        env={"TMPDIR": str(self._temporary_directory())})

    def start(self, options: Sequence[str] = (), *, with_cairn: bool = True,
              wrapper: Sequence[str] = ()) -> int:
        """Starts the server and waits until it answers; returns its process id.

        `wrapper` goes before the command line; it must become the server in the same process.
        """
        if running := self.pid():
            return running
        self.initialise()
        base = tree.prepare(self.build_type)
        self.socket.unlink(missing_ok=True)
        own = (f"--plugin-load-add={paths.plugin(self.build_type).name}",) if with_cairn else ()
        argv = [*wrapper, base / "sbin/mariadbd", "--no-defaults", f"--basedir={base}",
                f"--datadir={self.data}", f"--socket={self.socket}",
                f"--pid-file={self.directory / 'server.pid'}",
                f"--tmpdir={self._temporary_directory()}",
                f"--plugin-dir={self.plugins or tree.plugin_directory(base)}",
                f"--lc-messages-dir={base / 'share/mysql'}", "--skip-networking",
                "--plugin-maturity=unknown", *_as_root(), *own,
                *tree.sanitizer_options(self.build_type), *options]
        child = process.spawn(argv, log=self.log, env=tree.sanitizer_environment(self.build_type))
        deadline_s = time.monotonic() + _START_TIMEOUT_S
        while not self.answers():
            if child.poll() is not None:
                raise CairnError(f"the server ended while starting:\n{self.log_tail()}\n"
                                 f"full log: {self.log}")
            if time.monotonic() > deadline_s:
                child.kill()
                raise CairnError(f"the server did not answer within {_START_TIMEOUT_S} s; "
                                 f"log: {self.log}")
            time.sleep(_POLL_S)
        return child.pid

    def _temporary_directory(self) -> Path:
        """One for each server: a starting server deletes all temporary tables it finds in its own."""
        directory = self.directory / "tmp"
        directory.mkdir(parents=True, exist_ok=True)
        return directory

    def answers(self) -> bool:
        """Whether a client would be greeted."""
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(5)
                client.connect(str(self.socket))
                return bool(client.recv(1))
        except OSError:
            return False

    def stop(self, signal_number: int = signal.SIGTERM) -> bool:
        """Ends the server and waits for it; false when it did not run."""
        pid = self.pid()
        if pid is None:
            return False
        os.kill(pid, signal_number)
        deadline_s = time.monotonic() + _STOP_TIMEOUT_S
        while _alive(pid):
            if time.monotonic() > deadline_s:
                raise CairnError(f"server {pid} did not end within {_STOP_TIMEOUT_S} s; "
                                 f"log: {self.log}")
            time.sleep(_POLL_S)
        return True

    def remove(self) -> None:
        """Stops the server and deletes all it kept."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.directory, ignore_errors=True)
        self.socket.unlink(missing_ok=True)

    def client(self, arguments: Sequence[str] = ()) -> list[str | Path]:
        """The command line of a client of this server."""
        program = paths.VAR / f"tree-{self.build_type}" / "bin/mariadb"
        return [program, "--no-defaults", f"--socket={self.socket}", "--user=root", *arguments]

    def query(self, statement: str, database: str = "") -> str:
        """Runs SQL and returns rows as tab-separated lines without a heading."""
        where = [f"--database={database}"] if database else []
        return process.capture(self.client(["--batch", "--skip-column-names", *where]),
                               stdin=statement)

    def log_tail(self, lines: int = 30) -> str:
        """The end of the error log."""
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def _as_root() -> list[str]:
    return ["--user=root"] if os.geteuid() == 0 else []


def _alive(pid: int) -> bool:
    """A child of ours that has ended stays as a zombie until it is waited for."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return state.rsplit(")", 1)[1].split()[0] not in ("Z", "X")
