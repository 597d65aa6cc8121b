# SPDX-License-Identifier: GPL-2.0-only
"""Reads the command line and calls the subcommand's module."""

import argparse
import importlib
import sys

from cairn_cli import console
from cairn_cli.errors import CairnError

# Each is a module with HELP, add_arguments(parser) and run(arguments) -> exit code.
SUBCOMMANDS = ("setup", "build", "run", "bench", "report", "test", "start", "stop", "status",
               "sql", "mtr")


def main(argv: list[str]) -> int:
    """Runs one subcommand; returns the exit code."""
    parser = argparse.ArgumentParser(prog="cairn", description="Build, run and test Cairn.")
    choices = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    modules = {}
    for name in SUBCOMMANDS:
        module = modules[name] = importlib.import_module(f"cairn_cli.{name}")
        module.add_arguments(choices.add_parser(name, help=module.HELP, description=module.HELP))
    # argparse would take a client's first option for its own.
    passed_on = argv[1:] if argv[:1] == ["sql"] else None
    arguments = parser.parse_args(argv[:1] if passed_on is not None else argv)
    if passed_on is not None:
        arguments.arguments = passed_on
    try:
        return modules[arguments.command].run(arguments)
    except CairnError as error:
        console.warn(f"cairn: {error}")
        return 1
    except KeyboardInterrupt:
        console.warn("cairn: interrupted")
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
