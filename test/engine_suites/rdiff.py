# SPDX-License-Identifier: GPL-2.0-only
"""Writes the overlay's .rdiff files anew from a run's rejected results; each keeps its reason.

The reason is the first line of the file, which patch(1) skips over.
"""

from __future__ import annotations

import difflib
from pathlib import Path

from .tree import OVERLAY, PARTS, YARDSTICK, Tree

REASON = "Reason: "


def reasons() -> dict[Path, str]:
    """What the committed .rdiff files give as reasons, by their path in the overlay."""
    found = {}
    for path in sorted(OVERLAY.rglob("*.rdiff")):
        first = path.read_text(encoding="utf-8").split("\n", 1)[0]
        found[path.relative_to(OVERLAY)] = first.removeprefix(REASON) if first.startswith(REASON) else ""
    return found


def rewrite(tree: Tree, given: dict[Path, str]) -> list[Path]:
    """One file for each rejected result with a reason given; gives those without one."""
    unexplained = []
    for part in PARTS:
        for reject in sorted((tree.yardstick_suite / part).glob("*.reject")):
            path = Path(part) / f"{reject.stem}.rdiff"
            if not given.get(path):
                unexplained.append(path)
                continue
            result = YARDSTICK / part / f"{reject.stem}.result"
            lines = difflib.unified_diff(
                result.read_text(encoding="utf-8").splitlines(keepends=True),
                reject.read_text(encoding="utf-8").splitlines(keepends=True),
                f"{reject.stem}.result",
                f"{reject.stem}.reject",
            )
            (OVERLAY / path).write_text(f"{REASON}{given[path]}\n" + "".join(lines), encoding="utf-8")
    return unexplained
