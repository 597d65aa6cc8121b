# SPDX-License-Identifier: GPL-2.0-only
"""Runs a workload's steps on the engines in a fair order.

Steps that cannot be repeated (a load) run for one engine after the other, one server at a time. A block of
repeatable steps is repeated in turns (A, B, A, B), so that what changes on the machine in the
meantime hits all engines alike. In the block the servers that do not have their turn are paused, where
the machine's memory holds all of them; else they are shut down, and each turn begins with a start.
A workload whose steps come in parts has turns as short as a part.
"""

import argparse
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from cairn_cli import console
from cairn_cli.bench import conditions, results
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.instance import Instance
from cairn_cli.bench.take import Surroundings, Take, without_server
from cairn_cli.bench.workload import Step, StepFailed, Target, Workload
from cairn_cli.errors import CairnError

_SPARE_BYTES = 2 << 30
_MEMORY_SHARE = 0.8  # of the machine's memory, for servers that are up at once


def plan(steps: Sequence[Step], engines: Sequence[Engine], repeats: int, *,
         by_parts: bool = False) -> Iterator[tuple[Sequence[Engine], Step, int]]:
    """What is run, in order: (engines, step, number of the repeat).

    With `by_parts` the engines of a repeatable step run it together, a part each in turns.
    """
    for repeatable, group in groupby(steps, lambda step: step.repeatable):
        block = list(group)
        for repeat in range(repeats if repeatable else 1):
            if repeatable and by_parts:
                yield from ((engines, step, repeat) for step in block)
            else:
                yield from (((engine,), step, repeat) for engine in engines for step in block)


def fit_side_by_side(engines: Sequence[Engine], memory_bytes: int | None) -> bool:
    """Whether the machine has the memory for all servers at once; without a limit on each it has not."""
    whole_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return memory_bytes is not None and len(engines) * memory_bytes <= _MEMORY_SHARE * whole_bytes


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
                 block_trace: bool = False, side_by_side: bool = False) -> None:
        """`side_by_side`: servers without a turn are paused, not shut down; a block trace cannot tell them apart."""
        self._workload = workload
        self._options = options
        self._results = found
        self._make_instance = make_instance
        self._around = Surroundings(workload, options, device, found.head["machine"]["cpus"] or 1, block_trace,
                                    self._warn)
        self._side_by_side = side_by_side and not block_trace
        self._instances: dict[str, Instance] = {}
        self._taking_turns: set[str] = set()  # engines whose last step was a repeatable one
        self._failed: set[str] = set()

    def run(self, steps: Sequence[Step], engines: Sequence[Engine], keep: str | None = None) -> None:
        """All of it; `keep` names the engine whose server stays."""
        by_parts = self._side_by_side and hasattr(self._workload, "parts")
        try:
            for group, step, repeat in plan(steps, engines, self._options.conditions.repeats, by_parts=by_parts):
                self._run_step([engine for engine in group if engine.name not in self._failed], step, repeat)
            self._results.complete = not self._failed
        finally:
            self._results.ended = results.now_text()
            self._results.write()
            self._end(keep)

    def _run_step(self, engines: Sequence[Engine], step: Step, repeat: int) -> None:
        """A step of one engine, or of several by turns, a part each."""
        running = [Take(self._around, engine, step, repeat) for engine in engines]
        try:
            while running:
                for take in list(running):
                    if self._advance(take):
                        running.remove(take)
                        self._close(take)
        except KeyboardInterrupt:
            for take in running:
                take.fail("interrupted")
                self._close(take)
            raise

    def _advance(self, take: Take) -> bool:
        """Whether it is done, with or without success."""
        try:
            instance, target = self._turn(take)
            return take.advance(instance, target)
        except CairnError as error:
            take.fail("failed", self._why_failed(take.engine, str(error)),
                      error.outcome if isinstance(error, StepFailed) else None)
            self._failed.add(take.engine.name)
            return True

    def _close(self, take: Take) -> None:
        take.close()
        self._results.add(take.entry)

    def _turn(self, take: Take) -> tuple[Instance | None, Target]:
        """The engine's server, up; another engine's is paused or stopped first."""
        if not self._workload.NEEDS_SERVER:
            return None, without_server(take.engine, self._workload)
        engine = take.engine
        if engine.name not in self._instances:
            instance = self._instances[engine.name] = self._make_instance(engine)
            instance.prepare()
        instance = self._instances[engine.name]
        self._make_way(instance, pause=self._side_by_side and take.step.repeatable)
        (self._taking_turns.add if take.step.repeatable else self._taking_turns.discard)(engine.name)
        if self._options.conditions.cold:
            conditions.drop_caches()
        target = instance.start()
        self._results.engines[engine.name]["settings"] = instance.options
        return instance, target

    def _make_way(self, instance: Instance, *, pause: bool) -> None:
        """Leaves the machine to one server. Each begins its turns with a start, also the one that loaded last."""
        for name, other in self._instances.items():
            if other is instance:
                if self._options.conditions.cold:
                    other.stop()
            elif pause and name in self._taking_turns:
                other.pause()
            else:
                other.stop()

    def _why_failed(self, engine: Engine, error: str) -> str:
        instance = self._instances.get(engine.name)
        if instance is None or not instance.pid or instance.alive():
            return error
        why = instance.why_dead()
        instance.give_up()
        return f"{why}\n({error.strip().splitlines()[0]})" if error.strip() else why

    def _warn(self, text: str) -> None:
        self._results.warnings.append(text)
        console.say(f"  warning: {text}")

    def _end(self, keep: str | None) -> None:
        for name, instance in self._instances.items():
            if name == keep and self._results.complete:
                instance.keep()
            else:
                instance.remove()
