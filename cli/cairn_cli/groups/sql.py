# SPDX-License-Identifier: GPL-2.0-only
"""Group sql: our own suite, mysql-test/suite/cairn, by MariaDB's test runner."""

from cairn_cli import mtr, paths
from cairn_cli.group_report import Report
from cairn_cli.groups import Context

_SUITE = paths.ROOT / "mysql-test/suite/cairn"


def run(context: Context, report: Report) -> None:
    """Runs the whole suite; it is short enough for --quick."""
    tests = list((_SUITE / "t").glob("*.test"))
    if not tests:
        report.failed("sql", f"no tests in {_SUITE}")
        return
    report.expected_count = len(tests)
    mtr.run_tests(["--suite=cairn"], build_type=context.build_type,
                  log_name=f"sql-{context.build_type}", on_result=report.take)
