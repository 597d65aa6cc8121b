# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn sql`: a client of the private server."""

import argparse

from cairn_cli import process
from cairn_cli.errors import CairnError
from cairn_cli.server import Server

HELP = "open a client of the private server, or hand it ARGS"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Everything after the name belongs to the client."""
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="ARGS")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand; becomes the client."""
    server = Server()
    if server.pid() is None:
        raise CairnError("no server runs: start one with ./cairn start")
    process.replace(server.client(arguments.arguments))
    return 0
