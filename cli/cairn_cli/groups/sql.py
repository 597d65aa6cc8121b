# SPDX-License-Identifier: GPL-2.0-only
"""Group sql: our own suite, mysql-test/suite/cairn, by MariaDB's test runner."""

from cairn_cli import mtr, paths
from cairn_cli.groups import Context
from cairn_cli.report import Report

_SUITE = paths.ROOT / "mysql-test/suite/cairn"
# Test names, one a line, that together touch everything and end within a minute.
_QUICK = _SUITE / "quick.list"


def run(context: Context, report: Report) -> None:
    """Runs the suite, or its quick list."""
    tests = sorted(path.stem for path in (_SUITE / "t").glob("*.test"))
    if not tests:
        report.failed("sql", f"no tests in {_SUITE}")
        return
    chosen = ["--suite=cairn"]
    if context.quick and _QUICK.exists():
        tests = _QUICK.read_text(encoding="utf-8").split()
        chosen = [f"cairn.{name.removeprefix('cairn.')}" for name in tests]
    report.expected_count = len(tests)
    mtr.run_tests(chosen, build_type=context.build_type, log_name=f"sql-{context.build_type}",
                  on_result=report.take)
