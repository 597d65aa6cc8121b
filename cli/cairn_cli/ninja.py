# SPDX-License-Identifier: GPL-2.0-only
"""Runs Ninja: the steps of a build as progress."""

import os
import re
from pathlib import Path

from cairn_cli import console, locks, paths, process

_STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")


def build(build_type: str) -> None:
    """Brings a build type of this checkout up to date; says nothing when it already is."""
    directory = paths.build_dir(build_type)
    log = directory / "build.log"
    if not (directory / "build.ninja").exists():
        process.stream(["cmake", "--preset", build_type, f"-DCAIRN_CACHE={paths.cache()}"],
                       lambda _: None, log=log, cwd=paths.ROOT)
    with locks.held(directory / ".lock"):
        run(directory, f"build {build_type}", log)


def run(directory: Path, title: str, log: Path, *targets: str) -> None:
    """Runs Ninja in a folder, politely, on all processors; says nothing when there is nothing to do."""
    progress = console.Progress(title)
    steps = 0

    def show(line: str) -> None:
        nonlocal steps
        step = _STEP.match(line)
        if step and not step[3].startswith("Re-checking"):
            steps = int(step[2])
            progress.update(int(step[1]), steps, Path(step[3].split()[-1]).name)

    jobs = len(os.sched_getaffinity(0))
    process.stream(["nice", "ninja", "-C", directory, f"-j{jobs}", *targets], show, log=log)
    if steps:
        progress.finish(f"{steps} steps")
