# SPDX-License-Identifier: GPL-2.0-only
"""Results files for the report's tests, made by formulas: the same on each machine."""

import json
import math
from pathlib import Path
from typing import Any

_FACTORS = {"cairn": 1.0, "myrocks": 0.82, "innodb": 0.6, "innodb-compressed": 0.35}
_OPERATIONS = ("ADD_NODE", "UPDATE_NODE", "GET_NODE", "ADD_LINK", "UPDATE_LINK", "GET_LINKS_LIST")


def head(workload: str, unit: str, engines: list[str], **more: Any) -> dict[str, Any]:
    """All of a file but its runs."""
    return {
        "kind": "cairn-bench", "format": 1, "workload": workload, "unit": unit,
        "command": ["./cairn", "bench", workload, "--engines", ",".join(engines), "--memory", "1G"],
        "started": "2026-11-22T01:45:00+00:00", "ended": "2026-11-22T02:45:10+00:00", "complete": True,
        "conditions": {"memory_bytes": 2**30, "device": "fast", "cold": False, "flush_setting": 2, "clients": [2],
                       "repeats": 3, "seconds": 60, "scale": 5e6, "memory_limit": "cgroup v1", "device_limits": {}},
        "machine": {"cpu_model": "Sample CPU @ 2.5 GHz", "cpus": 2, "memory_bytes": 24 * 2**30, "kernel": "6.1.0",
                    "os": "Debian 12", "disk": "vda", "filesystem": "ext4", "rotational": "1",
                    "read_ahead_kb": "8192", "scheduler": "none [mq-deadline] bfq"},
        "versions": {"cairn_commit": "0123abc", "mariadb": "10.11.18", "rocksdb": "11.8.1"},
        "engines": {name: {"client_name": name.upper(), "table_options": "", "settings": [f"--{name}-cache=512M"],
                           "version": "1.0"} for name in engines},
        "warnings": [], **more}


def run(engine: str, step: str, rate: float, *, repeat: int = 0, clients: int = 2, seconds: int = 60,
        latencies: bool = True) -> dict[str, Any]:
    """One run with all metrics, from the engine's factor."""
    factor = _FACTORS.get(engine, 0.5)
    operations = int(rate * seconds)
    series = [{"second": second, "operations": rate * (1 + 0.08 * math.sin(second / 3 + 9 * factor)),
               "max_ms": 4 / factor + 60 * (second % 17 == 5)} for second in range(1, seconds + 1)]
    found = {name: {"count": operations // 6, "p50_ms": 0.1 / factor, "p95_ms": 0.3 / factor,
                        "p99_ms": (0.4 + 0.2 * index) / factor, "max_ms": 40.0}
                 for index, name in enumerate(_OPERATIONS)}
    samples = [{"second": second, "database_bytes": int(2e9 / factor * (1 + 0.2 * math.sin(second / 40 + repeat / 3))),
                "rss_bytes": 4e8} for second in range(0, seconds + 1, 5)]
    return {"engine": engine, "step": step, "clients": clients, "repeat": repeat, "status": "ok", "error": "",
            "started": "2026-11-22T01:46:00+00:00", "wall_seconds": seconds, "rate": rate,
            "outcome": {"operations": operations, "unit": "transaction", "seconds": seconds,
                        "client_cpu_seconds": 1.0, "latencies": found if latencies else {}, "series": series,
                        "lines": {}, "problems": [], "detail": {}},
            "metrics": {"per_operation": {"reads": 0.5 / factor, "written_kb": 0.4 / factor**3,
                                          "server_cpu_us": 80 / factor},
                        "size": {"database_bytes": int(2e9 / factor)}, "samples": samples},
            "noise": []}


COLUMNS = [
    {"label": "transactions/s", "path": "rate", "digits": 0, "better": "higher"},
    {"label": "reads/t", "path": "metrics.per_operation.reads", "digits": 2, "better": "lower"},
    {"label": "KB written/t", "path": "metrics.per_operation.written_kb", "digits": 2, "better": "lower"},
    {"label": "server CPU µs/t", "path": "metrics.per_operation.server_cpu_us", "digits": 0, "better": "lower"},
    {"label": "database MB", "path": "metrics.size.database_bytes", "digits": 0, "better": "lower",
     "divisor": 1e6},
    {"label": "p99 UPDATE_NODE ms", "path": "outcome.latencies.UPDATE_NODE.p99_ms", "digits": 2,
     "better": "lower"},
]


def step(name: str, clients: int = 1, *, repeatable: bool = False, **more: Any) -> dict[str, Any]:
    """As the file declares it."""
    return {"name": name, "clients": clients, "repeatable": repeatable, "shown": True, "detail": {}, **more}


def linkbench() -> dict[str, Any]:
    """A load, three repeats of the queries, a check; one engine failed its checks, one was killed."""
    engines = ["cairn", "innodb", "myrocks", "innodb-compressed"]
    runs = [run(engine, "load", 2e5 * _FACTORS[engine], clients=3, seconds=int(50 / _FACTORS[engine]))
            for engine in engines]
    for repeat in range(3):
        for engine in engines:
            rate = 2e4 * _FACTORS[engine] * (1 - 0.03 * repeat)
            runs.append(run(engine, "query", rate, repeat=repeat))
    runs += [run(engine, "validate", 1e5, clients=1, latencies=False) for engine in engines if engine != "myrocks"]
    runs[-1].update(status="invalid", error="3 counts differ | from their links")
    killed = runs[14]
    killed.update(status="failed", rate=None, error="killed by the kernel:\nout of memory", outcome=None, metrics=None)
    runs[5].update(noise=["other processes took 12% of the CPU"])
    return head("linkbench", "transaction", engines, columns=COLUMNS, runs=runs, complete=False, ended=None,
                steps=[step("load", 3), step("query", 2, repeatable=True), step("validate", shown=False)],
                warnings=["innodb query 1/3: other processes took 12% of the CPU"])


def insert() -> dict[str, Any]:
    """Two loads, the making of an index, whose line is a statement, and a step of queries, cut off."""
    engines = ["cairn", "innodb"]
    names = ("l.i0", "l.x", "l.i1", "ib2024.qr100")
    runs = []
    for number, name in enumerate(names):
        for engine in engines:
            made = run(engine, name, 5e4 * _FACTORS[engine] / 4**number, clients=1, seconds=400)
            made["outcome"]["unit"] = "query" if name.endswith("qr100") else "row"
            if name == "l.x":
                made["outcome"].update(series=[], latencies={}, lines={
                    "ALTER TABLE pi1 ADD INDEX pi1_marketsegment (productid, customerid, price)": {
                        "operations": 1000, "seconds": 2 / _FACTORS[engine]}})
            for point in made["outcome"]["series"]:
                if engine == "innodb":
                    point["operations"] *= math.exp(-point["second"] / 90)
            runs.append(made)
    return head("insert", "row", engines, columns=COLUMNS[:3], runs=runs[:-1], complete=False, ended=None,
                steps=[step(name, repeatable=name.endswith("qr100")) for name in names])


def lined(engine: str, name: str, repeat: int, lines: dict[str, Any], unit: str) -> dict[str, Any]:
    """A run whose figures are those of its lines."""
    made = run(engine, name, 1e4, repeat=repeat, clients=1)
    made["outcome"].update(lines=lines, latencies={}, series=[], unit=unit)
    made["metrics"] = {"size": {"database_bytes": int(2e8 / _FACTORS[engine])}}
    return made


def oltp() -> dict[str, Any]:
    """Micro-benchmarks as lines of one step, twice."""
    engines = ["cairn", "innodb", "myrocks"]
    names = [f"{kind}-{what}" for kind in ("points", "range", "update", "scan")
             for what in ("covered-pk", "notcovered-si", "zipf")]
    runs = []
    for repeat in range(2):
        for engine in engines:
            lines = {}
            for index, name in enumerate(names):
                operations = 1e5 * _FACTORS[engine] * (0.45 + 0.13 * index if engine == "cairn" else 1)
                lines[name] = {"operations": int(operations * (1 + 0.02 * repeat)), "seconds": 10.0,
                               "server_cpu_seconds": 9.0, "p99_ms": 0.25}
            runs.append(lined(engine, "lines", repeat, lines, "query"))
    return head("oltp", "query", engines, columns=[COLUMNS[0], COLUMNS[4]], runs=runs,
                steps=[step("lines", repeatable=True)])


def scan() -> dict[str, Any]:
    """Lines of the same names in two steps."""
    engines = ["cairn", "innodb"]
    runs = [lined(engine, name, 0, {kind: {"operations": 1_000_000, "seconds": slow * (index + 1) / _FACTORS[engine],
                                           "server_cpu_seconds": slow * (index + 1) / _FACTORS[engine]}
                                    for index, kind in enumerate(("full", "count"))}, "row")
            for name, slow in (("scan-before", 0.1), ("scan-after", 0.12)) for engine in engines]
    return head("scan", "row", engines, columns=COLUMNS[:1], runs=runs,
                steps=[step("scan-before", repeatable=True), step("scan-after", repeatable=True)])


def memtable() -> dict[str, Any]:
    """A sweep without a server: one step, its repeats within."""
    sizes = [1, 2, 4, 8, 16, 32, 64, 128]
    fills = {str(size): [{"inserted": 900_000, "process_cpu_seconds": 1.1,
                          "seconds": (1 + 0.15 * math.log2(size) + 0.2 * (size == 1)) * (1 + repeat / 50)}
                         for repeat in range(3)] for size in sizes}
    lines = {f"{size} MiB": {"operations": 900_000, "seconds": fills[str(size)][1]["seconds"],
                             "server_cpu_seconds": 1.1} for size in sizes}
    runs = [{"engine": "rocksdb", "step": "sweep", "clients": 1, "repeat": 0, "status": "ok", "error": "",
             "wall_seconds": 50.0, "rate": 5e5, "metrics": None,
             "outcome": {"operations": 1, "unit": "row", "seconds": 9.0, "lines": lines,
                         "detail": {"cpu_caches": {"L1d": "32K", "L2": "1024K"}, "fills": fills}}}]
    made = head("memtable", "row", ["rocksdb"], steps=[step("sweep")], runs=runs,
                columns=[{"label": f"{size} MiB inserts/s", "path": f"outcome.lines.{size} MiB.rate", "digits": 0,
                          "better": "higher"} for size in sizes])
    made["conditions"] = {"repeats": 1, "scale": 0.9}
    made["engines"]["rocksdb"]["settings"] = []
    return made


def write(folder: Path) -> None:
    """All of them as files."""
    for made in (linkbench(), insert(), oltp(), scan(), memtable()):
        (folder / f"{made['workload']}.json").write_text(json.dumps(made), encoding="utf-8")
