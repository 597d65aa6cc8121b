# SPDX-License-Identifier: GPL-2.0-only
"""Runs mysql-test-run.pl in an assembled tree; results are read by the command line's reader."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cairn_cli import process
from cairn_cli.mtr import Reader, Result

from .tree import Tree


@dataclass(frozen=True)
class Options:
    """`server` is given to every server as it is; `mtr` to mysql-test-run.pl; `environment` holds
    what a server needs to load a plugin built with a sanitizer."""

    vardir: Path
    parallel: int = 2
    test_minutes_max: int = 4
    server: Sequence[str] = ()
    mtr: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)


def run(
    tree: Tree, tests: Sequence[str], options: Options, log: Path, on_result: Callable[[Result], None]
) -> list[Result]:
    """`tests` are names or --suite=…; the whole output is kept in `log`, servers' logs are not.

    A runner that fails without a failed test gives a result named "mtr".
    """
    slow = 4 if options.environment else 1
    command = [
        "nice",
        "perl",
        "./mysql-test-run.pl",
        f"--vardir={options.vardir}",
        f"--parallel={options.parallel}",
        "--force",
        "--max-test-fail=0",
        "--retry=0",
        "--max-save-core=0",
        "--max-save-datadir=0",
        f"--testcase-timeout={options.test_minutes_max * slow}",
        "--suite-timeout=600",
        *(f"--mysqld={argument}" for argument in options.server),
        *(f"--mysqld-env={name}={value}" for name, value in options.environment.items()),
        *options.mtr,
        *tests,
    ]
    reader = Reader(on_result)
    try:
        code = process.stream(command, reader.line, log=log, cwd=tree.tests, check=False)
    finally:
        shutil.rmtree(options.vardir, ignore_errors=True)
    results = reader.end()
    if code and not any(result.outcome == "fail" for result in results):
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-25:])
        results.append(Result("mtr", "fail", tail))
        on_result(results[-1])
    return results


def names(results: Sequence[Result], outcome: str) -> list[str]:
    return [result.name for result in results if result.outcome == outcome]
