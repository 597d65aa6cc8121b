# SPDX-License-Identifier: GPL-2.0-only
"""Records the results of the suite storage_engine on InnoDB, and runs Cairn against them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from . import run
from .tree import PARTS, SUITE, YARDSTICK, Tree, assemble

PLAIN_SUITES = ",".join(f"{SUITE}/{part}" if part else SUITE for part in PARTS)
CAIRN_SUITES = ",".join((f"{SUITE}/{part}" if part else SUITE) + "-cairn" for part in PARTS)


def record(prefix: Path, work: Path, say: Callable[[str], None]) -> list[str]:
    """Writes mysql-test/yardstick anew; gives the tests that InnoDB did not pass right after."""
    tree = assemble(work / "record", prefix, None, recording=True)
    names = _tests(tree)
    options = run.Options(vardir=work / "var-record", parallel=1, mtr=("--record",))
    run.run(tree, names, options, work / "record.log", say)
    again = run.run(tree, names, run.Options(vardir=work / "var-record"), work / "verify.log", say)
    for part in PARTS:
        (YARDSTICK / part).mkdir(parents=True, exist_ok=True)
        for old in (YARDSTICK / part).glob("*.result"):
            old.unlink()
        for result in (tree.yardstick_suite / part).glob("*.result"):
            shutil.copy(result, YARDSTICK / part)
    say(f"{len(again.passed)} of {len(names)} tests recorded and passed, {len(again.skipped)} skipped")
    return again.failed


def compare(prefix: Path, plugin: Path, work: Path, say: Callable[[str], None], tests: tuple[str, ...] = ()) -> run.Outcome:
    """Runs Cairn's overlay against the yardstick."""
    tree = assemble(work / "tree", prefix, plugin)
    options = run.Options(vardir=work / "var")
    return run.run(tree, tests or (f"--suite={CAIRN_SUITES}",), options, work / "storage_engine.log", say)


def _tests(tree: Tree) -> list[str]:
    names = []
    for part in PARTS:
        suite = f"{SUITE}/{part}" if part else SUITE
        names += [f"{suite}.{path.stem}" for path in sorted((tree.yardstick_suite / part).glob("*.test"))]
    return names
