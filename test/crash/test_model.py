# SPDX-License-Identifier: GPL-2.0-only
"""Tests of the writers' model: the same seed plans the same, and rows follow the plans."""

import random
import unittest

from crash.model import ITEM, Model


def _run(seed: str, transactions: int) -> Model:
    model = Model(7, random.Random(seed))
    for _ in range(transactions):
        plan = model.next_plan()
        if plan.commits:
            model.apply(plan)
    return model


class ModelTest(unittest.TestCase):
    def test_the_same_seed_gives_the_same_rows(self) -> None:
        self.assertEqual(_run("a", 200).rows, _run("a", 200).rows)

    def test_another_seed_gives_other_rows(self) -> None:
        self.assertNotEqual(_run("a", 200).rows, _run("b", 200).rows)

    def test_ids_stay_in_the_writers_own_range(self) -> None:
        ids = [int(row[0] or 0) for (table, _), row in _run("c", 300).rows.items() if table == ITEM]
        self.assertTrue(ids)
        self.assertTrue(all(7_000_000 <= number < 7_001_000 for number in ids))

    def test_every_plan_enters_the_ledger_once_outside_of_savepoints(self) -> None:
        model = Model(7, random.Random("d"))
        for _ in range(300):
            plan = model.next_plan()
            texts = [statement.sql for statement in plan.statements]
            entries = [n for n, sql in enumerate(texts) if sql.startswith("INSERT INTO ledger")]
            self.assertEqual(len(entries), 1)
            if "SAVEPOINT s" in texts:
                self.assertLess(entries[0], texts.index("SAVEPOINT s"))
            if plan.commits:
                model.apply(plan)


if __name__ == "__main__":
    unittest.main()
