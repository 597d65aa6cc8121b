# SPDX-License-Identifier: GPL-2.0-only
"""Keeps two commands from filling the same folder at the same time."""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

from cairn_cli import console


@contextlib.contextmanager
def held(lock: Path) -> Iterator[None]:
    """Holds a lock file; waits, and says so, while another command has it."""
    with lock.open("w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            console.say(f"  waiting for another command to leave {lock.parent}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield
