# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn run`: from nothing to LinkBench's numbers on Cairn and InnoDB side by side.

It is `./cairn bench linkbench` at a small scale, with a server left running to look into.
"""

import argparse
import time

from cairn_cli import console, dependencies, ninja, rocksdb, setup
from cairn_cli.bench import command, conditions, registry
from cairn_cli.server import Server

HELP = "set up, build, and compare Cairn with InnoDB by LinkBench"

_WARM_UP_S = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's options."""
    parser.add_argument("--engines", default="cairn,innodb", metavar="LIST",
                        help="engines to compare, in this order (default: %(default)s)")
    parser.add_argument("--ids", type=int, default=400_000, help="nodes of the graph (default: %(default)s)")
    parser.add_argument("--seconds", type=int, default=60, help="length of each run (default: %(default)s)")
    parser.add_argument("--threads", type=int, default=2,
                        help="requesters, two connections each (default: %(default)s)")
    parser.add_argument("--memory-mib", type=int, default=512,
                        help="each server's memory in MiB (default: %(default)s)")
    parser.add_argument("--flush-setting", type=int, choices=(0, 1, 2), default=2,
                        help="flush_log_at_trx_commit of all (default: %(default)s)")
    parser.add_argument("--json", metavar="FILE", help="also write every number to FILE")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand; 0 when every engine ran and its counts are consistent."""
    started_s = time.monotonic()
    setup.ensure()
    ninja.build("release")
    limited = conditions.limits_work()
    words = ["--engines", arguments.engines, "--scale", str(arguments.ids), "--seconds", str(arguments.seconds),
             "--clients", str(arguments.threads), "--memory", f"{arguments.memory_mib}M", "--repeats", "1",
             "--flush-setting", str(arguments.flush_setting), "--warmup", str(_WARM_UP_S)]
    words += [] if limited else ["--no-cgroup"]
    words += ["--json", arguments.json] if arguments.json else []
    memory = f"{arguments.memory_mib} MiB for each server" + (
        "" if limited else " (not enforced: no right to make cgroups here)")
    console.say(f"ready after {time.monotonic() - started_s:.0f} s; LinkBench fb2011 with {arguments.ids:,} ids, "
                f"{arguments.threads} threads, {arguments.seconds} s, {memory}")
    Server().stop()
    code = command.execute(registry.workload("linkbench"), command.parse("linkbench", words), keep="cairn")
    console.say(f"MariaDB {dependencies.load().server_version}, RocksDB {rocksdb.VERSION}; "
                "counts agree with the links on every engine" if code == 0 else "not all went well")
    if Server().pid():
        console.say("")
        console.say("The server with Cairn's graph still runs. Connect: ./cairn sql linkdb")
        console.say(f"(any client: --socket={Server().socket} --user=root). End it: ./cairn stop")
    return code
