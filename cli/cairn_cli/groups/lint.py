# SPDX-License-Identifier: GPL-2.0-only
"""Group lint: the house rules, each a module under lint/ with check(root) -> problems."""

import importlib
import shutil
import sys

from cairn_cli import paths, process
from cairn_cli.group_report import Report
from cairn_cli.groups import Context

_PYTHON = ("cli", "lint", "test", "bench")


def run(_context: Context, report: Report) -> None:
    """Runs each rule as one test."""
    if str(paths.ROOT) not in sys.path:
        sys.path.insert(0, str(paths.ROOT))
    for module in sorted((paths.ROOT / "lint").glob("rule_*.py")):
        rule = importlib.import_module(f"lint.{module.stem}")
        report.check(module.stem.removeprefix("rule_"), rule.check(paths.ROOT))
    _python(report)


def _python(report: Report) -> None:
    folders = [name for name in _PYTHON if (paths.ROOT / name).is_dir()]
    code, said = process.result([sys.executable, "-m", "compileall", "-q", *folders],
                                cwd=paths.ROOT)
    report.check("python compiles", said.splitlines() if code else [])
    if not shutil.which("ruff"):
        report.skipped("ruff", "ruff is not installed")
        return
    code, said = process.result(["ruff", "check", "--output-format=concise", *folders],
                                cwd=paths.ROOT)
    report.check("ruff", said.splitlines() if code else [])
