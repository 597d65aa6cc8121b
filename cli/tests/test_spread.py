# SPDX-License-Identifier: GPL-2.0-only
"""Spreads of figures over repeats."""

import random
import statistics
import unittest

from cairn_cli.spread import relative_spread, spread


class SpreadTest(unittest.TestCase):
    """What another run's median differs by."""

    def test_covers_99_of_100_pairs_of_runs(self) -> None:
        noise = random.Random(1947)
        pairs = 10_000
        for count in range(2, 13):
            outside = 0
            for _ in range(pairs):
                runs = [[noise.gauss(0, 1) for _ in range(count)] for _ in range(2)]
                difference = abs(statistics.median(runs[0]) - statistics.median(runs[1]))
                outside += difference > statistics.mean(spread(min(run), max(run), count) for run in runs)
            share = outside / pairs
            # Five standard errors; beyond 10 values the factor is that of 10, and covers more.
            self.assertLess(share, 0.015, f"{count} values")
            if count <= 10:
                self.assertGreater(share, 0.005, f"{count} values")

    def test_relative(self) -> None:
        self.assertAlmostEqual(relative_spread([90, 110, 100, 95, 105]) or 0, 0.2)
        self.assertAlmostEqual(relative_spread([-100, -101]) or 0, 7.95 / 100.5)
        self.assertEqual(relative_spread([5, 5, 5]), 0)
        self.assertAlmostEqual(relative_spread([5, 5, 5], 1 / 64) or 0, 2.23 / 64)
        self.assertIsNone(relative_spread([5]))
        self.assertIsNone(relative_spread([-1, 0, 1]))
