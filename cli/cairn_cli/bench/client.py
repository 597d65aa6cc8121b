# SPDX-License-Identifier: GPL-2.0-only
"""Runs one of our benchmark clients, which all report in one JSON object."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cairn_cli import process
from cairn_cli.bench.workload import Target
from cairn_cli.errors import CairnError

# Relative width of a bucket of the clients' histogram (bench/client/histogram.h), whose bounds their percentiles are.
PERCENTILE_RESOLUTION = 1 / 64
LATENCY_FIGURES = ("count", "mean_ms", "p50_ms", "p95_ms", "p99_ms", "max_ms")


def run(program: Path, command: str, name: str, target: Target, arguments: Sequence[str],
        progress: Callable[[str], None]) -> dict[str, Any]:
    """Returns the client's object, which may hold an error; its files are called `name`.

    Raises CairnError when it did not get that far, KeyboardInterrupt when it was interrupted.
    """
    if not program.exists():
        raise CairnError(f"{program} was not built")
    out, log = target.scratch / f"{name}.json", target.scratch / f"{name}.log"
    out.unlink(missing_ok=True)
    process.stream([program, command, f"--socket={target.socket}", "--interval=1", f"--json={out}", *arguments],
                   progress, log=log, check=False)
    if not out.exists() or not out.stat().st_size:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-3:]
        raise CairnError(f"{program.name} left no result: " + " ".join(said))
    found = json.loads(out.read_text(encoding="utf-8"))
    if found["interrupted"]:
        raise KeyboardInterrupt
    return found


def latencies(operations: dict[str, dict[str, Any]]) -> dict[str, dict[str, float]]:
    """As an Outcome has them."""
    return {name: {key: each[key] for key in LATENCY_FIGURES} for name, each in operations.items()}
