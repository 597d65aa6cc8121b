# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn build`: configures and builds one build type of this checkout."""

import argparse

from cairn_cli import console, ninja, paths, setup

HELP = "build the plugin and its tests"


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
    ninja.build(arguments.build_type)
    console.say(f"built: {paths.plugin(arguments.build_type).relative_to(paths.ROOT)}")
    return 0
