# SPDX-License-Identifier: GPL-2.0-only
"""LinkBench on one engine of a fresh private server, and the table that compares engines."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cairn_cli import paths, process
from cairn_cli.errors import CairnError
from cairn_cli.server import Server

ENGINES = ("cairn", "innodb")
# What counts as the database: without InnoDB's redo log, whose size is a setting.
_TABLE_FILES = {"cairn": "#cairn", "innodb": "linkdb"}


@dataclass(frozen=True)
class Options:
    """Size of the graph and of the run; the same for every engine compared."""

    ids: int = 400_000
    seconds: int = 60
    threads: int = 2
    memory_mib: int = 256
    flush_setting: int = 2  # as the published results were made: no fsync at commit
    build_type: str = "release"


def server_options(engine: str, options: Options) -> list[str]:
    """Equal memory and equal durability; InnoDB is set for flash as its published results were."""
    common = ["--skip-log-bin", "--performance-schema=OFF", "--max-connections=100"]
    if engine == "innodb":
        return [*common, f"--innodb-buffer-pool-size={options.memory_mib}M",
                f"--innodb-flush-log-at-trx-commit={options.flush_setting}",
                "--innodb-log-file-size=256M", "--innodb-flush-method=O_DIRECT",
                "--innodb-flush-neighbors=0", "--innodb-io-capacity=2000",
                "--innodb-io-capacity-max=10000"]
    return [*common, f"--cairn-memory={options.memory_mib}M",
            f"--cairn-flush-log-at-trx-commit={options.flush_setting}",
            "--innodb-buffer-pool-size=8M"]


def run_engine(engine: str, options: Options, on_line: Callable[[str], None],
               keep_server: bool = False) -> dict[str, Any]:
    """Loads, runs and validates on a new server; returns the client's JSON object.

    The server's files lie in var/linkbench-<engine> and go away unless `keep_server`.
    """
    client = paths.build_dir(options.build_type) / "bench/linkbench/cairn-linkbench"
    if not client.exists():
        raise CairnError(f"{client} was not built")
    name = "server" if keep_server else f"linkbench-{engine}"
    server = Server(name, options.build_type)
    server.remove()
    result = paths.VAR / f"linkbench-{engine}.json"
    result.unlink(missing_ok=True)
    try:
        pid = server.start(server_options(engine, options), with_cairn=engine == "cairn")
        process.stream(
            [client, "all", f"--engine={engine}", f"--socket={server.socket}",
             f"--ids={options.ids}", f"--threads={options.threads}",
             f"--seconds={options.seconds}", f"--server-pid={pid}", f"--data-dir={server.data}",
             f"--size-path={server.data / _TABLE_FILES[engine]}", f"--json={result}"],
            on_line, log=paths.VAR / f"linkbench-{engine}.log", check=False)
        if not result.exists():
            raise CairnError(f"LinkBench on {engine} left no result; "
                             f"log: {paths.VAR / f'linkbench-{engine}.log'}\n{server.log_tail()}")
        return json.loads(result.read_text(encoding="utf-8"))
    finally:
        if not keep_server:
            server.remove()


def _at(result: dict[str, Any], path: str) -> Any:
    """The value at a dotted path; None where any part of it is missing."""
    value: Any = result
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if int(part) < len(value) else None
        else:
            value = (value or {}).get(part)
    return value


@dataclass(frozen=True)
class Row:
    """One line of the table: where its value is, by preference, and how it is shown."""

    label: str
    sources: tuple[str, ...]
    digits: int = 1
    divisor: float = 1.0

    def value(self, result: dict[str, Any]) -> float | bool | None:
        """The first source that has a value."""
        for source in self.sources:
            found = _at(result, source)
            if isinstance(found, bool):
                return found
            if found is not None:
                return found / self.divisor
        return None

    def text(self, result: dict[str, Any]) -> str:
        """The value as the table shows it."""
        value = self.value(result)
        if value is None:
            return "-"
        if isinstance(value, bool):
            return "yes" if value else "NO"
        return f"{value:,.{self.digits}f}"


_PER = "run.metrics.per_operation."
ROWS = (
    Row("load rows/s", ("load.rows_per_second",), 0),
    Row("transactions/s", ("run.tps",), 0),
    Row("reads/t", (f"{_PER}reads",), 3),
    Row("KB read/t", (f"{_PER}read_kb", f"{_PER}server_read_kb"), 2),
    Row("KB written/t", (f"{_PER}written_kb", f"{_PER}server_written_kb"), 2),
    Row("server CPU µs/t", (f"{_PER}server_cpu_us",), 0),
    Row("database MB", ("run.metrics.sizes.1.allocated_bytes",), 0, 1e6),
    Row("RSS MB", ("run.metrics.server.rss_kb",), 0, 1e3),
    *(Row(f"p99 {name} ms", (f"run.operations.{name}.p99_ms",), 2)
      for name in ("UPDATE_NODE", "GET_NODE", "UPDATE_LINK", "GET_LINKS_LIST")),
    Row("counts consistent", ("validate.consistent",)),
)


def table(results: dict[str, dict[str, Any]]) -> list[str]:
    """Lines of the comparison: a column for each engine, and the ratio of the first two."""
    engines = list(results)
    compared = len(engines) == 2
    head = f"{'':26}" + "".join(f"{name:>14}" for name in engines)
    lines = [head + (f"{'ratio':>10}" if compared else "")]
    for row in ROWS:
        line = f"{row.label:26}" + "".join(f"{row.text(results[name]):>14}" for name in engines)
        if compared:
            line += f"{_ratio(row, *(results[name] for name in engines)):>10}"
        lines.append(line)
    return lines


def _ratio(row: Row, left: dict[str, Any], right: dict[str, Any]) -> str:
    values = row.value(left), row.value(right)
    if any(value is None or isinstance(value, bool) for value in values) or not values[1]:
        return ""
    return f"{values[0] / values[1]:.2f}"


def problems(engine: str, result: dict[str, Any]) -> list[str]:
    """Why a run cannot be trusted; empty when it can."""
    if result.get("ok"):
        return []
    found = [str(result["error"])] if result.get("error") else []
    if failed := _at(result, "run.failed"):
        found.append(f"{failed} requests failed, the last with: {_at(result, 'run.last_error')}")
    found += _at(result, "validate.examples") or []
    return [f"{engine}: {line}" for line in found] or [f"{engine}: the client reports a failure"]


def save(results: dict[str, dict[str, Any]], options: Options, path: Path) -> None:
    """Writes every number of a comparison as one JSON object."""
    shown = {name: {row.label: row.value(result) for row in ROWS}
             for name, result in results.items()}
    path.write_text(json.dumps({"options": vars(options), "table": shown, "results": results},
                               indent=2) + "\n", encoding="utf-8")


def engines_of(text: str) -> Sequence[str]:
    """Parses a list such as cairn,innodb."""
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in ENGINES]:
        raise CairnError(f"no such engine: {' '.join(unknown)} (there are: {' '.join(ENGINES)})")
    return names
