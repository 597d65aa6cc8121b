# SPDX-License-Identifier: GPL-2.0-only
"""Records what the report says of the samples: `PYTHONPATH=cli python3 -m tests.report_samples`. Read the diff."""

from pathlib import Path

from tests.test_report import page

(Path(__file__).parent / "expected.md").write_text(page(), encoding="utf-8")
