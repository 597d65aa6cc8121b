# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn status`: what is prepared, built and running."""

import argparse
import json

from cairn_cli import console, dependencies, paths
from cairn_cli.server import Server

HELP = "show what is prepared, built and running"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's options."""
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand; the exit code says whether the server runs."""
    server = Server()
    facts = _facts(server)
    if arguments.json:
        console.say(json.dumps(facts, indent=2))
    else:
        for name, value in facts.items():
            console.say(f"{name.replace('_', ' '):16} {_shown(value)}")
    return 0 if facts["server_pid"] else 1


def _facts(server: Server) -> dict[str, object]:
    found = dependencies.load()
    pid = server.pid()
    facts: dict[str, object] = {
        "cache": str(paths.cache()),
        "server_version": found.server_version or None,
        "rocksdb": found.rocksdb_dir or None,
        "builds": [name for name in paths.BUILD_TYPES if paths.plugin(name).exists()],
        "server_pid": pid,
        "socket": str(server.socket) if pid else None,
        "data": str(server.data) if pid else None,
    }
    if pid and server.answers():
        facts["engine"] = server.query(
            "select concat(plugin_version, ' ', plugin_status) from information_schema.plugins"
            " where plugin_name = 'CAIRN'").strip() or None
    return facts


def _shown(value: object) -> str:
    if isinstance(value, list):
        return " ".join(value) or "none"
    return "-" if value is None else str(value)
