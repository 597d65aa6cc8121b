# SPDX-License-Identifier: GPL-2.0-only
"""The group engine-suites of `./cairn test`: storage_engine by the yardstick, then the engines suites."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from cairn_cli import dependencies, paths, tree
from cairn_cli.group_report import Report
from cairn_cli.groups import Context

from . import baseline, yardstick
from .tree import writable_memory

_YARDSTICK_TESTS, _ENGINES_TESTS = 121, 1047


def run(context: Context, report: Report) -> None:
    """Runs both on the plugin of the build; logs are kept in var/engine-suites."""
    prefix, plugin = dependencies.require().prefix, paths.plugin(context.build_type)
    environment = tree.sanitizer_environment(context.build_type)
    report.expected_count = _YARDSTICK_TESTS + (0 if context.quick else _ENGINES_TESTS)
    work = Path(tempfile.mkdtemp(prefix="cairn-suites-", dir=writable_memory()))
    try:
        yardstick.compare(prefix, plugin, work, report.take, environment=environment)
        if not context.quick:
            baseline.compare(prefix, plugin, work, report.take, environment=environment)
    finally:
        _keep_logs(work)
        shutil.rmtree(work, ignore_errors=True)


def _keep_logs(work: Path) -> None:
    kept = paths.VAR / "engine-suites"
    kept.mkdir(parents=True, exist_ok=True)
    for log in work.glob("*.log"):
        shutil.copy(log, kept)
