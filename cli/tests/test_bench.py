# SPDX-License-Identifier: GPL-2.0-only
"""The bench suite without a server: plan, deltas, medians, limits, parsing, results file, table."""

import argparse
import json
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

from cairn_cli.bench import command, conditions, engines, linkbench, metrics, registry, results, runner, table, take
from cairn_cli.bench.workload import Column, Conditions, Outcome, Step
from cairn_cli.errors import CairnError

_CAIRN, _INNODB = engines.ENGINES["cairn"], engines.ENGINES["innodb"]


class PlanTest(unittest.TestCase):
    """Loads one after the other; what can be repeated, in turns."""

    def test_interleaves(self) -> None:
        steps = [Step("load", False), Step("q1", True), Step("q2", True), Step("end", False)]
        self.assertEqual(self._order(steps), ["c:load:0", "i:load:0", "c:q1:0", "c:q2:0", "i:q1:0", "i:q2:0",
                                              "c:q1:1", "c:q2:1", "i:q1:1", "i:q2:1", "c:end:0", "i:end:0"])
        self.assertEqual(self._order(steps, by_parts=True), [
            "c:load:0", "i:load:0", "ci:q1:0", "ci:q2:0", "ci:q1:1", "ci:q2:1", "c:end:0", "i:end:0"])

    def _order(self, steps: list[Step], *, by_parts: bool = False) -> list[str]:
        return [f"{''.join(engine.name[0] for engine in group)}:{step.name}:{repeat}"
                for group, step, repeat in runner.plan(steps, (_CAIRN, _INNODB), 2, by_parts=by_parts)]

    def test_memory_for_all(self) -> None:
        whole_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        both = (_CAIRN, _INNODB)
        self.assertTrue(runner.fit_side_by_side(both, whole_bytes // 3))
        self.assertFalse(runner.fit_side_by_side(both, whole_bytes // 2))
        self.assertFalse(runner.fit_side_by_side(both, None))


class EnginesTest(unittest.TestCase):
    """Names, what is installed, one budget for all."""

    def test_unknown_engine_is_named(self) -> None:
        with self.assertRaisesRegex(CairnError, "no such engine: tokudb"):
            engines.parse("cairn,tokudb")
        with self.assertRaisesRegex(CairnError, "once"):
            engines.parse("cairn,cairn")

    def test_variants(self) -> None:
        plain, blocks = engines.parse("cairn,blocks", ["blocks=cairn --cairn-memory=32M '--x=a b'"])
        self.assertEqual((plain.kind, blocks.kind, blocks.client_name), ("cairn", "cairn", "CAIRN"))
        options = engines.server_options(blocks, memory_bytes=1 << 30, flush_setting=1)
        self.assertEqual(options[-2:], ["--cairn-memory=32M", "--x=a b"])
        self.assertEqual(options[:-2], engines.server_options(plain, memory_bytes=1 << 30, flush_setting=1))
        for variant, why in (("a=cairn", "NAME=ENGINE"), ("a b=cairn -x", "NAME=ENGINE"),
                             ("a=tokudb -x", "NAME=ENGINE"), ("a=cairn 'x", "NAME=ENGINE"),
                             ("innodb=cairn -x", "innodb already"),
                             ("a=cairn -x", "does not name a")):
            with self.assertRaisesRegex(CairnError, why):
                engines.parse("cairn", [variant])

    def test_missing_plugin_is_named(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            engines.check_installed([_INNODB], Path(folder))
            with self.assertRaisesRegex(CairnError, "myrocks is not installed"):
                engines.check_installed([engines.ENGINES["myrocks"]], Path(folder))

    def test_same_budget_and_durability(self) -> None:
        cache = engines.cache_bytes(1 << 30, _INNODB)
        self.assertEqual(cache, 716 << 20)
        for name, option in (("cairn", f"--cairn-memory={cache}"),
                             ("innodb", f"--innodb-buffer-pool-size={cache}"),
                             ("innodb-compressed", f"--innodb-buffer-pool-size={cache}")):
            self.assertIn(option, engines.server_options(engines.ENGINES[name], memory_bytes=1 << 30, flush_setting=1))
        for engine in engines.ENGINES.values():
            options = engines.server_options(engine, memory_bytes=1 << 30, flush_setting=0)
            self.assertEqual([option for option in options if "flush-log-at-trx-commit" in option][0][-2:], "=0")

    # Cairn's is the default of its own; InnoDB's stays.
    def test_large_data(self) -> None:
        cairn, innodb, small, myrocks = engines.for_large_data(
            engines.parse("cairn,innodb,small,myrocks", ["small=cairn --x"]))
        for mib, cache in ((100, 32), (256, 32), (384, 42), (1024, 256), (4096, 1280)):
            for engine in (cairn, small, myrocks):
                self.assertEqual(engines.cache_bytes(mib << 20, engine), cache << 20)
            self.assertEqual(engines.cache_bytes(mib << 20, innodb), engines.cache_bytes(mib << 20, _INNODB))
        self.assertIn("--cairn-memory=44040192", engines.server_options(cairn, memory_bytes=384 << 20, flush_setting=1))
        # Less memory for memtables would only slow MyRocks' loads down.
        self.assertIn("--rocksdb-db-write-buffer-size=33554432",
                      engines.server_options(myrocks, memory_bytes=384 << 20, flush_setting=1))

    # In little memory InnoDB, which uses no page cache, may have more of it for its own.
    def test_little_memory(self) -> None:
        for mib, pool, cache in ((384, 240, 160), (256, 112, 32), (100, 16, 16)):
            self.assertEqual(engines.cache_bytes(mib << 20, _INNODB), pool << 20)
            self.assertEqual(engines.cache_bytes(mib << 20, engines.ENGINES["cairn"]), cache << 20)
            self.assertEqual(engines.cache_bytes(mib << 20, engines.ENGINES["myrocks"]), cache << 20)


class LimitsTest(unittest.TestCase):
    """Both versions of cgroups, on folders that only look like them."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.root = Path(temporary.name)
        patch = mock.patch.object(conditions, "_write", lambda path, text: path.write_text(text))
        patch.start()
        self.addCleanup(patch.stop)

    def test_version_1(self) -> None:
        for name in ("memory", "blkio"):
            (self.root / name).mkdir()
        mounts = "".join(f"cgroup {self.root / name} cgroup rw,relatime,{name} 0 0\n" for name in ("memory", "blkio"))
        hierarchy = conditions.Hierarchy.detect(mounts)
        assert hierarchy
        self.assertEqual(hierarchy.version, 1)
        group = conditions.Group(hierarchy, "g", 1 << 30, conditions.DEVICES["disk"], "254:0")
        group.create()
        self.assertEqual((self.root / "memory/g/memory.limit_in_bytes").read_text(), str(1 << 30))
        self.assertEqual((self.root / "blkio/g/blkio.throttle.read_iops_device").read_text(), "254:0 200")
        self.assertEqual(group.wrapper()[2].count("cgroup.procs"), 2)
        self.assertEqual(group.out_of_memory_kills(), 0)
        (self.root / "memory/g/memory.oom_control").write_text("oom_kill_disable 0\nunder_oom 0\noom_kill 1\n")
        self.assertEqual(group.out_of_memory_kills(), 1)

    def test_version_2(self) -> None:
        (self.root / "cgroup.controllers").write_text("cpu io memory\n")
        (self.root / "cgroup.subtree_control").write_text("cpu\n")
        hierarchy = conditions.Hierarchy.detect(f"cgroup2 {self.root} cgroup2 rw 0 0\n")
        assert hierarchy
        self.assertEqual(hierarchy.version, 2)
        group = conditions.Group(hierarchy, "g", 1 << 30, conditions.DEVICES["slow-ssd"], "8:0")
        group.create()
        self.assertEqual((self.root / "g/memory.max").read_text(), str(1 << 30))
        self.assertEqual((self.root / "g/io.max").read_text(),
                         "8:0 riops=10000 wiops=5000 rbps=250000000 wbps=150000000")
        self.assertEqual(group.wrapper()[2].count("cgroup.procs"), 1)
        (self.root / "g/memory.events").write_text("low 0\noom 3\noom_kill 2\n")
        self.assertEqual(group.out_of_memory_kills(), 2)

    def test_no_right_to_make_groups(self) -> None:
        hierarchy = conditions.Hierarchy(1, {"memory": self.root / "nowhere"})
        with self.assertRaisesRegex(CairnError, "--no-cgroup"):
            conditions.Group(hierarchy, "g", 1 << 30).create()

    def test_no_controllers(self) -> None:
        self.assertIsNone(conditions.Hierarchy.detect("tmpfs /sys/fs/cgroup tmpfs rw 0 0\n"))
        with mock.patch.object(conditions.Hierarchy, "detect", return_value=None), \
                self.assertRaisesRegex(CairnError, "--no-cgroup"):
            conditions.require_hierarchy()
        group = conditions.Group(conditions.Hierarchy(1, {"memory": self.root}), "g", None,
                                 conditions.DEVICES["disk"], "8:0")
        with self.assertRaisesRegex(CairnError, "no block-IO controller"):
            group.create()


class MetricsTest(unittest.TestCase):
    """Counters, their differences and shares."""

    _LINE = " 254       0 vda {} 0 {} 0 {} 0 {} 0 0 {} 0 1 0 8 0 {} 0\n"

    def test_disk(self) -> None:
        before = metrics.disk_counters("vda", self._LINE.format(10, 100, 20, 200, 1000, 3))
        after = metrics.disk_counters("vda", self._LINE.format(15, 140, 30, 400, 3000, 7))
        found = metrics.difference(before, after)
        assert found
        self.assertEqual((found["reads"], found["read_bytes"], found["writes"], found["written_bytes"]),
                         (5, 40 * 512, 10, 200 * 512))
        self.assertEqual((found["busy_seconds"], found["flushes"], found["discards"]), (2.0, 4, 0))
        self.assertIsNone(metrics.disk_counters("sda", self._LINE))

    def test_process(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            own = Path(folder) / "7"
            own.mkdir()
            (own / "stat").write_text("7 (a) b) S 1 " + " ".join(["0"] * 9) + " 200 50 0 0\n")
            (own / "io").write_text("rchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n")
            (own / "status").write_text("Name:\tx\nVmHWM:\t  20 kB\nVmRSS:\t  10 kB\n")
            found = metrics.process_counters(7, Path(folder))
            assert found
            self.assertEqual(found["cpu_seconds"], 250 / os.sysconf("SC_CLK_TCK"))
            self.assertEqual((found["read_bytes"], found["written_bytes"]), (4096, 8192))
            self.assertEqual(metrics.process_memory(7, Path(folder)), {"rss_bytes": 10240, "peak_rss_bytes": 20480})
            (own / "stat").write_text("7 (x) Z 1 0\n")
            self.assertIsNone(metrics.process_counters(7, Path(folder)))
            self.assertIsNone(metrics.process_counters(8, Path(folder)))

    def test_per_operation(self) -> None:
        found = metrics.per_operation(100, {"reads": 50, "written_bytes": 102400}, None, 0.5, {"cpu_seconds": 2.0})
        self.assertEqual((found["reads"], found["written_kb"], found["client_cpu_us"], found["total_cpu_us"]),
                         (0.5, 1.0, 5000.0, 20000.0))
        self.assertIsNone(found["server_cpu_us"])
        self.assertEqual(metrics.per_operation(0, None, None, 0, {}), {})

    def test_engine_counters(self) -> None:
        status = "CAIRN\t\tSTORE\\nUptime(secs): 3\\nflush_write_bytes 100\\nstall_micros 5\\n"
        self.assertEqual(metrics.engine_counters(_CAIRN, lambda _: status),
                         {"flush_write_bytes": 100, "stall_micros": 5})
        shown = "Innodb_data_written\t7\nInnodb_buffer_pool_load_status\tnot started\n"
        self.assertEqual(metrics.engine_counters(_INNODB, lambda _: shown), {"data_written": 7})

    def test_write_amplification(self) -> None:
        delta = {"flush_write_bytes": 10, "compact_write_bytes": 25, "stall_micros": 5e5}
        found = metrics.engine_summary(_CAIRN, delta)
        self.assertEqual((found["write_amplification"], found["stall_seconds"]), (3.5, 0.5))
        self.assertIsNone(metrics.engine_summary(_CAIRN, {"flush_write_bytes": 0, "compact_write_bytes": 0})
                          ["write_amplification"])

    def test_database_size(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("mysql", "#cairn", "shop"):
                (Path(folder) / name).mkdir()
                (Path(folder) / name / "file").write_bytes(b"x" * 10000)
            one = metrics.database_bytes(Path(folder), _CAIRN)
            self.assertGreaterEqual(one, 10000)
            self.assertEqual(metrics.database_bytes(Path(folder), _INNODB), one)

    def test_noise(self) -> None:
        machine = {"steal_seconds": 0.0, "foreign_cpu_seconds": 1.0}
        self.assertEqual(metrics.noise({"seconds": 10, "machine": machine}, 2), [])
        machine = {"steal_seconds": 1.0, "foreign_cpu_seconds": 4.0}
        self.assertEqual(metrics.noise({"seconds": 10, "machine": machine}, 2),
                         ["other guests of the host took 5% of the CPU", "other processes took 20% of the CPU"])


def _results(path: Path) -> results.Results:
    columns = [Column("rows/s", "rate", 0, "higher"), Column("CPU", "metrics.per_operation.server_cpu_us")]
    return results.Results(path, {"base": "innodb"}, columns, [Step("load", False), Step("q", True, 2)],
                           {"cairn": {}, "innodb": {}})


def _run(engine: str, rate: float, status: str = "ok", step: str = "q") -> dict[str, Any]:
    return {"engine": engine, "step": step, "status": status, "error": "why", "rate": rate,
            "metrics": {"per_operation": {"server_cpu_us": None}}}


class ResultsTest(unittest.TestCase):
    """Medians, spread, what is left out, and the file."""

    def setUp(self) -> None:
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.path = Path(temporary.name) / "deep/results.json"

    def test_medians(self) -> None:
        self.assertEqual(results.figure([1.0, 4.0, 2.0]), {"median": 2.0, "min": 1.0, "max": 4.0, "spread": 2.23 * 1.5})
        self.assertEqual(results.figure([3.0])["spread"], None)
        self.assertEqual(results.figure([0.0, 0.0])["spread"], None)

    def test_summary_leaves_out_what_does_not_count(self) -> None:
        found = _results(self.path)
        for run in (_run("cairn", 10), _run("cairn", 30), _run("cairn", 12), _run("cairn", 1, "interrupted"),
                    _run("innodb", 5), _run("innodb", 6, "invalid")):
            found.add(run)
        written = json.loads(self.path.read_text(encoding="utf-8"))
        self.assertEqual([(entry["engine"], entry["step"], entry["runs"]) for entry in written["summary"]],
                         [("cairn", "q", 3)])
        self.assertEqual(written["summary"][0]["figures"], {"rate": {"median": 12, "min": 10, "max": 30,
                                                                     "spread": 2.23 * 20 / 12}})
        self.assertEqual(written["invalid"], {"innodb": "q: why"})
        self.assertEqual((written["kind"], written["format"], written["complete"]), ("cairn-bench", 1, False))
        for name in ("engines", "steps", "columns", "runs", "warnings", "ended"):
            self.assertIn(name, written)

    def test_table(self) -> None:
        found = _results(self.path)
        for run in (_run("cairn", 2000), _run("cairn", 3000), _run("innodb", 1000)):
            found.runs.append(run)
        lines = table.lines(found.to_json(), "innodb")
        self.assertEqual(lines[0].split(), ["q", "cairn", "innodb"])
        self.assertEqual(lines[1].split(), ["rows/s", "2,500", "[318%]", "2.50x", "1,000"])
        self.assertEqual(len(lines), 2)  # a figure nobody has is no row

    def test_paths(self) -> None:
        self.assertEqual(results.at({"a": [{"b": 1}]}, "a.0.b"), 1)
        self.assertIsNone(results.at({"a": [{"b": 1}]}, "a.1.b"))
        self.assertIsNone(results.at({"a": 3}, "a.b.c"))


class LinkBenchTest(unittest.TestCase):
    """The mix check, the steps, the command line."""

    def test_mix(self) -> None:
        for profile, percents in linkbench.PROFILES.items():
            self.assertAlmostEqual(sum(percents), 100, places=4)
            exact = dict(zip(linkbench.OPERATIONS, (round(1e4 * percent) for percent in percents), strict=True))
            self.assertEqual(linkbench.mix_problems(exact, profile), [])
            exact["GET_NODE"] += 12_000
            self.assertIn("GET_NODE", " ".join(linkbench.mix_problems(exact, profile)))

    def test_steps(self) -> None:
        options = command.parse("linkbench", ["--clients", "1,4"])
        options.conditions = Conditions(clients=options.clients)
        self.assertEqual([(step.name, step.clients, step.repeatable) for step in registry.workload("linkbench")
                          .steps(options)], [("load", 3, False), ("query-1", 1, True), ("query-4", 4, True),
                                             ("validate", 1, False)])

    def test_sizes(self) -> None:
        options = command.parse("linkbench", ["--scale", "5M", "--memory", "1G"])
        self.assertEqual((options.scale, options.memory), (5_000_000, 1 << 30))
        self.assertIsNone(command.parse("linkbench", ["--memory", "none"]).memory)
        for wrong in ("", "x", "-1", "1.5", "1T"):
            with self.subTest(wrong), self.assertRaises(argparse.ArgumentTypeError):
                command._count(wrong)


class BadInputTest(unittest.TestCase):
    """Refused before any server is started."""

    def _refused(self, why: str, *words: str) -> None:
        options = command.parse("linkbench", words)
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(command.paths, "VAR", Path(folder)), \
                mock.patch.object(command.engines, "check_installed"), \
                mock.patch.object(command.tree, "prepare", return_value=Path(folder)), \
                self.assertRaisesRegex(CairnError, why):
            command.prepare(registry.workload("linkbench"), options)

    def test_refusals(self) -> None:
        self._refused("no such engine: oracle", "--engines", "oracle")
        self._refused("not among the engines", "--engines", "cairn", "--base", "innodb")
        self._refused("too little disk", "--scale", "9G", "--no-cgroup")
        self._refused("at least 128M", "--memory", "1M")
        self._refused("only", "--memory", "9999G")
        self._refused("excludes --no-cgroup", "--device", "disk", "--no-cgroup")
        self._refused("no step sleep", "--steps", "load,sleep", "--no-cgroup", "--scale", "1000")
        self._refused("cannot write", "--json", "/proc/nothing/x.json", "--no-cgroup", "--scale", "1000")
        with mock.patch.object(conditions.Hierarchy, "detect", return_value=None):
            self._refused("no cgroup memory controller", "--scale", "1000")
        with mock.patch.object(conditions.os, "access", return_value=False):
            self._refused("right to drop the page cache", "--cold", "--no-cgroup")


class RunnerTest(unittest.TestCase):
    """A server that dies, a step that breaks off, an interruption: what is done is kept and marked."""

    class _Workload:
        NAME, NEEDS_SERVER, LARGE_DATA = "fake", False, False

        def __init__(self, *outcomes: Outcome | BaseException) -> None:
            self.outcomes = list(outcomes)

        def run_step(self, *_: object) -> Outcome:
            """The next of the outcomes."""
            outcome = self.outcomes.pop(0)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome

    def _run(self, *outcomes: Outcome | BaseException, repeats: int = 1) -> results.Results:
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(take.paths, "VAR", Path(folder)), \
                mock.patch.object(runner.console, "say"):
            found = _results(Path(folder) / "results.json")
            found.head["machine"] = {"cpus": 2}
            options = argparse.Namespace(conditions=Conditions(repeats=repeats))
            try:
                runner.Runner(self._Workload(*outcomes), options, found, mock.Mock(), None).run(
                    found.steps, (_CAIRN, _INNODB))
            except KeyboardInterrupt:
                found.warnings.append("interrupted")
            self.assertEqual(json.loads(found.path.read_text(encoding="utf-8"))["runs"],
                             json.loads(json.dumps(found.runs, default=str)))
            return found

    def test_others_go_on(self) -> None:
        good = Outcome(10, "row", 2.0)
        found = self._run(CairnError("gone"), good, good)
        self.assertEqual([(run["engine"], run["step"], run["status"], run["rate"]) for run in found.runs],
                         [("cairn", "load", "failed", None), ("innodb", "load", "ok", 5.0), ("innodb", "q", "ok", 5.0)])
        self.assertFalse(found.complete)

    def test_interrupted(self) -> None:
        found = self._run(Outcome(10, "row", 2.0), KeyboardInterrupt())
        self.assertEqual([run["status"] for run in found.runs], ["ok", "interrupted"])
        self.assertEqual((found.complete, found.warnings), (False, ["interrupted"]))

    def test_invalid(self) -> None:
        good = Outcome(10, "row", 2.0)
        found = self._run(good, good, good, Outcome(10, "row", 2.0, problems=["counts differ"]))
        self.assertEqual(found.invalid_engines(), {"innodb": "q: counts differ"})
        self.assertTrue(found.complete)


if __name__ == "__main__":
    unittest.main()
