# SPDX-License-Identifier: GPL-2.0-only
"""The test groups: each is a module of this name with run(context, report)."""

from dataclasses import dataclass

GROUPS = ("lint", "unit", "plugin", "sql", "engine-suites", "crash", "differential", "bench", "instructions")
QUICK_GROUPS = ("lint", "unit", "plugin", "sql")
UNBUILT_GROUPS = ("lint",)  # need nothing built


@dataclass(frozen=True)
class Context:
    """What is tested, and whether only the short part of it."""

    build_type: str = "release"
    quick: bool = False
