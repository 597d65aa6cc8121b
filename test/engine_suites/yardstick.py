# SPDX-License-Identifier: GPL-2.0-only
"""Records the results of the suite storage_engine on InnoDB, and runs Cairn against them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from cairn_cli.mtr import Result

from . import run
from .tree import PARTS, SUITE, YARDSTICK, Tree, assemble

CAIRN_SUITES = ",".join((f"{SUITE}/{part}" if part else SUITE) + "-cairn" for part in PARTS)
# Their results vary from run to run or name the test's own directory: see yardstick/README.md.
UNSTABLE = frozenset(
    f"{SUITE}.{name}"
    for name in (
        "delete_low_prio",
        "insert_high_prio",
        "insert_low_prio",
        "select_high_prio",
        "update_low_prio",
        "tbl_opt_index_dir",
    )
)


def record(prefix: Path, work: Path, on_result: Callable[[Result], None]) -> list[str]:
    """Writes mysql-test/yardstick anew; gives the tests that InnoDB did not pass right after."""
    tree = assemble(work / "record", prefix, None, recording=True)
    names = [name for name in _tests(tree) if name not in UNSTABLE]
    options = run.Options(vardir=work / "var-record", parallel=1, mtr=("--record",))
    run.run(tree, names, options, work / "record.log", lambda _: None)
    again = run.run(tree, names, run.Options(vardir=work / "var-verify"), work / "verify.log", on_result)
    for part in PARTS:
        (YARDSTICK / part).mkdir(parents=True, exist_ok=True)
        for old in (YARDSTICK / part).glob("*.result"):
            old.unlink()
    for name in names:
        suite, _, test = name.rpartition(".")
        part = suite.removeprefix(SUITE).lstrip("/")
        shutil.copy(tree.yardstick_suite / part / f"{test}.result", YARDSTICK / part)
    return run.names(again, "fail")


def compare(
    prefix: Path,
    plugin: Path,
    work: Path,
    on_result: Callable[[Result], None],
    tests: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> list[Result]:
    """Runs Cairn's overlay against the yardstick."""
    tree = assemble(work / "tree", prefix, plugin)
    options = run.Options(vardir=work / "var", environment=environment or {})
    return run.run(tree, tests or (f"--suite={CAIRN_SUITES}",), options, work / "storage_engine.log", on_result)


def _tests(tree: Tree) -> list[str]:
    names = []
    for part in PARTS:
        suite = f"{SUITE}/{part}" if part else SUITE
        names += [f"{suite}.{path.stem}" for path in sorted((tree.yardstick_suite / part).glob("*.test"))]
    return names
