# SPDX-License-Identifier: GPL-2.0-only
"""Where things lie: the checkout, its build and run folders, and the per-user cache."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VAR = ROOT / "var"

BUILD_TYPES = ("release", "debug", "asan", "tsan")


def cache() -> Path:
    """The folder of built and downloaded dependencies, shared by all checkouts of a user."""
    if configured := os.environ.get("CAIRN_CACHE"):
        return Path(configured).expanduser().resolve()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base).resolve() / "cairn"


def build_dir(build_type: str) -> Path:
    """Where one build type of this checkout is built."""
    return ROOT / "build" / build_type


def plugin(build_type: str) -> Path:
    """The plugin as one build type leaves it."""
    return build_dir(build_type) / "ha_cairn.so"
