# SPDX-License-Identifier: GPL-2.0-only
"""Group lint: the house rules, each a module under lint/ with check(root) -> problems."""

import importlib
import sys

from cairn_cli import paths, process, ruff
from cairn_cli.errors import CairnError
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
    try:
        program = ruff.obtain()
    except CairnError as problem:
        report.skipped("ruff", f"ruff {ruff.VERSION} cannot be had: {problem}")
        return
    code, said = process.result([program, "check", "--output-format=concise", *folders],
                                cwd=paths.ROOT)
    report.check("ruff", said.splitlines() if code else [])
