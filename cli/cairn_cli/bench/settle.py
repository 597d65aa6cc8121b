# SPDX-License-Identifier: GPL-2.0-only
"""Waits until a server has done the work it put off."""

import time

from cairn_cli.bench.sysbench import server_cpu_seconds

_POLL_S = 0.5
_BUSY_SHARE = 0.05  # of one core, between two polls: less is idle
_IDLE_POLLS = 3


def limit_seconds(rows: int) -> float:
    """The longest wait: what the published runs sleep, 60 s and 1 s per million rows."""
    return min(60 + rows / 1e6, 1200)


def wait_until_idle(pid: int, limit_s: float) -> float:
    """Waits for three polls with next to no CPU, at most so long; returns the seconds."""
    started_s = time.monotonic()
    idle = 0
    while idle < _IDLE_POLLS and time.monotonic() - started_s < limit_s:
        poll_s, cpu_s = time.monotonic(), server_cpu_seconds(pid)
        time.sleep(_POLL_S)
        busy = server_cpu_seconds(pid) - cpu_s >= _BUSY_SHARE * (time.monotonic() - poll_s)
        idle = 0 if busy else idle + 1
    return time.monotonic() - started_s
