# SPDX-License-Identifier: GPL-2.0-only
"""The crash group's command line, and the functions ./cairn calls."""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from . import faults, full_disk
from .rounds import Crashes, Options, Summary
from .server import ENGINES, Server, StartFailed

UNCHECKED = "SET STATEMENT foreign_key_checks = 0 FOR"
PROOFS = {
    "a row deleted behind the model": "DELETE FROM item ORDER BY id LIMIT 1",
    "a row changed behind the model": "UPDATE loose SET note = 'tampered' LIMIT 1",
    "a commit taken out of the ledger": "DELETE FROM ledger ORDER BY seq DESC LIMIT 1",
    "a counter counted twice": "UPDATE counter SET hits = hits + 1 LIMIT 1",
    "children whose parent went": f"{UNCHECKED} DELETE FROM crash_family.parent WHERE id = 0",
    "rows beside loaded ones": "INSERT INTO crash_load.load1 VALUES (-5000, -1, '', ''), (-5001, -2, '', '')",
    "a child that went alone": f"{UNCHECKED} DELETE FROM crash_family.child WHERE slot = 1 LIMIT 1",
}


def crash_rounds(server: Server, options: Options, say: Callable[[str], None]) -> Summary:
    """Runs the rounds in the server's base directory, which must not exist yet."""
    server.base.mkdir(parents=True)
    try:
        return Crashes(server, options, say).run()
    except StartFailed as error:
        return Summary(problems=[str(error)])
    finally:
        server.kill()


def prove(make_server: Callable[[str], Server], say: Callable[[str], None]) -> list[str]:
    """The checks must find what is broken on purpose; gives what they did not find."""
    missed = []
    for number, (name, sql) in enumerate(PROOFS.items()):
        options = Options(rounds=1, flush_setting=1, seed=number, writers=2, xa_writers=0, ddl=False, tamper=sql)
        summary = crash_rounds(make_server(f"proof-{number}"), options, lambda _: None)
        say(f"{'found' if summary.problems else 'MISSED'}: {name}")
        if not summary.problems:
            missed.append(name)
    return missed


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="crash", description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True, help="the private server's prefix")
    parser.add_argument("--plugin-dir", type=Path, help="where ha_cairn.so is, if not in the prefix")
    parser.add_argument("--engine", choices=sorted(ENGINES), default="cairn")
    parser.add_argument("--flush", default="1,2,0", help="settings of flush_log_at_trx_commit")
    parser.add_argument("--promise", type=int, help="check as if the setting were this one")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--writers", type=int, default=6)
    parser.add_argument("--xa-writers", type=int, default=1)
    parser.add_argument("--no-ddl", action="store_true")
    parser.add_argument("--base", type=Path, help="an existing directory for the servers' files")
    parser.add_argument("--part", choices=("rounds", "faults", "full-disk", "prove"), default="rounds")
    parser.add_argument("--server-option", action="append", default=[], help="given to the server as it is")
    return parser.parse_args()


def main() -> int:
    arguments = _arguments()
    base = Path(tempfile.mkdtemp(prefix="cairn-crash-", dir=arguments.base))

    def make_server(name: str) -> Server:
        engine = ENGINES[arguments.engine]
        return Server(arguments.prefix, base / name, engine, arguments.plugin_dir, tuple(arguments.server_option))

    failed = False
    if arguments.part == "prove":
        failed = bool(prove(make_server, print))
    elif arguments.part == "faults":
        failed = bool(faults.run(make_server, print))
    elif arguments.part == "full-disk":
        try:
            problems = full_disk.run(make_server("full"), print)
        except full_disk.Skipped as reason:
            print(f"skipped: {reason}")
            shutil.rmtree(base)
            return full_disk.SKIPPED_EXIT_CODE
        failed = bool(problems)
        for problem in problems:
            print(f"FAILED: {problem}")
    else:
        for setting in (int(text) for text in arguments.flush.split(",")):
            options = Options(
                rounds=arguments.rounds,
                flush_setting=setting,
                seed=arguments.seed,
                writers=arguments.writers,
                xa_writers=arguments.xa_writers,
                ddl=not arguments.no_ddl,
                promise=arguments.promise,
            )
            print(f"{arguments.engine}, flush setting {setting}, seed {arguments.seed}")
            summary = crash_rounds(make_server(f"flush-{setting}"), options, print)
            failed = failed or bool(summary.problems)
            print(
                f"{'FAILED' if summary.problems else 'ok'}: {summary.rounds} rounds, {summary.commits} commits,"
                f" {summary.lost_commits} lost, log ahead by {summary.log_ahead},"
                f" slowest start {summary.recovery_seconds_max:.1f} s"
            )
            for problem in summary.problems:
                print(f"  {problem}")
    if failed:
        print(f"kept for looking at: {base}")
    else:
        shutil.rmtree(base)
    return int(failed)
