# SPDX-License-Identifier: GPL-2.0-only
"""The table of goals: what is reached, what is not, what was not measured."""

import json
import tempfile
import unittest
from pathlib import Path
from typing import Any

from cairn_cli.report import goals

from tests import report_samples


def _lines(engine: str, rates: dict[str, list[float]]) -> list[dict[str, Any]]:
    """Runs of one step whose lines have these rates, one for each repeat."""
    runs = []
    for repeat in range(len(next(iter(rates.values())))):
        run = report_samples.run(engine, "lines", 1000, repeat=repeat, latencies=False)
        run["outcome"]["lines"] = {name: {"operations": of_repeat[repeat] * 2, "seconds": 2}
                                   for name, of_repeat in rates.items()}
        runs.append(run)
    return runs


class GoalsTest(unittest.TestCase):
    """On files made for it."""

    def setUp(self) -> None:
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = Path(held.name)

    def store(self, name: str, workload: str, runs: list[dict[str, Any]], **more: Any) -> None:
        """Writes one file."""
        engines = list(dict.fromkeys(run["engine"] for run in runs))
        (self.folder / f"{name}.json").write_text(json.dumps(
            report_samples.head(workload, "query", engines, runs=runs, **more)), encoding="utf-8")

    def row(self, figure: str, of: str = "") -> list[str]:
        """The cells after a figure, in the workload of that title."""
        workload = ""
        for line in goals.block(self.folder).splitlines():
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            workload = cells[0] or workload
            if len(cells) > 2 and cells[1] == figure and workload.startswith(of):
                return cells[2:]
        self.fail(f"no row of {figure}")

    def test_steps(self) -> None:
        runs = []
        for repeat, rate in enumerate((1500, 1600, 1400)):
            runs += [report_samples.run("cairn", "query", rate, repeat=repeat),
                     report_samples.run("innodb", "query", 1000, repeat=repeat)]
        self.store("linkbench-256m", "linkbench", runs)
        self.assertEqual(self.row("transactions/s"),
                         ["≥ 1.5", "✓ 1.50", "1.40 – 1.60", "≥ 1.5", "not measured", "–"])
        self.assertEqual(self.row("… database size")[:3], ["≤ 0.333", "✗ 0.60", "–"])
        self.assertEqual(self.row("… p99, worst of ten operations")[:3], ["≤ 1", "✓ 0.60", "–"])
        self.assertEqual(self.row("load, rows/s")[:2], ["≥ 1", "not measured"])
        self.assertIn("All of commit 0123abc, 2026-11-22.", goals.block(self.folder))

    def test_steps_are_compared_within_each_turn(self) -> None:
        # A machine of half the speed in the last turn, in which MyRocks has failed.
        runs = [report_samples.run(engine, "query", rate, repeat=repeat)
                for engine, rates in (
                    ("cairn", (1500, 1600, 700)), ("innodb", (1000, 1000, 500)), ("myrocks", (750, 400)))
                for repeat, rate in enumerate(rates)]
        self.store("linkbench-256m", "linkbench", runs)
        self.assertEqual(self.row("transactions/s"),
                         ["≥ 1.5", "✓ 1.50", "1.40 – 1.60", "≥ 1.5", "✓ 3.00", "2.00 – 4.00"])

    def test_lines_are_compared_within_each_turn(self) -> None:
        self.store("oltp", "oltp", [*_lines("cairn", {"a": [100, 10, 120], "b": [30, 30, 30], "c": [20, 20, 20]}),
                                    *_lines("innodb", {"a": [100, 10, 100], "b": [10, 10, 10], "c": [10, 10, 10]}),
                                    *_lines("myrocks", {"a": [100, 10, 130], "b": [20, 20, 20], "c": [10, 10, 10]})])
        self.assertEqual(self.row("rate, worst line"),
                         ["≥ 1", "✓ 1.00", "1.00 – 1.20", "≥ 1", "✓ 1.00", "0.92 – 1.00"])
        self.assertEqual(self.row("rate, median of all lines"), ["–", "–", "–", "≥ 1.3", "✓ 1.50", "1.00 – 2.00"])

    def test_what_fills_the_database_is_no_line(self) -> None:
        runs = []
        for engine, rate in (("cairn", 110), ("innodb", 100)):
            load = report_samples.run(engine, "load", 50 if engine == "cairn" else 100)
            load["outcome"]["lines"] = {"fill": {"operations": load["rate"], "seconds": 1}}
            runs += [load, *_lines(engine, {"a": [rate, rate]})]
        self.store("oltp", "oltp", runs,
                   steps=[report_samples.step("load"), report_samples.step("lines", repeatable=True)])
        self.assertEqual(self.row("rate, worst line")[:2], ["≥ 1", "✓ 1.10"])

    def test_times_are_the_inverse_of_rates(self) -> None:
        self.store("ddl", "ddl", [*_lines("cairn", {"copy": [200, 400]}), *_lines("innodb", {"copy": [100, 100]})])
        self.assertEqual(self.row("copy")[:3], ["≤ 1", "✓ 0.333", "0.250 – 0.50"])

    def test_cairns_own(self) -> None:
        run = report_samples.run("cairn", "load", 1000)
        run["outcome"]["detail"]["last_tenth_ips"] = 940
        self.store("insert-20m", "insert", [run])
        self.assertEqual(self.row("last tenth, of Cairn's own average", "Insert Benchmark, 384 MiB, 20"),
                         ["≥ 0.95", "✗ 0.94", "–", "–", "–", "–"])
        runs = [report_samples.run(engine, "query", rate) for engine, rate in (("cairn", 95), ("a", 100), ("b", 90))]
        (self.folder / "scale").mkdir()
        self.store("scale/linkbench-tuned", "linkbench", runs)
        self.assertEqual(self.row("transactions/s, of the best")[:2], ["≥ 0.9", "✓ 0.95"])

    def test_size_is_compared_with_compressed_ones(self) -> None:
        runs = []
        for engine, megabytes in (("cairn", 40), ("innodb", 200), ("innodb-compressed", 100),
                                  ("innodb-page-compressed", 75)):
            run = report_samples.run(engine, "query", 1000)
            run["metrics"]["size"]["database_bytes"] = megabytes << 20
            runs.append(run)
        self.store("linkbench-256m", "linkbench", runs)
        self.assertEqual(self.row("… size, of InnoDB's with compressed rows"), ["≤ 0.5", "✓ 0.40", "–", "–", "–", "–"])
        self.assertEqual(self.row("… size, of InnoDB's with compressed pages")[:2], ["≤ 0.5", "✗ 0.53"])
        self.assertEqual(self.row("… database size")[:2], ["≤ 0.333", "✓ 0.200"])

    def test_a_run_that_failed_its_checks_reaches_nothing(self) -> None:
        runs = [report_samples.run(engine, "query", rate) for engine, rate in (("cairn", 2000), ("innodb", 1000))]
        runs.append(report_samples.run("cairn", "validate", 1) | {"status": "invalid"})
        self.store("linkbench-256m", "linkbench", runs, invalid={"cairn": "counts differ"})
        self.assertEqual(self.row("transactions/s")[1], "not measured")


if __name__ == "__main__":
    unittest.main()
