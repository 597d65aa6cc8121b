# SPDX-License-Identifier: GPL-2.0-only
"""The only place that starts other programs, so that logging and failure look alike everywhere."""

import os
import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from cairn_cli.errors import CairnError

Argument = str | Path
_TAIL_LINES = 40


class CommandFailed(CairnError):
    """A program ended with a failure; carries the end of what it said."""

    def __init__(self, argv: Sequence[Argument], code: int, tail: str, log: Path | None) -> None:
        shown = " ".join(str(part) for part in argv[:6]) + (" …" if len(argv) > 6 else "")
        where = f"\nfull log: {log}" if log else ""
        super().__init__(f"{tail.rstrip()}\n\n`{shown}` failed with code {code}{where}")
        self.code = code
        self.tail = tail


def _environment(extra: Mapping[str, str] | None) -> dict[str, str]:
    return {**os.environ, **(extra or {})}


def _text(argv: Sequence[Argument]) -> list[str]:
    return [str(part) for part in argv]


def _last_lines(text: str) -> str:
    return "\n".join(text.splitlines()[-_TAIL_LINES:])


def call(argv: Sequence[Argument], *, cwd: Path | None = None,
         env: Mapping[str, str] | None = None) -> int:
    """Runs a program on the user's own terminal and returns its exit code."""
    return subprocess.run(_text(argv), cwd=cwd, env=_environment(env), check=False).returncode


def capture(argv: Sequence[Argument], *, cwd: Path | None = None,
            env: Mapping[str, str] | None = None, check: bool = True,
            stdin: str | None = None) -> str:
    """Runs a program and returns what it printed; raises CommandFailed unless `check` is false."""
    code, out = result(argv, cwd=cwd, env=env, stdin=stdin)
    if check and code != 0:
        raise CommandFailed(argv, code, _last_lines(out), None)
    return out


def result(argv: Sequence[Argument], *, cwd: Path | None = None,
           env: Mapping[str, str] | None = None, stdin: str | None = None,
           timeout_s: float | None = None) -> tuple[int, str]:
    """Runs a program and returns its exit code and its output, both streams in one."""
    try:
        done = subprocess.run(_text(argv), cwd=cwd, env=_environment(env), input=stdin,
                              stdin=None if stdin is not None else subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              encoding="utf-8", errors="replace", timeout=timeout_s)
    except subprocess.TimeoutExpired as late:
        said = late.stdout.decode("utf-8", "replace") if isinstance(late.stdout, bytes) else ""
        return 124, f"{said}\ntimed out after {timeout_s:.0f} s"
    return done.returncode, done.stdout


def stream(argv: Sequence[Argument], on_line: Callable[[str], None], *, log: Path | None = None,
           cwd: Path | None = None, env: Mapping[str, str] | None = None,
           check: bool = True) -> int:
    """Runs a program, hands each line of its output to `on_line` and to the log file."""
    tail: deque[str] = deque(maxlen=_TAIL_LINES)
    sink: IO[str] | None = None
    if log:
        log.parent.mkdir(parents=True, exist_ok=True)
        sink = log.open("w", encoding="utf-8")
    try:
        with subprocess.Popen(_text(argv), cwd=cwd, env=_environment(env),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, encoding="utf-8",
                              errors="replace") as child:
            assert child.stdout is not None
            for line in child.stdout:
                if sink:
                    sink.write(line)
                    sink.flush()
                tail.append(line)
                on_line(line.rstrip("\n"))
    finally:
        if sink:
            sink.close()
    if check and child.returncode != 0:
        raise CommandFailed(argv, child.returncode, "".join(tail), log)
    return child.returncode


def spawn(argv: Sequence[Argument], *, log: Path, cwd: Path | None = None,
          env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Starts a program that outlives this command; its output goes to `log`."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as sink:
        return subprocess.Popen(_text(argv), cwd=cwd, env=_environment(env),
                                stdin=subprocess.DEVNULL, stdout=sink, stderr=sink,
                                start_new_session=True)


def converse(argv: Sequence[Argument], *, env: Mapping[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Starts a program whose output the caller reads while it runs, and which the caller ends."""
    return subprocess.Popen(_text(argv), env=_environment(env), stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def replace(argv: Sequence[Argument], env: Mapping[str, str] | None = None) -> None:
    """Becomes another program; does not return."""
    os.execvpe(str(argv[0]), _text(argv), _environment(env))
