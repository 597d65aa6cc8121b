# SPDX-License-Identifier: GPL-2.0-only
"""The simulated flash drive against what is known of greedy collection, and the lines of the block trace."""

import math
import random
import unittest

from cairn_cli.bench import flash
from cairn_cli.bench.block_trace import parse

_PAGE_SECTORS = 8


def expected(fullness: float) -> float:
    """Write amplification of uniformly random writes on a large drive: with p the share of valid pages in a
    collected block, fullness = (p - 1) / ln p (P. Desnoyers, "Analytic modeling of SSD write performance", 2012)."""
    low, high = 1e-6, 1 - 1e-6
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (middle - 1) / math.log(middle) < fullness else (low, middle)
    return 1 / (1 - low)


class DriveTest(unittest.TestCase):
    """Write amplification of traces whose answer is known."""

    def test_random_writes(self) -> None:
        chance = random.Random(1)
        pages = 40_000
        trace = flash.pages_of((chance.randrange(pages) * _PAGE_SECTORS, _PAGE_SECTORS) for _ in range(3 * pages))
        for share in flash.OVER_PROVISIONING:
            found = flash.write_amplification(trace, share)
            assert found
            self.assertAlmostEqual(found, expected(flash.FULLNESS / (1 + share)), delta=0.05)

    def test_sequential_writes_cost_nothing(self) -> None:
        trace = flash.pages_of([(at * 256, 256) for at in range(1000)] * 2)
        self.assertEqual(flash.write_amplification(trace, 0.07), 1.0)

    def test_discards_make_room(self) -> None:
        chance = random.Random(2)
        pages = 40_000
        writes = [(chance.randrange(pages) * _PAGE_SECTORS, _PAGE_SECTORS) for _ in range(2 * pages)]
        kept = flash.write_amplification(flash.pages_of(writes), 0.07)
        discarding = [*writes, (0, -pages * _PAGE_SECTORS // 2)]
        freed = flash.write_amplification(flash.pages_of(discarding), 0.07)
        assert kept and freed
        self.assertLess(freed, kept - 0.1)

    def test_each_page_is_found_once(self) -> None:
        chance = random.Random(3)
        pages = 9000
        drive = flash.Drive(pages, 0.07)
        alive: set[int] = set()
        for _ in range(60_000):
            page = chance.randrange(pages)
            if chance.random() < 0.1:
                drive.discard(page)
                alive.discard(page)
            else:
                drive.write(page)
                alive.add(page)
        content = [page for page in drive._content if page >= 0]
        self.assertEqual(sorted(content), sorted(alive))
        self.assertEqual(sum(drive._valid), len(alive))
        self.assertGreater(drive.copied, 0)

    def test_too_little_says_nothing(self) -> None:
        self.assertIsNone(flash.summary([(0, 8)])["write_amplification_7"])
        self.assertIsNone(flash.summary([])["write_amplification_7"])


class PagesTest(unittest.TestCase):
    """Requests in sectors become pages."""

    def test_partial_pages(self) -> None:
        trace = flash.pages_of([(0, 8), (15, 2), (8, -8), (1, -7), (16, -100)])
        # Pages 0; 1 and 2, written in part; 1 discarded; 0 not wholly; 2 discarded with pages never written.
        self.assertEqual(trace.operations, [0, 1, 2, ~1, ~2])
        self.assertEqual((trace.page_count, trace.written), (3, 3))

    def test_bytes(self) -> None:
        found = flash.summary([(0, 8), (0, 16), (0, -8)])
        self.assertEqual((found["writes"], found["written_bytes"], found["discarded_bytes"]), (2, 24 * 512, 8 * 512))


class TraceLinesTest(unittest.TestCase):
    """Lines as kernels print them, before and after they told the priority."""

    def test_lines(self) -> None:
        head = b" mariadbd-123 [001] ..... 12.5: "
        for line, request in (
                (b"block_rq_issue: 254,0 WS 4096 () 67315712 + 8 none,0,0 [mariadbd]", (67315712, 8)),
                (b"block_rq_issue: 8,16 WFS 4096 () 64 + 8 [jbd2]", (64, 8)),
                (b"block_rq_issue: 254,0 DS 67108864 () 128 + 131072 be,0,4 [jbd2]", (128, -131072)),
                (b"block_rq_issue: 254,0 RA 4096 () 64 + 8 none,0,0 [cp]", None),
                (b"block_rq_issue: 254,0 FF 0 () 0 + 0 none,0,0 [kworker/0:1H]", None),
                (b"CPU:0 [LOST 12 EVENTS]", None)):
            self.assertEqual(parse(head + line), request)


if __name__ == "__main__":
    unittest.main()
