# SPDX-License-Identifier: GPL-2.0-only
"""Small pieces of the command: versions, symbols, unit test output."""

import unittest

from cairn_cli import apt
from cairn_cli.group_report import Report
from cairn_cli.groups import plugin, unit


class VersionsTest(unittest.TestCase):
    """The distribution's order, not the alphabet's."""

    def test_newest_first(self) -> None:
        versions = ["1:10.11.9-1", "1:10.11.18-0+deb12u1", "1:10.11.18-0+deb12u2", "10.99-1"]
        self.assertEqual(apt.newest_first(versions)[0], "1:10.11.18-0+deb12u2")
        self.assertEqual(apt.newest_first(versions)[-1], "10.99-1")


class SymbolsTest(unittest.TestCase):
    """Only what the server looks up may be exported."""

    def test_listing(self) -> None:
        listing = "0001 D _maria_plugin_declarations_\n0002 D my_snprintf_service\n0003 T _ZN5cairn1fE\n"
        self.assertEqual(plugin.exported_beyond_entry(listing), ["_ZN5cairn1fE"])


class UnitOutputTest(unittest.TestCase):
    """GoogleTest's lines, also of parametrised tests."""

    def test_lines(self) -> None:
        for line, wanted in (("[       OK ] A.B (0 ms)", ("OK", "A.B")),
                             ("[  FAILED  ] A/B.C/0, where GetParam() = 3 (12 ms)",
                              ("FAILED", "A/B.C/0,"))):
            found = unit._GTEST_DONE.match(line)
            self.assertIsNotNone(found)
            self.assertEqual((found[1], found[2].rstrip(",")), (wanted[0], wanted[1].rstrip(",")))
        self.assertIsNone(unit._GTEST_DONE.match("[  FAILED  ] A.B"))


class ReportTest(unittest.TestCase):
    """Counts add up."""

    def test_line(self) -> None:
        report = Report("x")
        report.passed("a", 2)
        report.skipped("b", "why")
        self.assertEqual(report.line(), "2 passed, 0 failed, 1 skipped")


if __name__ == "__main__":
    unittest.main()
