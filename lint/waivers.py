# SPDX-License-Identifier: GPL-2.0-only
"""Written reasons for what a rule would not allow; a reason that is no longer needed is a problem."""

import json
from pathlib import Path


class Waivers:
    """The waivers of one rule, from lint/waivers.json: what is waived, and why."""

    def __init__(self, root: Path, rule: str) -> None:
        self._rule = rule
        table = json.loads((root / "lint/waivers.json").read_text(encoding="utf-8"))
        self._reasons: dict[str, str] = table.get(rule, {})
        self._used: set[str] = set()

    def covers(self, subject: str) -> bool:
        """Whether `subject` has a reason; remembers that it was needed."""
        if not self._reasons.get(subject, "").strip():
            return False
        self._used.add(subject)
        return True

    def unused(self) -> list[str]:
        """One problem for each waiver that nothing needed."""
        return [f"lint/waivers.json: {self._rule}: {subject} needs no waiver"
                for subject in self._reasons if subject not in self._used]
