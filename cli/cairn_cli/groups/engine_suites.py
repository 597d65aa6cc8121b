# SPDX-License-Identifier: GPL-2.0-only
"""Group engine-suites: MariaDB's own suites for engines, with InnoDB as the yardstick."""

import sys

from cairn_cli import paths
from cairn_cli.group_report import Report
from cairn_cli.groups import Context


def run(context: Context, report: Report) -> None:
    """Hands over to test/engine_suites, which knows the suites."""
    if str(paths.ROOT / "test") not in sys.path:
        sys.path.insert(0, str(paths.ROOT / "test"))
    from engine_suites import group  # pylint: disable=import-outside-toplevel
    group.run(context, report)
