# SPDX-License-Identifier: GPL-2.0-only
"""python3 -m differential: random histories on InnoDB and Cairn; prints those that differ."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

from crash.server import ENGINES, Server

from . import runner


def main() -> int:
    parser = argparse.ArgumentParser(prog="differential", description=__doc__)
    parser.add_argument("--prefix", type=Path, required=True, help="the private server's prefix")
    parser.add_argument("--plugin-dir", type=Path, help="where ha_cairn.so is, if not in the prefix")
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--statements", type=int, default=150)
    arguments = parser.parse_args()
    base = Path(tempfile.mkdtemp(prefix="cairn-differential-"))
    server = Server(arguments.prefix, base, ENGINES["cairn"], arguments.plugin_dir)
    try:
        server.initialise()
        server.start()
        seeds = range(arguments.first_seed, arguments.first_seed + arguments.seeds)
        found = runner.run(server, seeds, arguments.statements, print)
        server.stop()
    finally:
        server.kill()
    print(f"{len(found)} of {arguments.seeds} histories differ")
    shutil.rmtree(base)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
