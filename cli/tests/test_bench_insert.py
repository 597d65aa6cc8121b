# SPDX-License-Identifier: GPL-2.0-only
"""The Insert Benchmark without a server: its steps, what each asks of the client, what becomes of the answer."""

import unittest
from typing import Any

from cairn_cli.bench import command, engines, insert
from cairn_cli.bench.workload import Conditions, Step
from cairn_cli.errors import CairnError


def _options(*words: str) -> Any:
    options = command.parse("insert", words)
    options.conditions = Conditions(clients=tuple(options.clients), seconds=options.seconds, scale=options.scale)
    return options


def _names(*words: str) -> list[str]:
    return [step.name for step in insert.WORKLOAD.steps(_options(*words))]


def _arguments(name: str, *words: str, engine: str = "cairn") -> list[str]:
    options = _options(*words)
    step = next(step for step in insert.WORKLOAD.steps(options) if step.name == name)
    return insert.client_arguments(step, engines.ENGINES[engine], options, options.conditions.seconds)


class StepsTest(unittest.TestCase):
    """Both generations, each number of clients from a fresh load."""

    def test_ib2024(self) -> None:
        self.assertEqual(_names(), ["l.i0", "l.x", "l.i1", "l.i2", "vac", "qr100", "qp100", "qr500", "qp500",
                                    "qr1000", "qp1000", "validate"])

    def test_ib2016(self) -> None:
        self.assertEqual(_names("--generations", "ib2016"), ["load", "validate"])
        self.assertEqual(_names("--generations", "ib2016", "--queries-2016"), ["load", "q1000", "q100", "validate"])

    def test_sweep(self) -> None:
        self.assertEqual(_names("--generations", "ib2016", "--clients", "1,4,8"),
                         ["load-1", "validate-1", "load-4", "validate-4", "load-8", "validate-8"])

    def test_only_queries_are_repeated(self) -> None:
        steps = insert.WORKLOAD.steps(_options("--generations", "ib2016,ib2024", "--clients", "1,4"))
        self.assertEqual(len({step.name for step in steps}), len(steps))
        for step in steps:
            self.assertEqual(step.repeatable, ".q" in step.name, step.name)

    def test_wrong_generation(self) -> None:
        for words, why in (("ib2009", "no such one: ib2009"), ("ib2016,ib2016", "each once"), (",", "each once")):
            with self.assertRaisesRegex(CairnError, why):
                _names("--generations", words)


class ArgumentsTest(unittest.TestCase):
    """Amounts and sizes of transactions as published."""

    def test_load(self) -> None:
        words = _arguments("l.i0", "--scale", "1M", engine="innodb-compressed")
        self.assertIn("--rows=1000000", words)
        self.assertIn("--rows-per-commit=100", words)
        self.assertIn("--table-options=ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8", words)
        self.assertNotIn("--secondary-indexes", words)
        self.assertIn("--secondary-indexes", _arguments("load", "--generations", "ib2016"))

    def test_writes(self) -> None:
        for name, rows, commit in (("l.i1", 160_000, 50), ("l.i2", 40_000, 5)):
            words = _arguments(name, "--scale", "1M", "--max-seconds", "7")
            for word in (f"--rows={rows}", f"--rows-per-commit={commit}", "--deletes", "--max-seconds=7"):
                self.assertIn(word, words)

    def test_queries(self) -> None:
        words = _arguments("qp500-4", "--clients", "1,4", "--seconds", "30", "--prepared")
        for word in ("--query=point", "--rate=500", "--seconds=30", "--rows-per-commit=50", "--deletes",
                     "--clients=4", "--max-seconds=90", "--prepared"):
            self.assertIn(word, words)
        old = _arguments("q1000", "--generations", "ib2016", "--queries-2016")
        self.assertIn("--rows-per-commit=100", old)
        self.assertNotIn("--deletes", old)

    def test_indexes(self) -> None:
        self.assertIn("--one-alter", _arguments("l.x"))
        self.assertNotIn("--one-alter", _arguments("l.x", engine="myrocks"))


class OutcomeTest(unittest.TestCase):
    """Of the client's object."""

    def _found(self, **other: Any) -> dict[str, Any]:
        statement = {"count": 20, "mean_ms": 1, "p50_ms": 1, "p95_ms": 2, "p99_ms": 3, "max_ms": 4,
                     "response_times": [], "rate_reached_by": {}, "rate_slices": [], "largest_ms": [4],
                     "stall_max_ms": 5}
        second = {"second": 1, "length_seconds": 1, **{f"{what}{name}{unit}": number for number, name in
                  enumerate(("insert", "delete", "query"), 1) for what, unit in
                  (("", ""), ("max_", "_ms"), ("stall_", "_ms"))}}
        return {"seconds": 10.0, "client_cpu_seconds": 0.1, "complete": False, "rows_wanted": 2000,
                "rows_per_commit": 50, "inserted": 1000, "deleted": 1000, "queries": 0, "query_rows": 0, "ips": 100,
                "dps": 100, "qps": 0, "last_tenth_ips": 90, "last_ips": 80, "sla": None, "retries": {}, "reports": [],
                "statements": {"insert": statement, "delete": statement, "query": None}, "timeline": [second],
                "min_id_query": {"count": 1, "first_ms": 1, "max_ms": 2}} | other

    def _part(self, name: str) -> insert.Part:
        return next(part for part in insert.GENERATIONS["ib2024"] if part.name == name)

    def test_a_capped_step_says_what_it_reached(self) -> None:
        outcome = insert.step_outcome(self._found(), self._part("l.i1"))
        assert outcome is not None
        self.assertEqual((outcome.operations, outcome.unit), (1000, "row"))
        self.assertEqual(outcome.detail["reached_percent"], 50)
        self.assertEqual(outcome.detail["last_tenth_ips"], 90)
        self.assertEqual(outcome.detail["stall_ms"], {"insert": 5, "delete": 5})
        self.assertEqual(outcome.series, [{"second": 1, "operations": 1, "max_ms": 1, "inserts": 1,
                                           "insert_stall_ms": 1, "deletes": 2, "delete_stall_ms": 2}])
        self.assertEqual(outcome.problems, [])

    def test_queries_beside_inserts(self) -> None:
        found = self._found(queries=500, sla={"wanted_ips": 400.0, "kept": False})
        found["statements"]["query"] = found["statements"]["insert"]
        outcome = insert.step_outcome(found, self._part("qr100"))
        assert outcome is not None
        self.assertEqual((outcome.operations, outcome.unit), (500, "query"))
        self.assertEqual(outcome.detail["sla_percent"], 25)
        self.assertFalse(outcome.detail["sla_kept"])
        self.assertEqual(set(outcome.latencies), {"insert", "delete", "query"})
        self.assertEqual(outcome.series[0]["operations"], 3)
        self.assertNotIn("last_ips", outcome.detail)

    def test_no_step(self) -> None:
        self.assertIsNone(insert.step_outcome(None, self._part("l.i0")))

    def test_disk(self) -> None:
        options = _options("--scale", "10M")
        cairn, innodb = (insert.WORKLOAD.disk_bytes_needed(options, engines.ENGINES[name])
                         for name in ("cairn", "innodb"))
        self.assertGreater(innodb, cairn)
        self.assertGreater(cairn, 2_000_000_000)


class StepNamesTest(unittest.TestCase):
    """The validation is not a row of the table."""

    def test_shown(self) -> None:
        hidden = [step.name for step in insert.WORKLOAD.steps(_options()) if not step.shown]
        self.assertEqual(hidden, ["vac", "validate"])
        self.assertIsInstance(insert.WORKLOAD.steps(_options())[0], Step)


if __name__ == "__main__":
    unittest.main()
