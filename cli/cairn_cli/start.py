# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn start`: the private server, built and prepared if need be."""

import argparse

from cairn_cli import build, console, ninja, setup
from cairn_cli.server import Server

HELP = "start a private server with Cairn in it"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's options."""
    build.add_build_type(parser)
    parser.add_argument("options", nargs="*", metavar="OPTION",
                        help="options for the server, after --")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand."""
    setup.ensure(tsan=arguments.build_type == "tsan")
    ninja.build(arguments.build_type)
    server = Server(build_type=arguments.build_type)
    pid = server.start(arguments.options)
    console.say(f"server {pid} runs; socket {server.socket}")
    console.say("connect with: ./cairn sql")
    return 0
