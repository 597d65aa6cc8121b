# SPDX-License-Identifier: GPL-2.0-only
"""sysbench: runs a script of bench/oltp or one of its own on a server, and reads what it prints."""

import re
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cairn_cli import paths, process
from cairn_cli.bench.workload import Target
from cairn_cli.errors import CairnError

DATABASE = "sbtest"
SCRIPTS = paths.ROOT / "bench/oltp"
# Beyond the time a run was given: connecting, and the last event.
_GRACE_S = 1800

_COUNT = re.compile(r"^ +(transactions|queries|ignored errors|reconnects): +(\d+) ")
_SECONDS = re.compile(r"^ +total time: +([0-9.]+)s")
_EVENTS = re.compile(r"^ +total number of events: +(\d+)")
_LATENCY = re.compile(r"^ +(min|avg|max): +([0-9.]+)$")
_BUCKET = re.compile(r"^ +([0-9.]+) \|\** +(\d+)$")
_RESULT = re.compile(r"^result of thread (\d+): (.*)$")


@dataclass(frozen=True)
class Report:
    """What one run printed."""

    events: int
    transactions: int
    queries: int
    errors: int  # deadlocks and the like, after which the event was repeated
    reconnects: int
    seconds: float  # from the start of the threads to the end of the last
    latency: Mapping[str, float]  # of an event: count, mean_ms, p50_ms, p95_ms, p99_ms, max_ms
    results: Mapping[int, str] = field(default_factory=dict)  # by thread: rows that scan.lua prints


def parse(text: str) -> Report:
    """Reads the output of a run with --histogram=on; raises CairnError when it is not complete."""
    counts: dict[str, int] = {}
    latency: dict[str, float] = {}
    buckets: list[tuple[float, int]] = []
    results: dict[int, str] = {}
    seconds = events = None
    for line in text.splitlines():
        if found := _COUNT.match(line):
            counts[found[1]] = int(found[2])
        elif found := _BUCKET.match(line):
            buckets.append((float(found[1]), int(found[2])))
        elif found := _RESULT.match(line):
            results[int(found[1])] = found[2].strip()
        elif found := _LATENCY.match(line):
            latency[found[1]] = float(found[2])
        elif found := _SECONDS.match(line):
            seconds = float(found[1])
        elif found := _EVENTS.match(line):
            events = int(found[1])
    if seconds is None or events is None or len(counts) < 4:
        raise CairnError("sysbench printed no complete report:\n" + "\n".join(text.splitlines()[-20:]))
    return Report(events=events, transactions=counts["transactions"], queries=counts["queries"],
                  errors=counts["ignored errors"], reconnects=counts["reconnects"],
                  seconds=seconds, latency=_latency(events, latency, buckets), results=results)


def percentile(buckets: Sequence[tuple[float, int]], share: float) -> float:
    """The value that `share` of the events do not exceed; 0 without events."""
    total = sum(count for _, count in buckets)
    seen = 0
    for value, count in sorted(buckets):
        seen += count
        if seen >= share * total:
            return value
    return 0.0


def _latency(events: int, printed: Mapping[str, float],
             buckets: Sequence[tuple[float, int]]) -> dict[str, float]:
    """Percentiles from the histogram: --percentile gives but one, and the buckets are 1.8 % apart."""
    return {"count": events, "mean_ms": printed.get("avg", 0.0),
            **{f"p{share}_ms": percentile(buckets, share / 100) for share in (50, 95, 99)},
            "max_ms": printed.get("max", 0.0)}


def server_cpu_seconds(pid: int) -> float:
    """CPU that all threads of a process have used, also those that ended; in nanoseconds' steps."""
    # The clock of another process, as clock_getcpuclockid(3) numbers it.
    return time.clock_gettime((~pid << 3) | 2)


def _server_bytes(pid: int) -> tuple[int, int]:
    """Bytes that a process has had read from, and written to, the device."""
    text = Path(f"/proc/{pid}/io").read_text(encoding="ascii")
    values = dict(line.split(": ") for line in text.splitlines())
    return int(values["read_bytes"]), int(values["write_bytes"])


@dataclass(frozen=True)
class Measured:
    """A run, with what it cost on both sides."""

    report: Report
    server_cpu_seconds: float
    client_cpu_seconds: float
    server_read_bytes: int
    server_written_bytes: int

    def line(self, operations: int) -> dict[str, float]:
        """As a sub-result of an Outcome."""
        return {"operations": operations, "seconds": self.report.seconds,
                "server_cpu_seconds": self.server_cpu_seconds,
                "client_cpu_seconds": self.client_cpu_seconds,
                "server_read_bytes": self.server_read_bytes,
                "server_written_bytes": self.server_written_bytes,
                "events": self.report.events, "errors": self.report.errors,
                **{name: value for name, value in self.report.latency.items() if name != "count"}}


def run(target: Target, script: str, options: Mapping[str, object], *, threads: int = 1,
        seconds: int = 0, events: int = 0, seed: int = 0) -> Measured:
    """Runs a script until its time or its number of events is over; raises CairnError on failure.

    `script` is a file of bench/oltp, or the name of one of sysbench's own. The same seed and one
    thread give the same statements on every engine.
    """
    if not shutil.which("sysbench"):
        raise CairnError("sysbench is not installed: run ./cairn setup")
    argv: list[str | Path] = [
        "sysbench", script, f"--mysql-socket={target.socket}", "--mysql-user=root",
        f"--mysql-db={DATABASE}", f"--threads={threads}", f"--time={seconds}", f"--events={events}",
        f"--rand-seed={seed}", "--rand-type=uniform", "--histogram=on",
        *(f"--{name}={_text(value)}" for name, value in options.items()), "run"]
    reads, writes = _server_bytes(target.pid)
    server, client = server_cpu_seconds(target.pid), client_cpu_seconds()
    code, said = process.result(argv, cwd=SCRIPTS,
                                timeout_s=seconds + _GRACE_S if seconds else None)
    client_used = client_cpu_seconds() - client
    _keep(target.scratch / "sysbench.log", argv, said)
    if code != 0:
        tail = "\n".join(line for line in said.splitlines()[-15:] if line.strip())
        raise CairnError(f"sysbench {script} failed with code {code}:\n{tail}")
    after = _server_bytes(target.pid)
    return Measured(parse(said), server_cpu_seconds(target.pid) - server, client_used,
                    after[0] - reads, after[1] - writes)


def _text(value: object) -> str:
    return {True: "on", False: "off"}[value] if isinstance(value, bool) else str(value)


def client_cpu_seconds() -> float:
    """CPU of all programs that we have started and waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _keep(log: Path, argv: Sequence[str | Path], said: str) -> None:
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8") as sink:
        sink.write("$ " + " ".join(map(str, argv)) + "\n" + said + "\n")
