# SPDX-License-Identifier: GPL-2.0-only
"""The instruction guard: what is read from the probe and callgrind, and what fails."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from cairn_cli.errors import CairnError
from cairn_cli.group_report import Report
from cairn_cli.groups import Context, instructions, locked_instructions
from cairn_cli.groups.instructions import Counts, Operation

_SAID = "compiler 12.2.0\narchitecture x86_64\noperation scan row 100 300\noperation put range 5 15\n"
_DUMP = """# callgrind format
part: 2
desc: Timerange: Basic block 1 - 2
desc: Trigger: Client Request: scan/300/0

events: Ir
summary: 7100

fn=(1) main
12 7100

totals: 7100
"""
_HERE = {"compiler": "12.2.0", "architecture": "x86_64", "libc": "2.36", "valgrind": "valgrind-3.19.0"}


def _compare(old: dict[str, float], new: dict[str, float], **other: str) -> tuple[Report, str]:
    report = Report("instructions")
    with contextlib.redirect_stdout(io.StringIO()) as said:
        instructions.compare(Counts({**_HERE, **other}, old), Counts(_HERE, new), Path("dumps"), report)
    return report, said.getvalue()


class ParsingTest(unittest.TestCase):
    """Numbers come from the difference of two runs."""

    def test_operations(self) -> None:
        self.assertEqual(instructions.operations_of(_SAID),
                         [Operation("scan", "row", 100, 300), Operation("put", "range", 5, 15)])

    def test_dumps(self) -> None:
        self.assertEqual(instructions.dump_of(_DUMP), ("scan/300/0", 7100))
        self.assertIsNone(instructions.dump_of(_DUMP.replace("Client Request: scan/300/0", "Program termination")))
        self.assertIsNone(instructions.dump_of("no dump"))

    def test_fixed_costs_cancel_and_an_odd_store_does_not_count(self) -> None:
        totals = {f"scan/{times}/{store}": 1000 + times * cost
                  for times in (100, 300) for store, cost in enumerate((7, 9, 7))}
        self.assertEqual(instructions.per_operation([Operation("scan", "row", 100, 300)], totals, 3),
                         {"scan": 7.0})

    def test_a_missing_count_is_an_error(self) -> None:
        with self.assertRaisesRegex(CairnError, "scan/300/0"):
            instructions.per_operation([Operation("scan", "row", 100, 300)], {"scan/100/0": 1}, 1)

    def test_files(self) -> None:
        counts = Counts(_HERE, {"scan": 12.5})
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "baseline.json"
            with self.assertRaisesRegex(CairnError, "no baseline"):
                Counts.read(file)
            file.write_text(counts.text(), encoding="utf-8")
            self.assertEqual(Counts.read(file), counts)

    def test_the_baseline_of_the_checkout(self) -> None:
        recorded = Counts.read(instructions.BASELINE)
        self.assertGreaterEqual(len(recorded.instructions), 12)
        self.assertTrue(all(count > 0 for count in recorded.instructions.values()))
        self.assertEqual(recorded.environment.keys(), _HERE.keys())

    def test_the_page_shows_the_baseline(self) -> None:
        recorded = Counts.read(instructions.BASELINE)
        page = instructions.PAGE.read_text(encoding="utf-8")
        for name, count in recorded.instructions.items():
            self.assertRegex(page, rf"(?m)^\| {name} \| \w+ \| {count:,.0f} \| \d+\.\d \|$")
        operations = [Operation(name, "row", 1, 3) for name in recorded.instructions]
        doubled = Counts(recorded.environment, dict.fromkeys(recorded.instructions, 1000.4),
                         dict.fromkeys(recorded.instructions, 2.26))
        written = instructions.with_table(page, operations, doubled)
        self.assertEqual(written.count("| row | 1,000 | 2.3 |"), len(operations))
        self.assertEqual(len(written.splitlines()), len(page.splitlines()))
        with self.assertRaisesRegex(CairnError, "0 places"):
            instructions.with_table("no table", operations, doubled)


class LockedInstructionsTest(unittest.TestCase):
    """Atomic instructions are found in the code, and what a call cost is not taken for one."""

    def test_executed(self) -> None:
        code = {"/bin/a": frozenset({0x10, 0x15}), "/lib/b": frozenset({0x15})}
        dump = ("positions: instr line\nob=(1) /bin/a\nfn=(1) main\n0x10 0 3\n+5 0 4\n"
                "cob=(2) /lib/b\ncfn=(2) lock\ncalls=7 0x15 0\n* 0 100\n-4 0 50\n\n"
                "ob=(2)\nfn=(2)\n0x15 0 20\n0x10 0 1000\nob=(3) ???\n0x10 0 1000\nob=(1)\n0x10 0 1\ntotals: 2178\n")
        self.assertEqual(locked_instructions.executed(dump, code.__getitem__), 3 + 4 + 20 + 1)

    def test_addresses(self) -> None:
        listing = ("0000000000000010 <f>:\n  10:\tlock add %rax,(%rdi)\n  15:\txchg   %ax,%ax\n"
                   "  17:\txchg   %al,0x29(%r12)\n  1c:\tmov    %rax,(%rdi)\n")
        with mock.patch("cairn_cli.process.capture", return_value=listing):
            self.assertEqual(locked_instructions.addresses("/bin/of-the-test"), {0x10, 0x17})


class ComparisonTest(unittest.TestCase):
    """More than 3 % fails, in one direction only."""

    def test_growth_fails_and_says_how_much(self) -> None:
        report, said = _compare({"scan": 1000.0, "put": 500.0}, {"scan": 1031.0, "put": 514.0})
        self.assertEqual([name for name, _ in report.failures], ["scan"])
        for part in ("1000.0", "1031.0", "+3.1 %", "CAIRN_RECORD_INSTRUCTIONS=1", "dumps/scan.callgrind"):
            self.assertIn(part, said)
        self.assertEqual(report.passed_count, 1)

    def test_a_shrink_passes_with_a_note(self) -> None:
        report, _ = _compare({"scan": 1000.0}, {"scan": 960.0})
        self.assertEqual((report.passed_count, report.failures), (1, []))
        self.assertIn("lower the baseline", report.notes[0])

    def test_little_changes_are_silent(self) -> None:
        report, said = _compare({"scan": 1000.0, "put": 1000.0}, {"scan": 1029.0, "put": 971.0})
        self.assertEqual((report.passed_count, report.failures, report.notes, said), (2, [], [], ""))

    def test_operations_on_one_side_only_fail(self) -> None:
        report, _ = _compare({"scan": 1.0, "gone": 1.0}, {"scan": 1.0, "new": 1.0})
        self.assertEqual([name for name, _ in report.failures], ["new", "gone"])

    def test_another_compiler_is_skipped_aloud(self) -> None:
        report, said = _compare({"scan": 1.0}, {"scan": 9.0}, compiler="13.1.0")
        self.assertEqual((report.passed_count, report.failures, len(report.skips)), (0, [], 1))
        self.assertIn("its compiler is 13.1.0, here it is 12.2.0", said)
        self.assertIn("13.1.0", report.skips[0][1])

    def test_another_valgrind_is_compared(self) -> None:
        report, _ = _compare({"scan": 1.0}, {"scan": 9.0}, valgrind="valgrind-3.20.0")
        self.assertEqual(len(report.failures), 1)

    def test_other_build_types_are_skipped(self) -> None:
        for build_type in ("debug", "asan", "tsan"):
            report = Report("instructions")
            instructions.run(Context(build_type=build_type), report)
            self.assertEqual(len(report.skips), 1)


if __name__ == "__main__":
    unittest.main()
