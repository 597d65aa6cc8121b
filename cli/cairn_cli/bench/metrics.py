# SPDX-License-Identifier: GPL-2.0-only
"""What a step cost: exact differences of the kernel's and the engine's counters, and sizes.

All counters are cumulative, so a difference of two readings misses nothing between them. The disk's
are read after a sync at both ends; CPU before the second sync, so that it is the step's alone.
"""

import contextlib
import os
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cairn_cli.bench.engines import Engine

_SECTOR_BYTES = 512
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_KIB = 1024
_SAMPLE_S = 5.0
# Folders of the server's own in a data folder, which are no databases.
_SYSTEM_FOLDERS = ("mysql", "performance_schema", "sys", "lost+found")
_COUNTER = re.compile(r"^([A-Za-z]\w+)\s+(\d+)$", re.MULTILINE)
# Of a disk's line after its name; see the kernel's documentation of I/O statistics.
_DISK_FIELDS = {"reads": 0, "sectors_read": 2, "writes": 4, "sectors_written": 6, "busy_ms": 9,
                "discards": 11, "sectors_discarded": 13, "flushes": 15}

Counters = dict[str, float]


def disk_counters(device: str | None, text: str | None = None) -> Counters | None:
    """A disk's counters since boot; None without a disk."""
    if device is None:
        return None
    lines = (text if text is not None else Path("/proc/diskstats").read_text(encoding="ascii")).splitlines()
    for words in (line.split() for line in lines):
        if words[2] == device:
            raw = {name: int(words[3 + at]) if 3 + at < len(words) else 0
                   for name, at in _DISK_FIELDS.items()}
            return {"reads": raw["reads"], "read_bytes": raw["sectors_read"] * _SECTOR_BYTES,
                    "writes": raw["writes"], "written_bytes": raw["sectors_written"] * _SECTOR_BYTES,
                    "discards": raw["discards"],
                    "discarded_bytes": raw["sectors_discarded"] * _SECTOR_BYTES,
                    "flushes": raw["flushes"], "busy_seconds": raw["busy_ms"] / 1000}
    return None


def process_counters(pid: int, proc: Path = Path("/proc")) -> Counters | None:
    """A process's CPU time and I/O so far; None when it is gone. I/O is left out where not allowed."""
    try:
        after_name = (proc / f"{pid}/stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1]
    except OSError:
        return None
    words = after_name.split()
    if words[0] in ("Z", "X"):
        return None
    counters: Counters = {"cpu_seconds": (int(words[11]) + int(words[12])) / _TICKS_PER_SECOND}
    with contextlib.suppress(OSError):
        rows = dict(_pairs((proc / f"{pid}/io").read_text(encoding="ascii")))
        counters |= {"read_bytes": rows["read_bytes"], "written_bytes": rows["write_bytes"],
                     "cancelled_bytes": rows["cancelled_write_bytes"]}
    return counters


def process_memory(pid: int, proc: Path = Path("/proc")) -> Counters:
    """Resident memory now and at most since `reset_peak`."""
    try:
        rows = dict(_pairs((proc / f"{pid}/status").read_text(encoding="utf-8", errors="replace")))
    except OSError:
        return {}
    return {"rss_bytes": rows.get("VmRSS", 0) * _KIB, "peak_rss_bytes": rows.get("VmHWM", 0) * _KIB}


def reset_peak(pid: int) -> None:
    """Lets the peak of resident memory begin anew, where that is allowed."""
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/clear_refs").write_text("5", encoding="ascii")


def machine_counters(text: str | None = None) -> Counters:
    """CPU time of all and of other guests of the host, and context switches."""
    source = text if text is not None else Path("/proc/stat").read_text(encoding="ascii")
    rows = {line.split()[0]: [int(word) for word in line.split()[1:9]]
            for line in source.splitlines() if line.startswith(("cpu ", "ctxt "))}
    user, nice, system, _idle, _iowait, irq, softirq, steal = rows["cpu"]
    return {"cpu_seconds": (user + nice + system + irq + softirq) / _TICKS_PER_SECOND,
            "steal_seconds": steal / _TICKS_PER_SECOND, "context_switches": rows["ctxt"][0]}


def allocated_bytes(path: Path) -> int:
    """What a file or folder takes on disk; files that go away meanwhile count as nothing."""
    total = 0
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        total += allocated_bytes(Path(entry.path))
                    else:
                        total += entry.stat(follow_symlinks=False).st_blocks * _SECTOR_BYTES
    except NotADirectoryError:
        with contextlib.suppress(OSError):
            total = path.stat().st_blocks * _SECTOR_BYTES
    except OSError:
        pass
    return total


def database_bytes(data: Path, engine: Engine) -> int:
    """What an engine's tables take: its files, or the databases' folders where it has no own ones."""
    if engine.database_files:
        return sum(allocated_bytes(data / name) for name in engine.database_files)
    folders = [item for item in data.iterdir() if item.is_dir()
               and item.name not in _SYSTEM_FOLDERS and not item.name.startswith("#")]
    return sum(allocated_bytes(folder) for folder in folders)


def engine_counters(engine: Engine, query: Callable[[str], str]) -> Counters:
    """The engine's own cumulative numbers, by lower-case name without the engine's prefix."""
    if engine.kind == "cairn":
        text = query("SHOW ENGINE CAIRN STATUS").replace("\\n", "\n")
        return {name.lower(): float(value) for name, value in _COUNTER.findall(text)}
    prefix = "innodb" if engine.client_name == "InnoDB" else "rocksdb"
    text = query(f"SHOW GLOBAL STATUS LIKE '{prefix}\\_%'")
    return {name.lower().removeprefix(f"{prefix}_"): float(value) for name, value in _COUNTER.findall(text)}


def difference(before: Mapping[str, float] | None, after: Mapping[str, float] | None) -> Counters | None:
    """after − before of the counters both have; None if either is missing."""
    if before is None or after is None:
        return None
    return {name: after[name] - before[name] for name in after if name in before}


def engine_summary(engine: Engine, delta: Counters | None) -> dict[str, Any]:
    """An LSM's write amplification is (flushed + compacted) / flushed; of InnoDB none is given."""
    if not delta:
        return {"counters": {}}
    changed = {name: value for name, value in delta.items() if value}
    if engine.client_name == "InnoDB":
        return {"stall_seconds": None, "write_amplification": None, "counters": changed}
    flushed, compacted = delta.get("flush_write_bytes"), delta.get("compact_write_bytes")
    amplification = (flushed + compacted) / flushed if flushed and compacted is not None else None
    return {"flushed_bytes": flushed, "compacted_bytes": compacted,
            "write_amplification": amplification,
            "stall_seconds": delta.get("stall_micros", 0) / 1e6, "counters": changed}


def per_operation(operations: int, disk: Counters | None, server: Counters | None,
                  client_cpu_seconds: float, machine: Counters) -> dict[str, float | None]:
    """The cost of one operation; None where a source is missing."""
    if operations <= 0:
        return {}

    def share(counters: Counters | None, name: str, scale: float = 1.0) -> float | None:
        value = (counters or {}).get(name)
        return None if value is None else value * scale / operations

    return {"reads": share(disk, "reads"), "read_kb": share(disk, "read_bytes", 1 / _KIB),
            "writes": share(disk, "writes"), "written_kb": share(disk, "written_bytes", 1 / _KIB),
            "flushes": share(disk, "flushes"),
            "server_read_kb": share(server, "read_bytes", 1 / _KIB),
            "server_written_kb": share(server, "written_bytes", 1 / _KIB),
            "server_cpu_us": share(server, "cpu_seconds", 1e6),
            "client_cpu_us": client_cpu_seconds * 1e6 / operations,
            "total_cpu_us": share(machine, "cpu_seconds", 1e6),
            "context_switches": share(machine, "context_switches")}


class _Span:
    """A stretch of time in which one server has the machine: readings at its beginning, differences since."""

    def __init__(self, pid: int, device: str | None) -> None:
        self._pid, self._device = pid, device
        self._before = self._read()

    def so_far(self) -> dict[str, Counters | None]:
        """What each source counted until now."""
        after = self._read()
        return {source: difference(self._before[source], after[source]) for source in after}

    def end(self) -> dict[str, Counters | None]:
        """The same at the end: what is left in the page cache is on the disk, at the expense of nobody's CPU."""
        found = self.so_far()
        os.sync()
        return found | {"disk": difference(self._before["disk"], disk_counters(self._device))}

    def _read(self) -> dict[str, Counters | None]:
        return {"disk": disk_counters(self._device), "server": process_counters(self._pid),
                "machine": machine_counters(),
                "own": {"cpu_seconds": sum(os.times()[:2]), "seconds": time.monotonic()}}


def added(first: Mapping[str, Counters | None], second: Mapping[str, Counters | None]) -> dict[str, Counters | None]:
    """The sums of two readings of the same sources; None of a source that one of them lacks."""
    sums: dict[str, Counters | None] = {}
    for source, left in first.items():
        right = second[source]
        sums[source] = None if left is None or right is None else {
            name: left[name] + right[name] for name in left if name in right}
    return sums


@dataclass
class Probe:
    """Reads everything about one server; `start` and `finish` are the two ends of a step.

    Between `pause` and `resume` nothing is counted or sampled: other servers have the machine.
    """

    engine: Engine
    pid: int
    data: Path
    device: str | None
    query: Callable[[str], str]
    cgroup_peak_bytes: Callable[[], int | None] = lambda: None
    _engine_before: Counters = field(default_factory=dict)
    _span: _Span | None = None
    _spent: dict[str, Counters | None] | None = None  # of the spans that ended
    _lock: threading.Lock = field(default_factory=threading.Lock)  # of the two above, for the sampler
    _samples: list[dict[str, float]] = field(default_factory=list)
    _stop: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Syncs, reads all counters, begins to sample."""
        self._engine_before = self._engine_counters()
        reset_peak(self.pid)
        self.resume()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def pause(self) -> None:
        """Ends a stretch; syncs."""
        with self._lock:
            if self._span:
                self._spent, self._span = self._total(self._span.end()), None

    def resume(self) -> None:
        """Begins a stretch, after a sync."""
        os.sync()
        with self._lock:
            self._span = _Span(self.pid, self.device)

    def stop(self) -> None:
        """Ends the sampling; also when the step failed."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def finish(self, operations: int, client_cpu_seconds: float) -> dict[str, Any]:
        """Reads all counters again; the `metrics` of a run (docs/benchmarks.md)."""
        self.pause()
        self.stop()
        spent = self._spent or {}
        server, own, machine = spent.get("server"), spent.get("own") or {}, spent.get("machine") or {}
        memory = process_memory(self.pid)
        engine = engine_summary(self.engine, difference(self._engine_before, self._engine_counters()))
        known = (server or {}).get("cpu_seconds", 0) + client_cpu_seconds + own.get("cpu_seconds", 0)
        machine = machine | {"foreign_cpu_seconds": max(0.0, machine.get("cpu_seconds", 0) - known),
                             "load_1m": os.getloadavg()[0]}
        return {"seconds": own.get("seconds", 0),
                "per_operation": per_operation(operations, spent.get("disk"), server, client_cpu_seconds, machine),
                "disk": spent.get("disk"), "server": server, "machine": machine,
                "memory": memory | {"cgroup_peak_bytes": self.cgroup_peak_bytes()},
                "size": {"database_bytes": database_bytes(self.data, self.engine),
                         "data_bytes": allocated_bytes(self.data)},
                "engine": engine, "samples": self._samples}

    def _engine_counters(self) -> Counters:
        try:
            return engine_counters(self.engine, self.query)
        except Exception:  # noqa: BLE001 - a server that just died; the runner says so
            return {}

    def _total(self, span: dict[str, Counters | None]) -> dict[str, Counters | None]:
        return added(self._spent, span) if self._spent else span

    def _sample(self) -> None:
        while True:
            with self._lock:
                spent = self._total(self._span.so_far()) if self._span else None
            if spent:
                disk, server = spent["disk"] or {}, spent["server"] or {}
                self._samples.append({
                    "second": round((spent["own"] or {}).get("seconds", 0), 1),
                    "database_bytes": database_bytes(self.data, self.engine),
                    "rss_bytes": process_memory(self.pid).get("rss_bytes", 0),
                    "disk_read_bytes": disk.get("read_bytes", 0),
                    "disk_written_bytes": disk.get("written_bytes", 0),
                    "server_cpu_seconds": server.get("cpu_seconds", 0)})
            if self._stop.wait(_SAMPLE_S):
                return


def noise(metrics: Mapping[str, Any], cpus: int) -> list[str]:
    """Sentences about what disturbed a run; empty when it was quiet."""
    capacity_s = metrics["seconds"] * cpus
    machine = metrics["machine"]
    found = []
    if capacity_s > 0 and machine.get("steal_seconds", 0) > 0.02 * capacity_s:
        share = machine["steal_seconds"] / capacity_s
        found.append(f"other guests of the host took {share:.0%} of the CPU")
    if capacity_s > 0 and machine["foreign_cpu_seconds"] > 0.10 * capacity_s:
        share = machine["foreign_cpu_seconds"] / capacity_s
        found.append(f"other processes took {share:.0%} of the CPU")
    return found


def _pairs(text: str) -> list[tuple[str, int]]:
    """Lines such as `name: 12 kB`, those with a number."""
    rows = (line.split(":", 1) for line in text.splitlines() if ":" in line)
    return [(name, int(words[0])) for name, rest in rows
            if (words := rest.split()) and words[0].isdigit()]
