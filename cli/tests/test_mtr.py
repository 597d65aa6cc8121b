# SPDX-License-Identifier: GPL-2.0-only
"""Reading what MariaDB's test runner prints."""

import unittest

from cairn_cli.mtr import Reader

_OUTPUT = """\
TEST                                  WORKER RESULT   TIME (ms) or COMMENT
--------------------------------------------------------------------------
worker[01] Using MTR_BUILD_THREAD 300, with reserved ports 19000..19029
main.1st                                 w1 [ pass ]
main.select 'nm'                         w2 [ pass ]    792
cairn.basic 'innodb,row'                 w1 [ fail ]
        Test ended at 2026-01-01 00:00:00

CURRENT_TEST: cairn.basic
mysqltest: At line 3: query failed
main.ssl                                 w1 [ skipped ]  Need SSL
main.old                                 [ disabled ]  too old
--------------------------------------------------------------------------
Failing test(s): cairn.basic
""".splitlines()


class ReaderTest(unittest.TestCase):
    """Each kind of line gives its result."""

    def test_outcomes(self) -> None:
        reader = Reader()
        for line in _OUTPUT:
            reader.line(line)
        found = {each.name: (each.outcome, each.detail) for each in reader.end()}
        self.assertEqual(found["main.1st"], ("pass", ""))
        self.assertEqual(found["main.select 'nm'"], ("pass", ""))
        self.assertEqual(found["main.ssl"], ("skipped", "Need SSL"))
        self.assertEqual(found["main.old"], ("disabled", "too old"))
        outcome, detail = found["cairn.basic 'innodb,row'"]
        self.assertEqual(outcome, "fail")
        self.assertIn("query failed", detail)
        self.assertEqual(len(found), 5)

    def test_failure_at_the_end_is_kept(self) -> None:
        reader = Reader()
        reader.line("main.a                                   w1 [ fail ]")
        reader.line("why")
        self.assertEqual([each.detail for each in reader.end()], ["why"])


if __name__ == "__main__":
    unittest.main()
