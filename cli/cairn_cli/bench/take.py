# SPDX-License-Identifier: GPL-2.0-only
"""One step of one engine while it runs: its parts, what is measured around them, its entry in the results."""

import argparse
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cairn_cli import console, paths
from cairn_cli.bench import flash, metrics, results
from cairn_cli.bench.block_trace import BlockTrace
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.instance import Instance
from cairn_cli.bench.workload import Outcome, Step, Target, Workload
from cairn_cli.errors import CairnError


@dataclass(frozen=True)
class Surroundings:
    """What all steps of an invocation share."""

    workload: Workload
    options: argparse.Namespace
    device: str | None
    cpus: int
    block_trace: bool
    warn: Callable[[str], None]


@dataclass
class Take:
    """A repeat of a step on one engine. `advance` until it says that it is done; then `close`."""

    around: Surroundings
    engine: Engine
    step: Step
    repeat: int
    entry: dict[str, Any] = field(init=False)
    _progress: console.Progress = field(init=False)
    _parts: Generator[None, None, Outcome] | None = None
    _probe: metrics.Probe | None = None
    _trace: BlockTrace | None = None
    _started_s: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._progress = console.Progress(self.title)
        self.entry = {
            "engine": self.engine.name, "step": self.step.name, "clients": self.step.clients,
            "repeat": self.repeat, "status": "failed", "error": "", "started": results.now_text(),
            "rate": None, "outcome": None, "metrics": None, "noise": []}

    @property
    def title(self) -> str:
        """Engine, step, and which repeat."""
        repeats = self.around.options.conditions.repeats if self.step.repeatable else 1
        return f"{self.engine.name} {self.step.name}" + (f" {self.repeat + 1}/{repeats}" if repeats > 1 else "")

    def advance(self, instance: Instance | None, target: Target) -> bool:
        """Runs the next part on a server that runs; True when it was the last. Raises what the workload raises."""
        self.around.options.repeat = self.repeat
        if self._parts is None:
            self._begin(instance, target)
        elif self._probe:
            self._probe.resume()
        assert self._parts
        try:
            next(self._parts)
        except StopIteration as end:
            self._finish(instance, end.value)
            return True
        if self._probe:
            self._probe.pause()
        return False

    def fail(self, status: str, why: str = "", outcome: Outcome | None = None) -> None:
        """The step broke off."""
        self.entry |= {"status": status, "error": why}
        if outcome:
            self.entry["outcome"] = vars(outcome)

    def close(self) -> None:
        """Ends what measures and says how it went."""
        if self._probe:
            self._probe.stop()
        if self._trace:
            self._trace.close()
        self.entry["wall_seconds"] = time.monotonic() - self._started_s
        self._progress.finish(self._line())
        for sentence in self.entry["noise"]:
            self.around.warn(f"{self.title}: {sentence}")

    def _begin(self, instance: Instance | None, target: Target) -> None:
        workload, options, note = self.around.workload, self.around.options, self._progress.note
        if instance:
            self._probe = metrics.Probe(self.engine, target.pid, target.data, self.around.device, target.query,
                                        instance.cgroup_peak_bytes)
            if warm_up := getattr(workload, "warm_up", None):
                warm_up(self.step, target, options, note)
            self._probe.start()
            if self.around.block_trace and self.around.device:
                self._trace = BlockTrace(self.around.device)
        in_parts = getattr(workload, "parts", None) if self.step.repeatable else None
        self._parts = (in_parts or _whole(workload))(self.step, target, options, note)

    def _finish(self, instance: Instance | None, outcome: Outcome) -> None:
        entry = self.entry
        if instance and self._probe:
            if not instance.alive():
                entry["outcome"] = vars(outcome)
                raise CairnError("the server is gone")
            entry["metrics"] = self._probe.finish(outcome.operations, outcome.client_cpu_seconds)
            if self._trace:
                self._progress.note("simulating flash")
                entry["metrics"]["flash"] = self._flash(self._trace, entry["metrics"])
            entry["noise"] = metrics.noise(entry["metrics"], self.around.cpus)
        entry["outcome"] = vars(outcome)
        entry["rate"] = outcome.operations / outcome.seconds if outcome.seconds > 0 else None
        entry["status"] = "invalid" if outcome.problems else "ok"
        entry["error"] = "; ".join(outcome.problems)

    def _flash(self, trace: BlockTrace, measured: dict[str, Any]) -> dict[str, Any] | None:
        """None, with a warning, when the trace has gaps: the step itself is as good as ever."""
        try:
            return flash.summary(trace.stop(), measured["per_operation"].get("written_kb"))
        except CairnError as error:
            self.around.warn(str(error))
            return None

    def _line(self) -> str:
        entry = self.entry
        if entry["status"] in ("ok", "invalid") and entry["rate"] is not None:
            unit = entry["outcome"]["unit"]
            text = f"{entry['rate']:,.0f} {'queries' if unit == 'query' else unit + 's'}/s"
            return text if entry["status"] == "ok" else f"INVALID ({entry['error']}): {text}"
        return f"{entry['status'].upper()}: {entry['error']}" if entry["error"] else entry["status"].upper()


def without_server(engine: Engine, workload: Workload) -> Target:
    """The target of a workload that runs a program of its own."""
    scratch = paths.VAR / "bench" / workload.NAME
    scratch.mkdir(parents=True, exist_ok=True)
    return Target(engine, Path(), 0, scratch, scratch, lambda *_: "")


def _whole(workload: Workload) -> Callable[..., Generator[None, None, Outcome]]:
    """A step that cannot be interrupted for others' turns: one part."""
    def parts(*arguments: Any) -> Generator[None, None, Outcome]:
        yield from ()
        return workload.run_step(*arguments)
    return parts
