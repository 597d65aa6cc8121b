# SPDX-License-Identifier: GPL-2.0-only
"""engines/funcs and engines/iuds with Cairn as the default: no failure without a written reason."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from cairn_cli.mtr import Result

from . import run
from .tree import OWN_TESTS, assemble

SUITES = "engines/funcs,engines/iuds"
KNOWN = OWN_TESTS / "engines-known-failures.txt"


def known_failures(path: Path = KNOWN) -> dict[str, str]:
    """The tests that fail on InnoDB too or for a reason of Cairn's, from lines of "test: reason"."""
    known = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            known[name.strip()] = reason.strip()
    return known


def compare(
    prefix: Path,
    plugin: Path | None,
    work: Path,
    on_result: Callable[[Result], None],
    tests: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> list[Result]:
    """Hands on every result, a known failure as skipped. Without a plugin it runs on InnoDB."""
    known = known_failures()
    sorted_out: list[Result] = []

    def sort_out(result: Result) -> None:
        if result.outcome == "fail" and result.name in known:
            result = Result(result.name, "skipped", f"known to fail: {known[result.name]}")
        sorted_out.append(result)
        on_result(result)

    tree = assemble(work / "tree-engines", prefix, plugin, recording=plugin is None)
    server = ["--innodb", "--default-storage-engine=innodb"]
    if plugin:
        server = [f"--plugin-load-add={plugin.name}", "--default-storage-engine=cairn"]
    options = run.Options(vardir=work / "var-engines", server=server, environment=environment or {})
    run.run(tree, tests or (f"--suite={SUITES}",), options, work / "engines.log", sort_out)
    return sorted_out
