# SPDX-License-Identifier: GPL-2.0-only
"""Runs a workload's steps on the engines in a fair order, and measures around each.

Steps that cannot be repeated (a load) run for one engine after the other. A block of repeatable
steps is repeated in turns (A, B, A, B), so that what changes on the machine in the meantime hits
all engines alike. One server runs at a time.
"""

import argparse
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from cairn_cli import console, paths
from cairn_cli.bench import conditions, flash, metrics, results
from cairn_cli.bench.block_trace import BlockTrace
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.instance import Instance
from cairn_cli.bench.workload import Outcome, Step, StepFailed, Target, Workload
from cairn_cli.errors import CairnError

_SPARE_BYTES = 2 << 30


def plan(steps: Sequence[Step], engines: Sequence[Engine],
         repeats: int) -> Iterator[tuple[Engine, Step, int]]:
    """What is run, in order: (engine, step, number of the repeat)."""
    for repeatable, group in groupby(steps, lambda step: step.repeatable):
        block = list(group)
        for repeat in range(repeats if repeatable else 1):
            for engine in engines:
                for step in block:
                    yield engine, step, repeat


def check_disk(needed_bytes: int, folder: Path) -> None:
    """Raises CairnError when the data would not fit."""
    free = shutil.disk_usage(folder).free
    if free < needed_bytes + _SPARE_BYTES:
        raise CairnError(f"too little disk: the data of all engines is estimated at {needed_bytes / 1e9:.1f} "
                         f"GB, with {_SPARE_BYTES / 1e9:.1f} GB to spare; {folder} has {free / 1e9:.1f} GB free "
                         "(choose a smaller --scale or fewer --engines)")


class Runner:
    """One invocation. `run` raises KeyboardInterrupt on when it was interrupted; results are kept."""

    def __init__(self, workload: Workload, options: argparse.Namespace, found: results.Results,
                 make_instance: Callable[[Engine], Instance], device: str | None, *,
                 block_trace: bool = False) -> None:
        self._workload = workload
        self._options = options
        self._results = found
        self._make_instance = make_instance
        self._device = device
        self._block_trace = block_trace
        self._cpus = found.head["machine"]["cpus"] or 1
        self._instances: dict[str, Instance] = {}
        self._running: Instance | None = None
        self._failed: set[str] = set()

    def run(self, steps: Sequence[Step], engines: Sequence[Engine], keep: str | None = None) -> None:
        """All of it; `keep` names the engine whose server stays."""
        try:
            for engine, step, repeat in plan(steps, engines, self._options.conditions.repeats):
                if engine.name not in self._failed:
                    self._one(engine, step, repeat)
            self._results.complete = not self._failed
        finally:
            self._results.ended = results.now_text()
            self._results.write()
            self._end(keep)

    def _one(self, engine: Engine, step: Step, repeat: int) -> None:
        repeats = self._options.conditions.repeats if step.repeatable else 1
        title = f"{engine.name} {step.name}" + (f" {repeat + 1}/{repeats}" if repeats > 1 else "")
        progress = console.Progress(title)
        entry: dict[str, Any] = {
            "engine": engine.name, "step": step.name, "clients": step.clients, "repeat": repeat,
            "status": "failed", "error": "", "started": results.now_text(), "rate": None,
            "outcome": None, "metrics": None, "noise": []}
        started_s = time.monotonic()
        self._options.repeat = repeat
        try:
            self._measure(engine, step, progress.note, entry)
        except KeyboardInterrupt:
            entry["status"] = "interrupted"
            raise
        except CairnError as error:
            entry["error"] = self._why_failed(str(error))
            if isinstance(error, StepFailed) and error.outcome:
                entry["outcome"] = vars(error.outcome)
            self._failed.add(engine.name)
        finally:
            entry["wall_seconds"] = time.monotonic() - started_s
            self._results.add(entry)
            progress.finish(self._line(entry))
        for sentence in entry["noise"]:
            self._warn(f"{title}: {sentence}")

    def _measure(self, engine: Engine, step: Step, progress: Callable[[str], None],
                 entry: dict[str, Any]) -> None:
        if not self._workload.NEEDS_SERVER:
            scratch = paths.VAR / "bench" / self._workload.NAME
            scratch.mkdir(parents=True, exist_ok=True)
            target = Target(engine, Path(), 0, scratch, scratch, lambda *_: "")
            self._judge(self._workload.run_step(step, target, self._options, progress), entry)
            return
        target = self._target(engine)
        instance = self._instances[engine.name]
        probe = metrics.Probe(engine, target.pid, target.data, self._device, target.query,
                              instance.cgroup_peak_bytes)
        if warm_up := getattr(self._workload, "warm_up", None):
            warm_up(step, target, self._options, progress)
        probe.start()
        trace = BlockTrace(self._device) if self._block_trace and self._device else None
        try:
            outcome = self._workload.run_step(step, target, self._options, progress)
            if not instance.alive():
                entry["outcome"] = vars(outcome)
                raise CairnError("the server is gone")
            entry["metrics"] = probe.finish(outcome.operations, outcome.client_cpu_seconds)
            if trace:
                progress("simulating flash")
                entry["metrics"]["flash"] = self._flash(trace, entry["metrics"])
        finally:
            probe.stop()
            if trace:
                trace.close()
        entry["noise"] = metrics.noise(entry["metrics"], self._cpus)
        self._judge(outcome, entry)

    def _flash(self, trace: BlockTrace, measured: dict[str, Any]) -> dict[str, Any] | None:
        """None, with a warning, when the trace has gaps: the step itself is as good as ever."""
        try:
            return flash.summary(trace.stop(), measured["per_operation"].get("written_kb"))
        except CairnError as error:
            self._warn(str(error))
            return None

    def _judge(self, outcome: Outcome, entry: dict[str, Any]) -> None:
        entry["outcome"] = vars(outcome)
        entry["rate"] = outcome.operations / outcome.seconds if outcome.seconds > 0 else None
        entry["status"] = "invalid" if outcome.problems else "ok"
        entry["error"] = "; ".join(outcome.problems)

    def _target(self, engine: Engine) -> Target:
        """The engine's server, up; another engine's is stopped first."""
        if engine.name not in self._instances:
            instance = self._instances[engine.name] = self._make_instance(engine)
            instance.prepare()
        instance = self._instances[engine.name]
        cold = self._options.conditions.cold
        if self._running and (self._running is not instance or cold):
            self._running.stop()
        self._running = instance
        if cold:
            conditions.drop_caches()
        target = instance.start()
        self._results.engines[engine.name]["settings"] = instance.options
        return target

    def _why_failed(self, error: str) -> str:
        instance = self._running
        if instance is None or not instance.pid or instance.alive():
            return error
        why = instance.why_dead()
        instance.give_up()
        return f"{why}\n({error.strip().splitlines()[0]})" if error.strip() else why

    def _line(self, entry: dict[str, Any]) -> str:
        if entry["status"] in ("ok", "invalid") and entry["rate"] is not None:
            unit = entry["outcome"]["unit"]
            text = f"{entry['rate']:,.0f} {'queries' if unit == 'query' else unit + 's'}/s"
            return text if entry["status"] == "ok" else f"INVALID ({entry['error']}): {text}"
        return f"{entry['status'].upper()}: {entry['error']}" if entry["error"] else entry["status"].upper()

    def _warn(self, text: str) -> None:
        self._results.warnings.append(text)
        console.say(f"  warning: {text}")

    def _end(self, keep: str | None) -> None:
        for name, instance in self._instances.items():
            if name == keep and self._results.complete:
                instance.keep()
            else:
                instance.remove()
