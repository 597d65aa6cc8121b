# SPDX-License-Identifier: GPL-2.0-only
"""Group bench: every workload of `./cairn bench` at a tiny scale; its checks pass on each engine."""

import contextlib
import io
import json
from typing import Any

from cairn_cli import paths
from cairn_cli.bench import command, conditions, registry
from cairn_cli.errors import CairnError
from cairn_cli.group_report import Report
from cairn_cli.groups import Context

_ENGINES = "cairn,innodb"
_SANITIZED = ("asan", "tsan")


def run(context: Context, report: Report) -> None:
    """One test for each workload and engine; the numbers are too small to mean anything."""
    # Limits where they can be had: a sanitizer needs several times the memory.
    limited = context.build_type not in _SANITIZED and conditions.limits_work()
    for name in registry.NAMES:
        workload = registry.workload(name)
        file = paths.VAR / "bench" / f"test-{name}.json"
        file.unlink(missing_ok=True)
        options = command.parse(name, [*workload.TINY, "--json", str(file), "--engines", _ENGINES,
                                       *([] if limited else ["--no-cgroup"])])
        said = io.StringIO()
        try:
            with contextlib.redirect_stdout(said):
                command.execute(workload, options, build_type=context.build_type)
        except CairnError as error:
            report.failed(name, str(error))
            continue
        found = json.loads(file.read_text(encoding="utf-8"))
        for engine in found["engines"]:
            report.check(f"{name} on {engine}", _problems(found, engine))


def _problems(found: dict[str, Any], engine: str) -> list[str]:
    """Steps that went wrong or are missing."""
    runs = {run["step"]: run for run in found["runs"] if run["engine"] == engine}
    bad = [f"{step}: {run['status']}: {run['error']}" for step, run in runs.items() if run["status"] != "ok"]
    missing = [f"{step['name']}: was not run" for step in found["steps"] if step["name"] not in runs]
    return bad + missing
