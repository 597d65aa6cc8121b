# SPDX-License-Identifier: GPL-2.0-only
"""The sysbench workloads: what is read from sysbench, and what is made of it."""

import os
import re
import shutil
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from cairn_cli import process
from cairn_cli.bench import memtable, oltp, oltp_lines, scan, sysbench, sysbench_tables
from cairn_cli.bench.engines import ENGINES
from cairn_cli.bench.postwrite import postwrite
from cairn_cli.bench.sysbench_tables import SameEverywhere, Tables
from cairn_cli.bench.workload import Target
from cairn_cli.errors import CairnError

_PRINTED = """sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)

Threads started!

result of thread 1: 20000 199027579
result of thread 0:\x20
Latency histogram (values are in milliseconds)
       value  ------------- distribution ------------- count
       3.187 |**************************************** 97
       3.364 |                                         2
      10.090 |*                                        1
\x20
SQL statistics:
    queries performed:
        read:                            200
        write:                           0
        other:                           0
        total:                           200
    transactions:                        100    (187.23 per sec.)
    queries:                             200    (374.46 per sec.)
    ignored errors:                      3      (0.00 per sec.)
    reconnects:                          0      (0.00 per sec.)

General statistics:
    total time:                          0.5341s
    total number of events:              100

Latency (ms):
         min:                                    3.17
         avg:                                    6.53
         max:                                   10.12
         95th percentile:                       10.09
         sum:                                   39.19
"""


def _target(query: object = None) -> Target:
    return Target(ENGINES["cairn"], Path("/s"), os.getpid(), Path("/d"), Path("/x"), query or (lambda *_: ""))


class ParseTest(unittest.TestCase):
    """Every number that is used, from sysbench's report."""

    def test_report(self) -> None:
        report = sysbench.parse(_PRINTED)
        self.assertEqual((report.events, report.transactions, report.queries), (100, 100, 200))
        self.assertEqual((report.errors, report.reconnects, report.seconds), (3, 0, 0.5341))
        self.assertEqual(report.results, {0: "", 1: "20000 199027579"})
        self.assertEqual(report.latency, {"count": 100, "mean_ms": 6.53, "p50_ms": 3.187,
                                          "p95_ms": 3.187, "p99_ms": 3.364, "max_ms": 10.12})

    def test_incomplete(self) -> None:
        for end in ("total time", "queries:  ", "Latency histogram"):
            with self.assertRaisesRegex(CairnError, "no complete report"):
                sysbench.parse(_PRINTED[:_PRINTED.index(end)])

    def test_percentile(self) -> None:
        buckets = [(2.0, 1), (1.0, 98), (3.0, 1)]
        self.assertEqual([sysbench.percentile(buckets, share) for share in (0.5, 0.98, 0.99, 1.0)],
                         [1.0, 1.0, 2.0, 3.0])
        self.assertEqual(sysbench.percentile([], 0.99), 0.0)

    def test_server_cpu(self) -> None:
        before = sysbench.server_cpu_seconds(os.getpid())
        sum(i * i for i in range(200_000))
        self.assertGreater(sysbench.server_cpu_seconds(os.getpid()), before)

    def test_failure_is_named(self) -> None:
        with (tempfile.TemporaryDirectory() as scratch,
              mock.patch.object(process, "result", return_value=(1, "FATAL: error 1146: no table\n\n")),
              mock.patch.object(shutil, "which", return_value="/usr/bin/sysbench")):
            target = Target(ENGINES["innodb"], Path("/s"), os.getpid(), Path("/d"), Path(scratch), lambda *_: "")
            with self.assertRaisesRegex(CairnError, "oltp_delete failed with code 1:\nFATAL: error 1146"):
                sysbench.run(target, "oltp_delete", {"skip_trx": True}, seconds=1)
            said = (Path(scratch) / "sysbench.log").read_text(encoding="utf-8")
        self.assertIn("--skip_trx=on", said)
        self.assertIn("--rand-type=uniform", said)


@unittest.skipUnless(shutil.which("sysbench"), "sysbench is not installed")
class ZipfTest(unittest.TestCase):
    """The generator against the distribution's own sums."""

    def test_shares(self) -> None:
        said = process.capture(["sysbench", "test_zipf.lua", "--events=1", "--rand-seed=1", "run"],
                               cwd=sysbench.SCRIPTS)
        found = re.search(r"shares (\S+) (\S+) of (\S+) (\S+), ranks (\d+) to (\d+)", said)
        self.assertIsNotNone(found, said)
        first, tenth, first_wanted, tenth_wanted = (float(found[i]) for i in range(1, 5))
        self.assertAlmostEqual(first, first_wanted, delta=0.002)
        self.assertAlmostEqual(tenth, tenth_wanted, delta=0.015)
        self.assertEqual((int(found[5]), int(found[6])), (0, 999))


class TablesTest(unittest.TestCase):
    """Rows that differ between engines, or between a table and its index, are found."""

    def test_sums(self) -> None:
        answers = {"CRC32": "2\t3\t4\t5\t6\n", "PRIMARY": "2\t3\t4\n", "k_1": "2\t3\t4\n"}

        def query(sql: str, _database: str = "") -> str:
            return next(answer for key, answer in answers.items() if key in sql)

        same = SameEverywhere()
        tables = Tables(count=1, rows=2)
        self.assertEqual(same.problems(_target(query), tables, "load"), [])
        answers["CRC32"] = "2\t3\t4\t5\t7\n"
        self.assertIn("2 3 4 5 7 here and 2 3 4 5 6 on cairn",
                      same.problems(_target(query), tables, "load")[0])
        self.assertEqual(same.problems(_target(query), tables, "update"), [])
        answers["k_1"] = "2\t3\t9\n"
        self.assertIn("by k: 2\t3\t9", same.problems(_target(query), tables, "update")[0])
        answers["k_1"] = answers["PRIMARY"]
        self.assertIn("has 2 rows, not 3", same.problems(_target(query), Tables(1, 3), "load")[0])

    def test_pick(self) -> None:
        self.assertEqual(sysbench_tables.pick("b, a", {"a": 1, "b": 2}, "thing"), [2, 1])
        with self.assertRaisesRegex(CairnError, "no such thing: c \\(there are: a b\\)"):
            sysbench_tables.pick("a,c", {"a": 1, "b": 2}, "thing")


class ScanTest(unittest.TestCase):
    """Counts that are wrong make a scan invalid; passes become one line."""

    def test_results(self) -> None:
        full, counted = scan.chosen("full,covering")
        self.assertEqual(scan.wrong_results(full, {0: "0"}, 1, 10), [])
        self.assertEqual(scan.wrong_results(full, {0: ""}, 1, 10), [])
        self.assertEqual(scan.wrong_results(full, {0: "1"}, 1, 10), ["full: client 0 got '1', not 0 rows"])
        self.assertEqual(scan.wrong_results(full, {0: "0"}, 2, 10), ["full: 1 of 2 clients had a result"])
        self.assertEqual(scan.wrong_results(counted, {0: "10 55"}, 1, 10), [])
        self.assertEqual(scan.wrong_results(counted, {0: "9 55"}, 1, 10),
                         ["covering: client 0 got '9 55', not 10"])

    def test_median_line(self) -> None:
        lines = [{"seconds": value, "operations": 10} for value in (3.0, 1.0, 2.0)]
        self.assertEqual(scan.median_line(lines), {"seconds": 2.0, "operations": 10})


class OltpTest(unittest.TestCase):
    """The list of lines, and the comparison with the base engine."""

    def test_lines(self) -> None:
        self.assertEqual(len(oltp_lines.BY_NAME), len(oltp_lines.LINES))
        self.assertEqual([line.name for line in oltp.chosen("insert,scan,update-one")],
                         ["update-one", "scan", "insert"])
        with self.assertRaisesRegex(CairnError, "no such line: nonsense"):
            oltp.chosen("scan,nonsense")
        for line in oltp_lines.LINES:
            if line.script.endswith(".lua"):
                self.assertTrue((sysbench.SCRIPTS / line.script).exists(), line.script)

    def test_worst_first(self) -> None:
        def of(rate: float) -> dict[str, float]:
            return {"rate": rate, "server_cpu_us": 10.0, "p99_ms": 1.0}

        # In the second repeat the machine is twice as fast, for both.
        base = {0: {"scan": of(100), "delete": of(100), "insert": of(100)}, 1: {"scan": of(200), "delete": of(200)},
                2: {"scan": of(100), "delete": of(100)}}
        own = {0: {"scan": of(90), "delete": of(50)}, 1: {"scan": of(220), "delete": of(140)},
               2: {"scan": of(100), "delete": of(60)}, 3: {"insert": of(1)}}
        rows = [line.split() for line in oltp.relative_lines(own, base)[1:]]
        self.assertEqual([row[:4] for row in rows],
                         [["delete", "0.60", "[74%]", "1.00"], ["scan", "1.00", "[45%]", "1.00"]])

    def test_summary_leaves_out_the_invalid(self) -> None:
        def run(engine: str, rate: float) -> dict[str, object]:
            return {"engine": engine, "step": "lines", "repeat": 0, "status": "ok", "outcome": {"lines": {
                "scan": {"rate": rate, "server_cpu_us": 10.0, "p99_ms": 1.0}}}}

        results = {"steps": [{"name": "load", "clients": 1, "repeatable": False},
                             {"name": "lines", "clients": 1, "repeatable": True}],
                   "runs": [run("cairn", 50), run("innodb", 100), run("myrocks", 7)],
                   "invalid": {"myrocks": "lines: scan: wrong"}}
        text = "\n".join(oltp.WORKLOAD.summary(results, "innodb"))
        self.assertIn("cairn relative to innodb", text)
        self.assertIn(" 0.50", text)
        self.assertNotIn("myrocks", text)


class MemtableTest(unittest.TestCase):
    """Sizes, medians, and the CPU's caches."""

    def test_sizes(self) -> None:
        self.assertEqual(memtable.sizes_of("8,1,8"), [8, 1])
        for text in ("", "a", "0", "1,-2"):
            with self.assertRaisesRegex(CairnError, "is no list of whole MiB"):
                memtable.sizes_of(text)

    def test_line(self) -> None:
        fills = [{"rocksdb": "11", "inserted": 100, "seconds": 100 / rate, "inserts_per_second": rate,
                  "process_cpu_seconds": 2.0, "writer_cpu_seconds": 1e-6, "stall_us": 0, "flushed_bytes": 7,
                  "files": 1} for rate in (90.0, 110.0, 100.0)]
        line = memtable.line(fills)
        self.assertEqual((line["rate"], line["rate_spread_percent"], line["seconds"]), (100.0, 44.6, 1.0))
        self.assertAlmostEqual(line["writer_cpu_ns"], 10.0)

    def test_caches(self) -> None:
        with tempfile.TemporaryDirectory() as name:
            for index, (level, kind, size) in enumerate((("1", "Data", "48K"), ("1", "Instruction", "32K"),
                                                         ("2", "Unified", "1024K"))):
                folder = Path(name) / f"index{index}"
                folder.mkdir()
                for file, text in (("level", level), ("type", kind), ("size", size)):
                    (folder / file).write_text(text + "\n", encoding="ascii")
            self.assertEqual(memtable.cpu_caches(Path(name)), {"L1": "48K", "L2": "1024K"})
            self.assertEqual(memtable.cpu_caches(Path(name) / "none"), {})


class PostwriteTest(unittest.TestCase):
    """What each engine is told after writes."""

    def _told(self, engine: str, settled: object) -> list[str]:
        told: list[str] = []

        def query(sql: str, *_: object) -> str:
            told.append(sql)
            return "90.5\n" if sql.startswith("SELECT") else ""

        target = Target(ENGINES[engine], Path("/s"), os.getpid(), Path("/d"), Path("/x"), query)
        with mock.patch("cairn_cli.bench.postwrite.settle", side_effect=settled):
            if isinstance(settled, Exception):
                self.assertRaises(CairnError, postwrite, target, Tables(2, 10), print)
            else:
                self.assertEqual(postwrite(target, Tables(2, 10), lambda _: None), 1.5)
        return told

    def test_lsm_engines_compact_every_table(self) -> None:
        for engine in ("cairn", "myrocks"):
            self.assertEqual(self._told(engine, [1.5]), ["OPTIMIZE TABLE sbtest1", "OPTIMIZE TABLE sbtest2"])

    def test_innodb_gets_its_settings_back(self) -> None:
        for settled in ([1.5], CairnError("gone")):
            told = self._told("innodb", settled)
            self.assertEqual([sql for sql in told if sql.startswith("SET")], [
                "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 1", "SET GLOBAL innodb_max_dirty_pages_pct = 1",
                "SET GLOBAL innodb_max_dirty_pages_pct = 90.5", "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 90.5"])


if __name__ == "__main__":
    unittest.main()
