# SPDX-License-Identifier: GPL-2.0-only
"""What a flash drive would write for given requests: a page-mapped translation layer, simulated.

A drive writes a page only once until the whole block around it is erased. So it writes elsewhere and, when erased
blocks run out, copies what is still valid out of a block before it erases it. Here the block with the fewest valid
pages is chosen (greedy), host's and copied pages are kept apart, and a discard makes pages invalid. The pages that
the requests touch fill 72 % of the drive, as on the published measurements; the rest was discarded. The model knows no
wear levelling, no write buffer and no second stream: its figure is a simulation, good for comparing engines.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from cairn_cli.bench.workload import Column

Request = tuple[int, int]  # first 512-byte sector; number of sectors, negative of a discard

FULLNESS = 0.72
OVER_PROVISIONING = (0.07, 0.28)
COLUMNS = tuple(
    column for share in OVER_PROVISIONING for column in (
        Column(f"simulated flash WAF, {share:.0%} spare", f"metrics.flash.write_amplification_{share * 100:.0f}",
               2, "lower"),
        Column(f"simulated flash KB/op, {share:.0%} spare", f"metrics.flash.written_kb_{share * 100:.0f}", 2, "lower")))
_SECTOR_BYTES = 512
_PAGE_BYTES = 4096
_BLOCK_PAGES = 256
_PAGES_PER_PASS_MAX = 1_500_000  # more are taken as larger pages: a simulation shall take seconds
_PAGES_MIN = 32 * _BLOCK_PAGES  # fewer say nothing
_WRITTEN_MAX = 6_000_000
_TURNOVER = 2.0  # of the drive's capacity, before the pass that counts


@dataclass(frozen=True)
class Trace:
    """Requests as pages: numbered densely from 0; a write is the page's number, a discard its complement."""

    operations: Sequence[int]
    page_count: int
    page_bytes: int

    @property
    def written(self) -> int:
        """Pages the host writes in one pass."""
        return sum(each >= 0 for each in self.operations)


class Drive:
    """The translation layer's state."""

    def __init__(self, page_count: int, over_provisioning: float, fullness: float = FULLNESS) -> None:
        pages = page_count / fullness * (1 + over_provisioning)
        self.block_count = int(pages / _BLOCK_PAGES) + 4  # two being filled, two for the copying to begin with
        self.copied = 0
        self._place = [-1] * page_count  # of a page: block * _BLOCK_PAGES + position
        self._content = [-1] * (self.block_count * _BLOCK_PAGES)
        self._valid = [0] * self.block_count
        self._closed = [False] * self.block_count
        # Closed blocks by their number of valid pages; dictionaries, for their order.
        self._by_valid: list[dict[int, None]] = [{} for _ in range(_BLOCK_PAGES + 1)]
        self._free = list(range(self.block_count - 1, 1, -1))
        self._fill = [0, _BLOCK_PAGES]  # next place of the host's open block (0) and the copies' (1)

    def write(self, page: int) -> None:
        """The host writes a page."""
        self.discard(page)
        self._append(page, 0)

    def discard(self, page: int) -> None:
        """The page's content is no longer wanted."""
        place = self._place[page]
        if place < 0:
            return
        self._place[page] = -1
        self._content[place] = -1
        block = place // _BLOCK_PAGES
        valid = self._valid[block] = self._valid[block] - 1
        if self._closed[block]:
            del self._by_valid[valid + 1][block]
            self._by_valid[valid][block] = None

    def _append(self, page: int, stream: int) -> None:
        place = self._fill[stream]
        block = place // _BLOCK_PAGES
        self._place[page] = place
        self._content[place] = page
        self._valid[block] += 1
        if (place + 1) % _BLOCK_PAGES:
            self._fill[stream] = place + 1
            return
        self._closed[block] = True
        self._by_valid[self._valid[block]][block] = None
        self._fill[stream] = self._free.pop() * _BLOCK_PAGES
        if stream == 0:
            while len(self._free) < 2:
                self._collect()

    def _collect(self) -> None:
        victims = next(blocks for blocks in self._by_valid if blocks)
        block = next(iter(victims))
        del victims[block]
        self._closed[block] = False
        for place in range(block * _BLOCK_PAGES, (block + 1) * _BLOCK_PAGES):
            if (page := self._content[place]) >= 0:
                self._content[place] = -1
                self._append(page, 1)
                self.copied += 1
        self._valid[block] = 0
        self._free.append(block)


def pages_of(requests: Iterable[Request]) -> Trace:
    """The requests as pages of a size at which there are not too many. A page written in part is written whole; one
    discarded in part stays."""
    kept = list(requests)
    sectors = sum(count for _, count in kept if count > 0)
    page_sectors = _PAGE_BYTES // _SECTOR_BYTES
    while sectors / page_sectors > _PAGES_PER_PASS_MAX:
        page_sectors *= 2
    numbers: dict[int, int] = {}
    operations: list[int] = []
    for first, count in kept:
        if count > 0:
            for page in range(first // page_sectors, (first + count - 1) // page_sectors + 1):
                operations.append(numbers.setdefault(page, len(numbers)))
        else:
            begin, end = -(-first // page_sectors), (first - count) // page_sectors
            span = range(begin, end) if end - begin <= len(numbers) else [
                page for page in numbers if begin <= page < end]
            operations += [~numbers[page] for page in span if page in numbers]
    return Trace(operations, len(numbers), page_sectors * _SECTOR_BYTES)


def write_amplification(trace: Trace, over_provisioning: float) -> float | None:
    """Pages written to flash for each that the host writes, in the last of several passes over the trace; None when
    there is too little to say."""
    written = trace.written
    if trace.page_count < _PAGES_MIN or not written:
        return None
    drive = Drive(trace.page_count, over_provisioning)
    for page in range(trace.page_count):
        drive.write(page)
    done, copied_before = trace.page_count, 0
    while True:
        copied_before = drive.copied
        for operation in trace.operations:
            if operation >= 0:
                drive.write(operation)
            else:
                drive.discard(~operation)
        if done >= _TURNOVER * drive.block_count * _BLOCK_PAGES or done + written > _WRITTEN_MAX:
            break
        done += written
    return 1 + (drive.copied - copied_before) / written


def summary(requests: Sequence[Request], written_kb: float | None = None) -> dict[str, Any]:
    """What goes to the results: `metrics.flash` (docs/benchmarks.md). `written_kb` to the disk for an operation."""
    trace = pages_of(requests)
    found: dict[str, Any] = {
        "simulated": True, "fullness": FULLNESS, "page_bytes": trace.page_bytes,
        "writes": sum(count > 0 for _, count in requests),
        "written_bytes": sum(count for _, count in requests if count > 0) * _SECTOR_BYTES,
        "discarded_bytes": -sum(count for _, count in requests if count < 0) * _SECTOR_BYTES,
        "touched_bytes": trace.page_count * trace.page_bytes}
    for share in OVER_PROVISIONING:
        factor = write_amplification(trace, share)
        found[f"write_amplification_{share * 100:.0f}"] = factor
        found[f"written_kb_{share * 100:.0f}"] = factor * written_kb if factor and written_kb is not None else None
    return found
