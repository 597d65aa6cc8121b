# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn run`: from nothing to LinkBench's numbers on Cairn and InnoDB side by side."""

import argparse
import time
from pathlib import Path

from cairn_cli import build, console, dependencies, linkbench, rocksdb, setup
from cairn_cli.server import Server

HELP = "set up, build, and compare Cairn with InnoDB by LinkBench"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's options."""
    default = linkbench.Options()
    parser.add_argument("--engines", default=",".join(linkbench.ENGINES), metavar="LIST",
                        help="engines to compare, in this order (default: %(default)s)")
    parser.add_argument("--ids", type=int, default=default.ids,
                        help="nodes of the graph (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=default.seconds,
                        help="length of each run (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=default.threads,
                        help="requesters, two connections each (default: %(default)s)")
    parser.add_argument("--memory-mib", type=int, default=default.memory_mib,
                        help="each engine's memory in MiB (default: %(default)s)")
    parser.add_argument("--flush-setting", type=int, choices=(0, 1, 2),
                        default=default.flush_setting,
                        help="flush_log_at_trx_commit of both (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every number to FILE")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand; 0 when every engine ran and its counts are consistent."""
    started_s = time.monotonic()
    engines = linkbench.engines_of(arguments.engines)
    setup.ensure()
    build.build("release")
    options = linkbench.Options(ids=arguments.ids, seconds=arguments.seconds,
                                threads=arguments.threads, memory_mib=arguments.memory_mib,
                                flush_setting=arguments.flush_setting)
    console.say(f"ready after {time.monotonic() - started_s:.0f} s; LinkBench fb2011 with "
                f"{options.ids:,} ids, {options.threads} threads, {options.seconds} s, "
                f"{options.memory_mib} MiB for each engine")
    Server().stop()
    results, problems = {}, []
    # Cairn last: its server stays, for the user to look into.
    for engine in sorted(engines, key=lambda name: name == "cairn"):
        console.say(f"{engine}:")
        results[engine] = linkbench.run_engine(
            engine, options, lambda line: console.say(f"  {line}"), keep_server=engine == "cairn")
        problems += linkbench.problems(engine, results[engine])
    results = {engine: results[engine] for engine in engines}
    _print(results, problems)
    if arguments.json:
        linkbench.save(results, options, arguments.json)
    return 1 if problems else 0


def _print(results: dict[str, dict[str, object]], problems: list[str]) -> None:
    version = dependencies.load().server_version
    console.say("")
    console.say(f"LinkBench, MariaDB {version}, RocksDB {rocksdb.VERSION}")
    for line in linkbench.table(results):
        console.say(line)
    for problem in problems:
        console.say(f"problem: {problem}")
    server = Server()
    if server.pid():
        console.say("")
        console.say("The server with Cairn's graph still runs. Connect: ./cairn sql linkdb")
        console.say(f"(any client: --socket={server.socket} --user=root). End it: ./cairn stop")
