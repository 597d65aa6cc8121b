# SPDX-License-Identifier: GPL-2.0-only
"""Group crash: kill -9 under load, damaged files, a full disk, then checks (test/crash)."""

import shutil
import sys
import tempfile

from cairn_cli import paths, process, tree
from cairn_cli.group_report import Report
from cairn_cli.groups import Context

_FLUSH_SETTINGS = (1, 2, 0)
_ROUNDS = 4
_ROUNDS_QUICK = 1
# What test/crash/full_disk.py ends with where it cannot be made.
_SKIPPED_EXIT_CODE = 77


def run(context: Context, report: Report) -> None:
    """One test for each flush setting, one for the faults, one for a full disk, one that the checks can fail."""
    rounds = _ROUNDS_QUICK if context.quick else _ROUNDS
    for setting in _FLUSH_SETTINGS:
        _part(context, report, f"kill at flush setting {setting}",
              ["--part=rounds", f"--flush={setting}", f"--rounds={rounds}"])
    _part(context, report, "faults", ["--part=faults"])
    _part(context, report, "full disk", ["--part=full-disk"])
    _part(context, report, "the checks find what is broken on purpose", ["--part=prove"])


def _part(context: Context, report: Report, name: str, arguments: list[str]) -> None:
    base = tree.prepare(context.build_type)
    said: list[str] = []
    # A short path: the servers' sockets lie in it. It stays when something failed.
    scratch = tempfile.mkdtemp(prefix="cairn-crash-")
    code = process.stream(
        [sys.executable, "-m", "crash", f"--prefix={base}", f"--base={scratch}", *arguments],
        said.append, log=paths.VAR / "crash" / f"{name.replace(' ', '-')}.log",
        cwd=paths.ROOT, check=False,
        env={"PYTHONPATH": str(paths.ROOT / "test"), "PYTHONUNBUFFERED": "1",
             **tree.sanitizer_environment(context.build_type)})
    if code in (0, _SKIPPED_EXIT_CODE):
        shutil.rmtree(scratch)
    if code == _SKIPPED_EXIT_CODE:
        report.skipped(name, said[-1].removeprefix("skipped: "))
        return
    report.check(name, said[-40:] if code else [])
