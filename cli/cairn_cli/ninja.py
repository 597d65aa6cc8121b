# SPDX-License-Identifier: GPL-2.0-only
"""Runs CMake and Ninja: the steps of a build as progress."""

import os
import re
from pathlib import Path

from cairn_cli import console, locks, paths, process

_STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")


def configure(build_type: str) -> None:
    """Configures one build type of this checkout, anew where it was."""
    directory = paths.build_dir(build_type)
    process.stream(["cmake", "--preset", build_type, f"-DCAIRN_CACHE={paths.cache()}"],
                   lambda _: None, log=directory / "build.log", cwd=paths.ROOT)


def build(build_type: str, *targets: str) -> None:
    """Brings a build type of this checkout up to date, all of it by default; says nothing when it already is."""
    directory = paths.build_dir(build_type)
    if not (directory / "build.ninja").exists():
        configure(build_type)
    with locks.held(directory / ".lock"):
        run(directory, f"build {build_type}", directory / "build.log", *targets)


def run(directory: Path, title: str, log: Path, *targets: str) -> None:
    """Runs Ninja in a folder, politely, on all processors."""
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
