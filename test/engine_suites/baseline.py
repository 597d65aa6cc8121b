# SPDX-License-Identifier: GPL-2.0-only
"""engines/funcs and engines/iuds with an engine as the default: what InnoDB fails is nobody's goal."""

from __future__ import annotations

from pathlib import Path

from .tree import OWN_TESTS

SUITES = "engines/funcs,engines/iuds"
KNOWN = OWN_TESTS / "engines-known-failures.txt"


def known_failures(path: Path = KNOWN) -> dict[str, str]:
    """The tests that InnoDB itself fails, each with its reason, from lines of "test: reason"."""
    known = {}
    for line in path.read_text().splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(": ")
            known[name.strip()] = reason.strip()
    return known
