# SPDX-License-Identifier: GPL-2.0-only
"""Records the results of our suite on InnoDB, whose visible behaviour is the one wanted.

Tests named cairn_* are about what InnoDB has not, or does otherwise; their results are written
for Cairn and read by a person.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from cairn_cli.mtr import Result

from . import run
from .tree import OWN_SUITE, OWN_TESTS, assemble

CAIRN_ONLY = "cairn_"


def record(prefix: Path, work: Path, on_result: Callable[[Result], None], names: Sequence[str] = ()) -> list[str]:
    """Writes the results of the named tests, or of all, anew; gives those that did not end."""
    tree = assemble(work / "record-own", prefix, None, recording=True)
    suite = OWN_TESTS / "suite" / OWN_SUITE
    tests = names or [p.stem for p in sorted((suite / "t").glob("*.test")) if not p.stem.startswith(CAIRN_ONLY)]
    options = run.Options(vardir=work / "var-record-own", parallel=1, mtr=("--record",))
    results = run.run(tree, [f"{OWN_SUITE}.{name}" for name in tests], options, work / "record-own.log", on_result)
    for name in run.names(results, "pass"):
        test = name.removeprefix(f"{OWN_SUITE}.").split(" ")[0]  # the rest is a combination of options
        shutil.copy(tree.tests / "suite" / OWN_SUITE / "r" / f"{test}.result", suite / "r")
    return run.names(results, "fail")


def record_on_cairn(
    prefix: Path, plugin: Path, work: Path, on_result: Callable[[Result], None], names: Sequence[str]
) -> list[str]:
    """For tests named cairn_* alone: writes what Cairn gives, to be read before it is kept."""
    tree = assemble(work / "tree-own", prefix, plugin)
    options = run.Options(vardir=work / "var-own", parallel=1, mtr=("--record",))
    tests = [f"{OWN_SUITE}.{name}" for name in names if name.startswith(CAIRN_ONLY)]
    return run.names(run.run(tree, tests, options, work / "record-own.log", on_result), "fail")


def compare(
    prefix: Path, plugin: Path, work: Path, on_result: Callable[[Result], None], names: Sequence[str] = ()
) -> list[Result]:
    """Runs the named tests, or all, on Cairn."""
    tree = assemble(work / "tree-own", prefix, plugin)
    tests = [f"{OWN_SUITE}.{name}" for name in names] or [f"--suite={OWN_SUITE}"]
    return run.run(tree, tests, run.Options(vardir=work / "var-own"), work / "own.log", on_result)
