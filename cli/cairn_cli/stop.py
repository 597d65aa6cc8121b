# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn stop`: ends the private server in good order."""

import argparse

from cairn_cli import console
from cairn_cli.server import Server

HELP = "stop the private server"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This subcommand takes none of its own."""


def run(_arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand."""
    console.say("stopped" if Server().stop() else "no server runs")
    return 0
