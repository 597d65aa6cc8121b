# SPDX-License-Identifier: GPL-2.0-only
"""Group differential: random histories on InnoDB and on Cairn, side by side (test/differential)."""

import shutil
import sys
import tempfile

from cairn_cli import paths, process, tree
from cairn_cli.group_report import Report
from cairn_cli.groups import Context

# Always the same histories, so that a failure can be had again; as many of them as there is time for.
_SEEDS = 40
_STATEMENTS = 100
_SECONDS = {"tables": 15, "families": 20, "turns": 10, "conditions": 15, "plain": 15, "periods": 10}


def run(context: Context, report: Report) -> None:
    """One test for each kind of history; a failure prints the seed and the statements."""
    for kind, seconds in _SECONDS.items():
        base = tree.prepare(context.build_type)
        said: list[str] = []
        # A short path: the server's socket lies in it. It stays when something failed.
        scratch = tempfile.mkdtemp(prefix="cairn-differential-")
        code = process.stream(
            [sys.executable, "-m", "differential", f"--prefix={base}", f"--base={scratch}", f"--kind={kind}",
             f"--seeds={_SEEDS}", f"--statements={_STATEMENTS}", f"--seconds={seconds}"],
            said.append, log=paths.VAR / "differential" / f"{kind}.log", cwd=paths.ROOT, check=False,
            env={"PYTHONPATH": str(paths.ROOT / "test"), "PYTHONUNBUFFERED": "1",
                 **tree.sanitizer_environment(context.build_type)})
        if code == 0:
            shutil.rmtree(scratch)
        report.check(f"histories of {kind}", said[-80:] if code else [])
