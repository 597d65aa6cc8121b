# SPDX-License-Identifier: GPL-2.0-only
"""Any suite of the server with Cairn in InnoDB's place: what differs from InnoDB is read by a person.

Not a part of `./cairn test`: plans, statistics, the order of rows and the names of files differ in many tests, and
nobody has written down which. A difference in rows, errors or counts is a fault until it is explained.
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from cairn_cli.mtr import Result

from . import run
from .tree import Tree, assemble

# Where a test names the engine; elsewhere (variables, tables of information_schema) the name is InnoDB's own.
_ENGINE = re.compile(r"""((?:storage[ _])?engine(?:_type)?\s*=?\s*['"`]?)innodb\b""", re.IGNORECASE)
_NAMES = re.compile(r"innodb|cairn", re.IGNORECASE)
# What these need is not there, takes long, or ends the server.
_LEFT_OUT = ("have_debug", "big_test", "restart_mysqld")
_CONTEXT_LINES = 2


def compare(
    prefix: Path, plugin: Path, work: Path, suites: Sequence[str], on_result: Callable[[Result], None]
) -> list[Result]:
    """Records each test of `suites` ("main" or a folder of suite/) on InnoDB, then on Cairn, in `work`.

    Hands on what happens on Cairn. Writes work/differences.txt: unified diffs of the two results, without the engines'
    names, of tests that both engines come to the end of.
    """
    expected = _record(prefix, None, work, suites, lambda result: None)
    found = _record(prefix, plugin, work, suites, on_result)
    passed = set(run.names(expected, "pass")) & set(run.names(found, "pass"))
    lines = []
    for name in sorted(passed):
        lines += _difference(name.split(" ")[0], work)
    (work / "differences.txt").write_text("\n".join(lines), encoding="utf-8")
    return found


def _record(
    prefix: Path, plugin: Path | None, work: Path, suites: Sequence[str], on_result: Callable[[Result], None]
) -> list[Result]:
    engine = "cairn" if plugin else "innodb"
    tree = assemble(work / f"tree-{engine}", prefix, plugin, recording=plugin is None)
    tests: list[str] = []
    for suite in suites:
        folder = _folder(tree, suite)
        _copy(folder, substitute=plugin is not None)
        tests += _tests(folder, suite)
    _copy(tree.tests / "include", substitute=plugin is not None)
    server = ["--innodb", f"--default-storage-engine={engine}"]
    if plugin:
        server.append(f"--plugin-load-add={plugin.name}")
    options = run.Options(vardir=work / f"var-{engine}", server=server, mtr=["--record"])
    return run.run(tree, tests, options, work / f"{engine}.log", on_result)


def _folder(tree: Tree, suite: str) -> Path:
    return tree.tests / suite if suite == "main" else tree.tests / "suite" / suite


def _copy(folder: Path, substitute: bool) -> None:
    """Puts a copy in place of a link, or of links."""
    copied = folder.with_name(folder.name + ".copy")
    shutil.copytree(folder, copied, symlinks=False)
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder)
    copied.rename(folder)
    for path in (*folder.rglob("*.test"), *folder.rglob("*.inc")):
        if substitute:
            path.write_text(_ENGINE.sub(r"\1CAIRN", path.read_text(encoding="latin-1")), encoding="latin-1")


def _tests(folder: Path, suite: str) -> list[str]:
    inner = folder / "t" if (folder / "t").is_dir() else folder
    disabled = {
        line.partition(":")[0].strip()
        for listed in inner.glob("disabled.def")
        for line in listed.read_text(encoding="latin-1").splitlines()
    }
    return [
        f"{suite}.{path.stem}"
        for path in sorted(inner.glob("*.test"))
        if path.stem not in disabled and not any(word in path.read_text(encoding="latin-1") for word in _LEFT_OUT)
    ]


def _difference(name: str, work: Path) -> list[str]:
    suite, _, test = name.partition(".")
    results = []
    for engine in ("innodb", "cairn"):
        folder = _folder(Tree(work / f"tree-{engine}"), suite)
        inner = folder / "r" if (folder / "r").is_dir() else folder
        path = inner / f"{test}.result"
        if not path.exists():
            return []
        results.append(_NAMES.sub("ENGINE", path.read_text(encoding="latin-1")).splitlines())
    diff = difflib.unified_diff(*results, f"{name} on InnoDB", f"{name} on Cairn", lineterm="", n=_CONTEXT_LINES)
    return list(diff)
