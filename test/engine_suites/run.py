# SPDX-License-Identifier: GPL-2.0-only
"""Runs mysql-test-run.pl in an assembled tree and tells what became of each test."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .tree import Tree

# "suite.test 'combination' w2 [ pass ]   123", the middle words not always there.
_RESULT = re.compile(r"^(?P<name>\S+\.\S+(?: '[^']*')?)\s+(?:w\d+ )?\[ (?P<kind>pass|fail|skipped|disabled|retry-pass|retry-fail|exp-fail)\b[^\]]*\](?P<rest>.*)$")
_FAILED = frozenset({"fail", "retry-fail"})


@dataclass
class Outcome:
    """Names of tests by what became of them; `reasons` for those not run."""

    passed: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    disabled: list[str] = field(default_factory=list)
    reasons: dict[str, str] = field(default_factory=dict)
    exit_code: int = 0

    def take(self, line: str) -> None:
        match = _RESULT.match(line)
        if not match:
            return
        name, kind = match["name"], match["kind"]
        if kind in _FAILED:
            if name not in self.failed:
                self.failed.append(name)
        elif kind in ("pass", "retry-pass", "exp-fail"):
            self.passed.append(name)
        else:
            (self.skipped if kind == "skipped" else self.disabled).append(name)
            self.reasons[name] = match["rest"].strip()


@dataclass(frozen=True)
class Options:
    """`server` is given to every server as it is; `mtr` to mysql-test-run.pl."""

    vardir: Path
    parallel: int = 2
    test_minutes_max: int = 4
    server: Sequence[str] = ()
    mtr: Sequence[str] = ()
    nice: int = 0


def run(tree: Tree, tests: Sequence[str], options: Options, log: Path, say: Callable[[str], None]) -> Outcome:
    """`tests` are names or --suite=…; the whole output goes to `log`, each failure also to `say`."""
    command = ["nice", f"-n{options.nice}"] if options.nice else []
    command += [
        "perl",
        "mysql-test-run.pl",
        f"--vardir={options.vardir}",
        f"--parallel={options.parallel}",
        "--force",
        "--max-test-fail=0",
        "--retry=0",
        "--max-save-core=0",
        "--max-save-datadir=0",
        f"--testcase-timeout={options.test_minutes_max}",
        *(f"--mysqld={argument}" for argument in options.server),
        *options.mtr,
        *tests,
    ]
    outcome = Outcome()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as out, subprocess.Popen(
        command, cwd=tree.tests, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout
        for line in process.stdout:
            out.write(line)
            out.flush()
            outcome.take(line)
            if _RESULT.match(line) and "[ fail ]" in line:
                say(line.rstrip())
    outcome.exit_code = process.returncode
    return outcome
