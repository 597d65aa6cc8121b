# SPDX-License-Identifier: GPL-2.0-only
"""Servers side by side: who is paused when, and that nothing is counted in others' turns."""

import argparse
import dataclasses
import os
import signal
import subprocess
import tempfile
import unittest
from collections.abc import Generator
from pathlib import Path
from typing import Any
from unittest import mock

from cairn_cli.bench import engines, insert, linkbench, metrics, results, runner
from cairn_cli.bench.instance import Instance
from cairn_cli.bench.workload import Conditions, Outcome, Step, Target
from cairn_cli.errors import CairnError

_CAIRN, _INNODB = engines.ENGINES["cairn"], engines.ENGINES["innodb"]
_STEPS = [Step("load", False), Step("lines", True)]


class _Server:
    """In place of an Instance: notes what happens to it in a log shared by all."""

    options: tuple[str, ...] = ()

    def __init__(self, name: str, log: list[str]) -> None:
        self._name, self._log, self.pid, self._paused = name, log, 0, False

    def prepare(self) -> None:
        """Nothing to prepare."""

    def start(self) -> Target:
        """Starts or resumes."""
        if self._paused or not self.pid:
            self._log.append(f"{self._name} {'goes on' if self._paused else 'starts'}")
        self.pid, self._paused = os.getpid(), False
        return Target(engines.ENGINES[self._name], Path(), self.pid, Path(), Path(), lambda *_: "")

    def pause(self) -> None:
        """Only when it runs."""
        if self.pid and not self._paused:
            self._log.append(f"{self._name} pauses")
            self._paused = True

    def stop(self) -> None:
        """Only when it runs."""
        if self.pid:
            self._log.append(f"{self._name} stops")
        self.pid, self._paused = 0, False

    def alive(self) -> bool:
        """While it runs."""
        return bool(self.pid)

    def cgroup_peak_bytes(self) -> int | None:
        """None."""
        return None

    def remove(self) -> None:
        """Ends."""


class _Workload:
    NAME, NEEDS_SERVER, LARGE_DATA = "fake", True, False

    def __init__(self, log: list[str], fails: str = "") -> None:
        self._log, self._fails = log, fails

    def run_step(self, step: Step, target: Target, *_: object) -> Outcome:
        """A load."""
        self._log.append(f"{target.engine.name} {step.name}")
        return Outcome(1, "row", 1.0)

    def parts(self, _step: Step, target: Target, *_: object) -> Generator[None, None, Outcome]:
        """Two parts and an end."""
        for part in "12":
            self._log.append(f"{target.engine.name} part {part}")
            if self._fails == f"{target.engine.name} {part}":
                raise CairnError("broken")
            yield
        return Outcome(10, "query", 2.0)


class TurnsTest(unittest.TestCase):
    """The order of things, with and without the room for all servers."""

    def _run(self, *, side_by_side: bool, fails: str = "") -> tuple[list[str], results.Results]:
        log: list[str] = []
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(runner.console, "say"), \
                mock.patch.object(metrics, "database_bytes", return_value=0), \
                mock.patch.object(metrics, "allocated_bytes", return_value=0):
            found = results.Results(Path(folder) / "results.json", {"base": "innodb", "machine": {"cpus": 2}}, [],
                                    _STEPS, {"cairn": {}, "innodb": {}})
            options = argparse.Namespace(conditions=Conditions())
            make: Any = lambda engine: _Server(engine.name, log)  # noqa: E731 - typed as a callable
            runner.Runner(_Workload(log, fails), options, found, make, None, side_by_side=side_by_side).run(
                _STEPS, (_CAIRN, _INNODB))
        return log, found

    def test_parts_by_turns(self) -> None:
        log, found = self._run(side_by_side=True)
        self.assertEqual(log, [
            "cairn starts", "cairn load", "cairn stops", "innodb starts", "innodb load", "innodb stops",
            "cairn starts", "cairn part 1", "cairn pauses", "innodb starts", "innodb part 1", "innodb pauses",
            "cairn goes on", "cairn part 2", "cairn pauses", "innodb goes on", "innodb part 2", "innodb pauses",
            "cairn goes on", "cairn pauses", "innodb goes on"])
        self.assertEqual([(run["engine"], run["step"], run["status"], run["rate"]) for run in found.runs],
                         [("cairn", "load", "ok", 1.0), ("innodb", "load", "ok", 1.0),
                          ("cairn", "lines", "ok", 5.0), ("innodb", "lines", "ok", 5.0)])

    def test_one_server_at_a_time(self) -> None:
        log, _ = self._run(side_by_side=False)
        self.assertEqual(log[6:], ["cairn starts", "cairn part 1", "cairn part 2", "cairn stops",
                                   "innodb starts", "innodb part 1", "innodb part 2"])

    def test_others_go_on(self) -> None:
        log, found = self._run(side_by_side=True, fails="cairn 1")
        self.assertEqual(log[-2:], ["innodb part 1", "innodb part 2"])
        self.assertEqual([(run["engine"], run["status"]) for run in found.runs[2:]],
                         [("cairn", "failed"), ("innodb", "ok")])


class PauseTest(unittest.TestCase):
    """A server that does not have its turn does nothing, and is ended in good order."""

    def test_signals(self) -> None:
        with subprocess.Popen(["sleep", "1000"]) as child:
            self.addCleanup(child.kill)
            server = mock.Mock(stop=child.terminate)
            instance = Instance(_CAIRN, Conditions(), 1 << 30, None, server, Path(), pid=child.pid)
            instance.pause()
            self.assertTrue(os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1]))
            instance.start()
            self.assertTrue(os.WIFCONTINUED(os.waitpid(child.pid, os.WCONTINUED)[1]))
            instance.pause()
            instance.stop()  # of a paused one: it would never see the signal
            self.assertEqual(child.wait(timeout=60), -signal.SIGTERM)


class SpansTest(unittest.TestCase):
    """What a probe counts are its own stretches."""

    def test_nothing_between(self) -> None:
        clock = iter(range(0, 1000, 10))  # each reading finds the counters 10 higher

        def reading(*_: object) -> dict[str, float]:
            return {"cpu_seconds": float(next(clock))}

        with mock.patch.object(metrics, "process_counters", reading), \
                mock.patch.object(metrics, "machine_counters", lambda: {"cpu_seconds": 0.0}), \
                mock.patch.object(metrics.Probe, "_sample", lambda _: None), \
                mock.patch.object(metrics, "database_bytes", return_value=0), \
                mock.patch.object(metrics, "allocated_bytes", return_value=0):
            probe = metrics.Probe(_CAIRN, 1, Path(), None, lambda _: "")
            probe.start()
            probe.pause()
            for _ in range(5):
                reading()  # others' turns
            probe.resume()
            found = probe.finish(10, 0.0)
        self.assertEqual(found["server"], {"cpu_seconds": 20.0})
        self.assertEqual(found["per_operation"]["server_cpu_us"], 2e6)
        self.assertIsNone(found["disk"])

    def test_sums(self) -> None:
        self.assertEqual(metrics.added({"disk": {"reads": 1.0}, "server": {"cpu_seconds": 1.0}},
                                       {"disk": {"reads": 2.0}, "server": None}),
                         {"disk": {"reads": 3.0}, "server": None})


class WarmUpTest(unittest.TestCase):
    """The requests that are not measured."""

    def test_linkbench_warms_up_a_server_that_others_had_a_turn_after(self) -> None:
        """Whatever it has in the page cache may be gone by then."""
        workload, warmed = linkbench.LinkBench(), []
        options = argparse.Namespace(warmup=3, repeat=0, prepared=False)
        two, four = Step("query-2", True, 2), Step("query-4", True, 4)
        turns = [(1, Step("load", False, 3)), (1, two), (1, four), (2, two), (2, four), (1, two), (1, four), (7, two)]
        with mock.patch.object(linkbench, "_client", side_effect=lambda *given: warmed.append(given[2].pid)):
            for pid, step in turns:
                target = Target(_CAIRN, Path(), pid, Path(), Path(), lambda *_: "")
                workload.warm_up(step, target, options, lambda _: None)
        self.assertEqual(warmed, [1, 2, 1, 7])

    def test_insert_does_so_too(self) -> None:
        """A load, of the server's own, leaves it warm."""
        workload, asked = insert.Insert(), []
        options = argparse.Namespace(warmup=3, generations="ib2016", queries_2016=True,
                                     conditions=Conditions(scale=1000, seconds=60))
        load, fast, slow = (Step(name, name != "load", detail={"generation": "ib2016", "part": name})
                            for name in ("load", "q1000", "q100"))

        def client(step: Step, target: Target, _options: object, _progress: object, seconds: int) -> dict[str, Any]:
            asked.append((target.pid, step.name, seconds))
            return {"error": "", "step": {}}

        with (mock.patch.object(insert, "_client", client),
              mock.patch.object(insert, "step_outcome", return_value=Outcome(1, "row", 1.0))):
            for pid, step in [(1, load), (1, fast), (1, slow), (2, fast), (1, fast)]:
                engine = dataclasses.replace(_CAIRN, name=f"engine {pid}")
                target = Target(engine, Path(), pid, Path(), Path(), lambda *_: "")
                workload.warm_up(step, target, options, lambda _: None)
                workload.run_step(step, target, options, lambda _: None)
        self.assertEqual([each for each in asked if each[2] == 3], [(2, "q1000", 3), (1, "q1000", 3)])


if __name__ == "__main__":
    unittest.main()
