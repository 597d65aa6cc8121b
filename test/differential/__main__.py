# SPDX-License-Identifier: GPL-2.0-only
"""python3 -m differential: random histories on InnoDB and Cairn; prints those that differ."""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from crash.server import ENGINES, Server

from . import interleave
from .conditions import run_conditions
from .foreign import run_family
from .periods import run_periods
from .plain import run_plain
from .runner import Difference, run_history

KINDS = ("tables", "families", "turns", "conditions", "plain", "periods")


def _run(server: Server, kind: str, seed: int, statements: int) -> Difference | None:
    if kind == "tables":
        return run_history(server, seed, statements)
    if kind == "families":
        return run_family(server, seed, statements)
    if kind == "conditions":
        return run_conditions(server, seed, statements)
    if kind == "plain":
        return run_plain(server, seed, statements)
    if kind == "periods":
        return run_periods(server, seed, statements)
    level = interleave.READ_COMMITTED if seed % 2 else interleave.REPEATABLE_READ
    return interleave.run_turns(server, seed, statements, level)


def _run_all(
    run: Callable[[str, int], Difference | None], seeds: range, kinds: tuple[str, ...], seconds_max: float
) -> tuple[int, list[Difference]]:
    """Gives how many histories were run, and those that differ. No new one is begun after `seconds_max`."""
    count, found = 0, []
    began = time.monotonic()
    for seed in seeds:
        for kind in kinds:
            if time.monotonic() - began >= seconds_max:
                return count, found
            count += 1
            difference = run(kind, seed)
            if difference:
                found.append(difference)
                print(f"{kind}, {difference}", flush=True)
    return count, found


def main() -> int:
    parser = argparse.ArgumentParser(prog="differential", description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True, help="the private server's prefix")
    parser.add_argument("--plugin-dir", type=Path, help="where ha_cairn.so is, if not in the prefix")
    parser.add_argument("--base", type=Path, help="an existing directory for the server's files")
    parser.add_argument("--kind", choices=KINDS, action="append", help="which histories; all when not given")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--statements", type=int, default=150)
    parser.add_argument("--seconds", type=float, default=1e9, help="begin no history after so many")
    arguments = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="cairn-differential-", dir=arguments.base))
    server = Server(arguments.prefix, base / "server", ENGINES["cairn"], arguments.plugin_dir, ("--innodb",))
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
    try:
        server.initialise()
        server.start()
        run = functools.partial(_run, server, statements=arguments.statements)
        count, found = _run_all(run, seeds, tuple(arguments.kind or KINDS), arguments.seconds)
        server.stop()
    finally:
        server.kill()
    print(f"{len(found)} of {count} histories differ")
    shutil.rmtree(base)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
