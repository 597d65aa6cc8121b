# SPDX-License-Identifier: GPL-2.0-only
"""Runs MariaDB's own test runner from a private tree, and reads its results."""

import argparse
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cairn_cli import build, console, paths, process, tree

HELP = "build, and run mysql-test-run.pl with this checkout's plugin and suites"

_MEMORY_FS = Path("/dev/shm")
_MEMORY_FS_FREE_BYTES_MIN = 3 << 30
_RESULT = re.compile(r"^(?P<name>\S+\.\S+(?: '[^']*')?)\s+(?:w\d+\s+)?"
                     r"\[ (?P<outcome>[a-z-]+) \]\s*(?P<rest>.*)$")
# A server's start is told at length in each failure, and says nothing about it.
_NOISE = re.compile(r"^\d{4}-\d\d-\d\d +\d+:\d\d:\d\d \d+ \[Note\]|^\$ .*mariadbd --defaults")
_RULE = re.compile(r"^-{70,}$")


@dataclass
class Result:
    """What became of one test: pass, fail, skipped or disabled, and why."""

    name: str
    outcome: str
    detail: str = ""


@dataclass
class Reader:
    """Turns the runner's output, line by line, into results."""

    on_result: Callable[[Result], None] = lambda _: None
    results: list[Result] = field(default_factory=list)
    _failing: Result | None = None

    def line(self, text: str) -> None:
        """Takes one line of the runner's output."""
        if found := _RESULT.match(text):
            self._finish()
            self._begin(found["name"], found["outcome"], found["rest"].strip())
        elif _RULE.match(text):
            self._finish()
        elif self._failing and not _NOISE.match(text):
            self._failing.detail += f"\n{text}"

    def end(self) -> list[Result]:
        """Takes the end of the output; returns all results."""
        self._finish()
        return self.results

    def _begin(self, name: str, outcome: str, rest: str) -> None:
        if outcome.endswith("fail"):
            self._failing = Result(name, "fail", rest)
        elif outcome in ("skipped", "disabled"):
            self._add(Result(name, outcome, rest))
        else:
            self._add(Result(name, "pass"))

    def _finish(self) -> None:
        if self._failing:
            self._add(self._failing)
        self._failing = None

    def _add(self, result: Result) -> None:
        result.detail = result.detail.strip()
        self.results.append(result)
        self.on_result(result)


def run_tests(arguments: Sequence[str], *, build_type: str = "release", log_name: str = "mtr",
              base: Path | None = None,
              on_result: Callable[[Result], None] = lambda _: None) -> list[Result]:
    """Runs tests chosen by the runner's own `arguments`; returns one result for each.

    The runner's whole output is kept in var/mtr/<log_name>.log, logs of failed tests beside it.
    `base` is a tree to run in, where the usual one with all suites will not do.
    A runner that fails without a failed test gives one result named "mtr".
    """
    home = paths.VAR / "mtr"
    log = home / f"{log_name}.log"
    reader = Reader(on_result)
    code = _run(arguments, build_type, reader.line, log, home / f"{log_name}.failed", base)
    results = reader.end()
    if code != 0 and not any(result.outcome == "fail" for result in results):
        last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        results.append(Result("mtr", "fail", last))
        on_result(results[-1])
    return results


def server_options(options: Sequence[str]) -> list[str]:
    """The runner's arguments that give each server `options`."""
    return [f"--mysqld={option}" for option in options]


def default_engine(engine: str) -> list[str]:
    """The runner's arguments that make `engine` every test's default engine."""
    if engine == "innodb":
        return server_options(["--innodb", "--default-storage-engine=innodb"])
    return server_options([f"--plugin-load-add=ha_{engine}.so",
                           f"--default-storage-engine={engine}"])


def _run(arguments: Sequence[str], build_type: str, on_line: Callable[[str], None], log: Path,
         failed_logs: Path, base: Path | None = None) -> int:
    base = base or tree.prepare(build_type)
    vardir = Path(tempfile.mkdtemp(prefix="cairn-mtr-", dir=_scratch()))
    settings = [f"{name}={value}"
                for name, value in tree.sanitizer_environment(build_type).items()]
    environment = [f"--mysqld-env={setting}" for setting in settings]
    environment += server_options(tree.sanitizer_options(build_type))
    slow = 4 if environment else 1
    # For tests that start a server themselves: `exec env $CAIRN_SERVER_ENV $MYSQLD_LAST_CMD`.
    of_tests = f"CAIRN_SERVER_ENV={' '.join(settings)}"
    # The runner heeds the last of an option, so the caller's arguments win.
    argv = ["nice", "env", of_tests, "perl", "./mysql-test-run.pl", f"--vardir={vardir}", "--force",
            "--max-test-fail=0", "--retry=0", "--max-save-core=0", "--max-save-datadir=0",
            "--parallel=2", f"--testcase-timeout={4 * slow}", "--suite-timeout=600",
            *environment, *arguments]
    try:
        return process.stream(argv, on_line, log=log, cwd=base / "mysql-test", check=False)
    finally:
        shutil.rmtree(failed_logs, ignore_errors=True)
        if (vardir / "log").is_dir():
            shutil.copytree(vardir / "log", failed_logs, symlinks=True)
        shutil.rmtree(vardir, ignore_errors=True)


def _scratch() -> Path:
    """Test servers write much that nobody keeps: memory where there is enough of it."""
    if _MEMORY_FS.is_dir() and shutil.disk_usage(_MEMORY_FS).free > _MEMORY_FS_FREE_BYTES_MIN:
        return _MEMORY_FS
    scratch = paths.VAR / "mtr"
    scratch.mkdir(parents=True, exist_ok=True)
    return scratch


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's options."""
    build.add_build_type(parser)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS",
                        help="arguments of mysql-test-run.pl, after --")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand: the runner's output as it is."""
    build.run(arguments)
    rest = [each for each in arguments.arguments if each != "--"]
    home = paths.VAR / "mtr"
    return _run(rest, arguments.build_type, console.say, home / "manual.log", home / "manual.failed")
