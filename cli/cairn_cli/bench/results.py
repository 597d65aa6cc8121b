# SPDX-License-Identifier: GPL-2.0-only
"""The results of one invocation: collected, summarised, written after each step (docs/benchmarks.md)."""

import datetime
import json
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from cairn_cli import dependencies, paths, process, rocksdb
from cairn_cli.bench.workload import Column, Step
from cairn_cli.spread import relative_spread

KIND = "cairn-bench"
FORMAT = 1


def at(value: Any, path: str) -> Any:
    """The value at a dotted path of an object; None where any part of it is missing."""
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if part.isdigit() and int(part) < len(value) else None
        else:
            value = value.get(part) if isinstance(value, Mapping) else None
    return value


def figure(values: Sequence[float], resolution: float = 0.0) -> dict[str, float | None]:
    """Median, range and relative spread of one figure over the repeats; `resolution` as of a Column."""
    return {"median": statistics.median(values), "min": min(values), "max": max(values),
            "spread": relative_spread(values, resolution)}


@dataclass
class Results:
    """Everything known so far. `path` always holds whole JSON."""

    path: Path
    head: dict[str, Any]
    columns: Sequence[Column]
    steps: Sequence[Step]
    engines: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    complete: bool = False
    ended: str | None = None

    def add(self, run: dict[str, Any]) -> None:
        """Keeps a run's result and writes the file."""
        self.runs.append(run)
        self.write()

    def invalid_engines(self) -> dict[str, str]:
        """Engines of which a run failed its checks, and how: none of their figures count."""
        return {run["engine"]: f"{run['step']}: {run['error']}" for run in reversed(self.runs)
                if run["status"] == "invalid"}

    def summary(self) -> list[dict[str, Any]]:
        """One entry for each step and engine that has at least one good run."""
        invalid = self.invalid_engines()
        entries = []
        for step in self.steps:
            for engine in self.engines:
                runs = [run for run in self.runs if run["engine"] == engine
                        and run["step"] == step.name and run["status"] == "ok"]
                if not runs or engine in invalid:
                    continue
                entries.append({"engine": engine, "step": step.name, "clients": step.clients,
                                "runs": len(runs), "figures": self._figures(runs)})
        return entries

    def to_json(self) -> dict[str, Any]:
        """The object of the file."""
        return {"kind": KIND, "format": FORMAT, **self.head,
                "ended": self.ended, "complete": self.complete,
                "engines": self.engines, "steps": [asdict(step) for step in self.steps],
                "columns": [asdict(column) for column in self.columns], "runs": self.runs,
                "summary": self.summary(), "invalid": self.invalid_engines(),
                "warnings": self.warnings}

    def write(self) -> None:
        """Replaces the file in one step, so that a reader never sees half of it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self.path.with_name(f".{self.path.name}.new")
        fresh.write_text(json.dumps(self.to_json(), indent=1, default=str) + "\n", encoding="utf-8")
        fresh.replace(self.path)

    def _figures(self, runs: Sequence[dict[str, Any]]) -> dict[str, dict[str, float | None]]:
        found = {}
        resolutions = {"rate": 0.0} | {column.path: column.resolution for column in self.columns}
        for path, resolution in resolutions.items():
            values = [value for run in runs if isinstance(value := at(run, path), (int, float))]
            if values:
                found[path] = figure(values, resolution)
        return found


def now_text() -> str:
    """This moment, in UTC."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Of what is measured."""
    commit = process.capture(["git", "-C", paths.ROOT, "describe", "--always", "--dirty"],
                             check=False).strip()
    return {"cairn_commit": commit if " " not in commit else "unknown",
            "mariadb": dependencies.load().server_version, "rocksdb": rocksdb.VERSION}


def machine(data: Path, device: str | None) -> dict[str, Any]:
    """What the figures were made on. Names of hosts and users stay out."""
    queue = Path(f"/sys/block/{device}/queue") if device else None
    cpu_models = [line.split(":", 1)[1].strip() for line in _lines(Path("/proc/cpuinfo"))
                  if line.startswith("model name")]
    memory_kb = [int(line.split()[1]) for line in _lines(Path("/proc/meminfo"))
                 if line.startswith("MemTotal")]
    system = [line.split("=", 1)[1].strip('"') for line in _lines(Path("/etc/os-release"))
              if line.startswith("PRETTY_NAME")]

    def setting(name: str) -> str | None:
        return " ".join(_lines(queue / name)) or None if queue else None

    return {"cpu_model": (cpu_models or [platform.processor()])[0], "cpus": os.cpu_count(),
            "memory_bytes": memory_kb[0] * 1024 if memory_kb else None,
            "kernel": platform.release(), "os": (system or [""])[0], "disk": device,
            "filesystem": _filesystem(data), "rotational": setting("rotational"),
            "read_ahead_kb": setting("read_ahead_kb"), "scheduler": setting("scheduler")}


def _filesystem(path: Path) -> str | None:
    rows = [line.split() for line in _lines(Path("/proc/mounts"))]
    inside = [row for row in rows if path.resolve().is_relative_to(row[1])]
    return max(inside, key=lambda row: len(row[1]))[2] if inside else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
