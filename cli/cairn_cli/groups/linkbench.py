# SPDX-License-Identifier: GPL-2.0-only
"""Group linkbench: a tiny graph on each engine; nothing fails and the counts agree."""

from cairn_cli import linkbench
from cairn_cli.group_report import Report
from cairn_cli.groups import Context

_IDS = 5_000
_SECONDS = 5


def run(context: Context, report: Report) -> None:
    """One test for each engine; the numbers are too small to mean anything."""
    options = linkbench.Options(ids=_IDS, seconds=_SECONDS, memory_mib=64,
                                build_type=context.build_type)
    for engine in linkbench.ENGINES:
        result = linkbench.run_engine(engine, options, lambda _: None)
        report.check(f"{engine}: load, run, validate", linkbench.problems(engine, result))
