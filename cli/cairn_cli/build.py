# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn build`: configures and builds one build type of this checkout."""

import argparse
import os
import re

from cairn_cli import console, locks, paths, process, setup

HELP = "build the plugin and its tests"

_NINJA_STEP = re.compile(r"^\[(\d+)/(\d+)\] (.*)")


def add_build_type(parser: argparse.ArgumentParser) -> None:
    """Adds the options that choose a build type, kept as `build_type`."""
    group = parser.add_mutually_exclusive_group()
    for name in paths.BUILD_TYPES[1:]:
        group.add_argument(f"--{name}", dest="build_type", action="store_const", const=name,
                           help=f"use the {name} build")
    parser.set_defaults(build_type="release")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's options."""
    add_build_type(parser)


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand."""
    setup.ensure(tsan=arguments.build_type == "tsan")
    build(arguments.build_type)
    console.say(f"built: {paths.plugin(arguments.build_type).relative_to(paths.ROOT)}")
    return 0


def build(build_type: str) -> None:
    """Brings a build type up to date; says nothing when it already is."""
    directory = paths.build_dir(build_type)
    log = directory / "build.log"
    if not (directory / "build.ninja").exists():
        process.stream(["cmake", "--preset", build_type, f"-DCAIRN_CACHE={paths.cache()}"],
                       lambda _: None, log=log, cwd=paths.ROOT)
    progress = console.Progress(f"build {build_type}")
    steps = 0

    def show(line: str) -> None:
        nonlocal steps
        step = _NINJA_STEP.match(line)
        if step and not step[3].startswith("Re-checking"):
            steps = int(step[2])
            progress.update(int(step[1]), steps, step[3].split("/")[-1])

    jobs = len(os.sched_getaffinity(0))
    with locks.held(directory / ".lock"):
        process.stream(["nice", "ninja", "-C", directory, f"-j{jobs}"], show, log=log)
    if steps:
        progress.finish(f"{steps} steps")
