# SPDX-License-Identifier: GPL-2.0-only
"""What the user sees while things happen: steps, and progress that fits a terminal or a log."""

import sys
import time

_LOG_INTERVAL_S = 15.0


def say(text: str) -> None:
    """Prints one line at once, also into a pipe."""
    print(text, flush=True)


def warn(text: str) -> None:
    """Prints one line to standard error."""
    print(text, file=sys.stderr, flush=True)


class Progress:
    """One long step: a line that rewrites itself on a terminal, a line now and then in a log."""

    def __init__(self, title: str) -> None:
        self._title = title
        self._started_s = time.monotonic()
        self._terminal = sys.stdout.isatty()
        self._printed_s = 0.0 if self._terminal else self._started_s

    def update(self, done: int, total: int, detail: str = "") -> None:
        """Shows how far the step is."""
        share = f"{100 * done // total:3d} %" if total else "     "
        self.note(f"{share}  {done}/{total}  {detail}")

    def note(self, text: str) -> None:
        """Shows what the step is at, where there is nothing to count."""
        now_s = time.monotonic()
        due = 0.1 if self._terminal else _LOG_INTERVAL_S
        if now_s - self._printed_s < due:
            return
        self._printed_s = now_s
        line = f"  {self._title}  {text}"
        if self._terminal:
            print(f"\r\x1b[K{line[:110]}", end="", flush=True)
        else:
            say(line)

    def clear(self) -> None:
        """Makes room on a terminal for another line."""
        if self._terminal:
            print("\r\x1b[K", end="", flush=True)

    def finish(self, result: str = "done") -> None:
        """Ends the step with its result and how long it took."""
        self.clear()
        say(f"  {self._title}: {result} ({time.monotonic() - self._started_s:.0f} s)")
