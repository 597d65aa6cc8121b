# SPDX-License-Identifier: GPL-2.0-only
"""python3 -m engine_suites: record on InnoDB, or run parts on Cairn by hand.

`in-place` takes names of suites ("main", "vcol", ...), and writes how Cairn in InnoDB's place differs from InnoDB."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "cli"))

from cairn_cli import dependencies, paths  # noqa: E402
from cairn_cli.mtr import Result  # noqa: E402

from . import baseline, in_place, own_suite, yardstick  # noqa: E402
from .tree import writable_memory  # noqa: E402

_DETAIL_LINES = 60


def _show(result: Result) -> None:
    if result.outcome == "fail":
        print(f"FAILED {result.name}")
        print("\n".join(f"    {line}" for line in result.detail.splitlines()[:_DETAIL_LINES]), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="engine_suites", description=__doc__)
    whats = ("record-yardstick", "record-sql", "record-cairn-sql", "storage-engine", "engines", "sql", "in-place")
    parser.add_argument("what", choices=whats)
    parser.add_argument("tests", nargs="*", help="names of tests, all without; for in-place of suites")
    parser.add_argument("--build-type", default="release", choices=paths.BUILD_TYPES)
    parser.add_argument("--plugin", type=Path, help="another ha_cairn.so than the build's")
    parser.add_argument("--engine", default="cairn", choices=("cairn", "innodb"), help="for engines")
    parser.add_argument("--work", type=Path, help="an existing directory for trees and logs")
    arguments = parser.parse_intermixed_args()
    prefix, plugin = dependencies.require().prefix, arguments.plugin or paths.plugin(arguments.build_type)
    work = arguments.work or Path(tempfile.mkdtemp(prefix="cairn-suites-", dir=writable_memory()))
    tests = tuple(arguments.tests)
    if arguments.what == "record-yardstick":
        failed = yardstick.record(prefix, work, _show)
    elif arguments.what == "record-sql":
        failed = own_suite.record(prefix, work, _show, tests)
    elif arguments.what == "record-cairn-sql":
        failed = own_suite.record_on_cairn(prefix, plugin, work, _show, tests)
    else:
        if arguments.what == "storage-engine":
            results = yardstick.compare(prefix, plugin, work, _show, tests)
        elif arguments.what == "in-place":
            results = in_place.compare(prefix, plugin, work, tests, _show)
        elif arguments.what == "sql":
            results = own_suite.compare(prefix, plugin, work, _show, tests)
        else:
            results = baseline.compare(prefix, plugin if arguments.engine == "cairn" else None, work, _show, tests)
        failed = [result.name for result in results if result.outcome == "fail"]
        for outcome in ("pass", "fail", "skipped", "disabled"):
            print(f"{outcome}: {sum(result.outcome == outcome for result in results)}")
    print(f"logs are in {work}")
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
