# SPDX-License-Identifier: GPL-2.0-only
"""Workload memtable: the insert rate of our RocksDB by the size of its write buffer.

bench/memtable/README.md says what is taken from the published sweep and what is different.
"""

import argparse
import json
import random
import statistics
from collections.abc import Callable
from pathlib import Path

from cairn_cli import paths, process
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.workload import Column, Conditions, Outcome, Step, Target
from cairn_cli.errors import CairnError
from cairn_cli.spread import relative_spread

_SIZES_MIB = (1, 2, 4, 8, 16, 32, 64, 128)
_CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SHUFFLE_SEED = 20160118  # any: the order is random, but the same in every invocation
_BATCH = 8


class MemtableWorkload:
    """One step: all sizes, several times, in shuffled order."""

    NAME = "memtable"
    HELP = "insert rate against write buffer size, without log and compaction, on our RocksDB"
    UNIT = "row"
    NEEDS_SERVER = False
    LARGE_DATA = False
    TINY = ("--scale", "50000", "--sizes", "1,4", "--repeats", "2")
    DEFAULTS = Conditions(scale=10_000_000, repeats=3)  # inserts at each size

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """The number of inserts at each size is --scale, that of fills at each --repeats."""
        parser.add_argument("--sizes", default=",".join(map(str, _SIZES_MIB)), metavar="LIST",
                            help="write buffer sizes in MiB (default: %(default)s)")
        parser.add_argument("--key-bytes", type=int, default=16, help="(default: %(default)s)")
        parser.add_argument("--value-bytes", type=int, default=100, help="(default: %(default)s)")
        parser.add_argument("--memtable", choices=("tree", "skip_list", "vector"), default="tree",
                            help="how a write buffer keeps its keys (default: %(default)s)")

    def steps(self, options: argparse.Namespace) -> list[Step]:
        """One for the runner: the repeats are within the step, shuffled with the sizes."""
        sizes_of(options.sizes)
        return [Step("sweep", repeatable=False)]

    def disk_bytes_needed(self, options: argparse.Namespace, engine: Engine) -> int:
        """One fill; each deletes its database."""
        return keys_of(options) * (options.key_bytes + options.value_bytes + 32)

    def run_step(self, step: Step, target: Target, options: argparse.Namespace,
                 progress: Callable[[str], None]) -> Outcome:
        """Fills anew for each size and repeat; a line's figures are medians of its repeats."""
        order = [size for size in sizes_of(options.sizes) for _ in range(options.conditions.repeats)]
        random.Random(_SHUFFLE_SEED).shuffle(order)
        fills: dict[int, list[dict[str, float]]] = {}
        for number, size in enumerate(order, start=1):
            progress(f"{number} of {len(order)}: {size} MiB")
            fills.setdefault(size, []).append(_fill(size, target.scratch, options))
        every = [fill for size in fills for fill in fills[size]]
        return Outcome(
            operations=sum(int(fill["inserted"]) for fill in every), unit="row",
            seconds=sum(fill["seconds"] for fill in every),
            client_cpu_seconds=sum(fill["process_cpu_seconds"] for fill in every),
            lines={f"{size} MiB": line(fills[size]) for size in sorted(fills)},
            detail={"order_mib": order, "cpu_caches": cpu_caches(), "fills": fills,
                    "batch": _BATCH, "memtable": options.memtable})

    def columns(self, options: argparse.Namespace) -> list[Column]:
        """The rate and the inserting thread's CPU at each size."""
        columns = []
        for size in sizes_of(options.sizes):
            path = f"outcome.lines.{size} MiB"
            columns += [Column(f"{size} MiB inserts/s", f"{path}.rate", 0, "higher"),
                        Column(f"{size} MiB spread %", f"{path}.rate_spread_percent", 1, "lower"),
                        Column(f"{size} MiB CPU ns/insert", f"{path}.writer_cpu_ns", 0, "lower")]
        return columns

    def summary(self, results: dict, _base: str) -> list[str]:
        """The sizes of the CPU's caches, beside which the curve must be read."""
        caches = [run["outcome"]["detail"]["cpu_caches"] for run in results["runs"] if run["status"] == "ok"]
        return [""] + [f"CPU cache {name}: {size}" for name, size in caches[0].items()] if caches else []


def sizes_of(text: str) -> list[int]:
    """The sizes in MiB of a comma-separated list."""
    try:
        sizes = [int(word) for word in text.split(",")]
    except ValueError:
        sizes = []
    if not sizes or min(sizes) < 1:
        raise CairnError(f"--sizes: '{text}' is no list of whole MiB such as 1,2,4")
    return list(dict.fromkeys(sizes))


def keys_of(options: argparse.Namespace) -> int:
    """Inserts in each fill."""
    return int(options.conditions.scale)


def line(fills: list[dict[str, float]]) -> dict[str, float]:
    """The medians of one size's fills."""
    middle = {name: statistics.median(fill[name] for fill in fills)
              for name, value in fills[0].items() if isinstance(value, (int, float))}
    rates = [fill["inserts_per_second"] for fill in fills]
    rate = middle["inserts_per_second"]
    return {"operations": middle["inserted"], "seconds": middle["seconds"],
            "server_cpu_seconds": middle["process_cpu_seconds"],
            "rate": rate, "rate_spread_percent": 100 * (relative_spread(rates) or 0.0),
            "writer_cpu_ns": middle["writer_cpu_seconds"] * 1e9 / middle["inserted"],
            "stall_seconds": middle["stall_us"] / 1e6, "flushed_bytes": middle["flushed_bytes"],
            "files": middle["files"]}


def cpu_caches(directory: Path = _CPU_CACHES) -> dict[str, str]:
    """Sizes of the first core's data caches, e.g. {"L2": "1024K"}; empty where the kernel does not say."""
    found = {}
    for index in sorted(directory.glob("index*")):
        try:
            level, kind, size = ((index / name).read_text(encoding="ascii").strip()
                                 for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def _fill(size_mib: int, scratch: Path, options: argparse.Namespace) -> dict[str, float]:
    program = paths.build_dir("release") / "bench/memtable/cairn-memtable"
    if not program.exists():
        raise CairnError(f"{program} was not built")
    code, said = process.result([
        program, "insert", f"--directory={scratch / 'memtable'}", f"--write-buffer-mib={size_mib}",
        f"--keys={keys_of(options)}", f"--batch={_BATCH}", f"--key-bytes={options.key_bytes}",
        f"--value-bytes={options.value_bytes}", f"--memtable={options.memtable}"])
    if code != 0:
        raise CairnError(f"cairn-memtable failed with code {code}:\n{said.rstrip()}")
    return json.loads(said)


WORKLOAD = MemtableWorkload()
