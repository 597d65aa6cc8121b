# SPDX-License-Identifier: GPL-2.0-only
"""What a test group found: counted, failures told at once, and one line at the end."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field

from cairn_cli import console
from cairn_cli.mtr import Result

_DETAIL_LINES_MAX = int(os.environ.get("CAIRN_TEST_DETAIL_LINES", "40"))


@dataclass
class Report:
    """Results of one group. Skipped counts what was not run, each with its reason."""

    group: str
    passed_count: int = 0
    failures: list[tuple[str, str]] = field(default_factory=list)
    skips: list[tuple[str, str]] = field(default_factory=list)
    measures: list[tuple[str, float, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    expected_count: int = 0

    def __post_init__(self) -> None:
        self._progress = console.Progress(self.group)

    def passed(self, name: str, count: int = 1) -> None:
        """Counts passed tests; the name shows on the progress line."""
        self.passed_count += count
        self._show(name)

    def failed(self, name: str, why: str) -> None:
        """Counts a failed test and prints why."""
        self.failures.append((name, why))
        self._progress.clear()
        console.say(f"  FAILED {self.group}: {name}")
        lines = why.strip().splitlines()
        for line in lines[:_DETAIL_LINES_MAX]:
            console.say(f"    {line}")
        if len(lines) > _DETAIL_LINES_MAX:
            console.say(f"    … {len(lines) - _DETAIL_LINES_MAX} more lines")

    def skipped(self, name: str, why: str) -> None:
        """Counts a test that was not run."""
        self.skips.append((name, why))
        self._show(name)

    def measured(self, name: str, value: float, unit: str) -> None:
        """Keeps and prints a number that a test rests on."""
        self.measures.append((name, value, unit))
        self._progress.clear()
        console.say(f"  {name:28} {value:12.1f} {unit}")

    def note(self, text: str) -> None:
        """Keeps and prints what is worth knowing but no failure."""
        self.notes.append(text)
        self._progress.clear()
        console.say(f"  note: {text}")

    def check(self, name: str, problems: Sequence[str]) -> None:
        """Counts one test that fails if it found problems."""
        if problems:
            self.failed(name, "\n".join(problems))
        else:
            self.passed(name)

    def take(self, result: Result) -> None:
        """Counts a result of MariaDB's test runner."""
        if result.outcome == "fail":
            self.failed(result.name, result.detail)
        elif result.outcome == "pass":
            self.passed(result.name)
        else:
            self.skipped(result.name, f"{result.outcome}: {result.detail}")

    def line(self) -> str:
        """The counts, in words."""
        return counts(self.passed_count, len(self.failures), len(self.skips))

    def _show(self, name: str) -> None:
        done = self.passed_count + len(self.failures) + len(self.skips)
        self._progress.update(done, max(self.expected_count, done), name)

    def finish(self) -> None:
        """Ends the progress line with the counts."""
        self._progress.finish(self.line())


def counts(passed: int, failed: int, skipped: int) -> str:
    """The line that ends a group and the whole command."""
    return f"{passed} passed, {failed} failed, {skipped} skipped"
