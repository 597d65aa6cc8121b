# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn test`: builds, then runs groups of tests; the last line has the totals."""

import argparse
import importlib
import json
from pathlib import Path

from cairn_cli import build, console, ninja, setup
from cairn_cli.errors import CairnError
from cairn_cli.group_report import Report, counts
from cairn_cli.groups import GROUPS, QUICK_GROUPS, UNBUILT_GROUPS, Context

HELP = "build and test"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The subcommand's options."""
    build.add_build_type(parser)
    parser.add_argument("groups", nargs="*", metavar="GROUP",
                        help=f"which groups, all by default: {' '.join(GROUPS)}")
    parser.add_argument("--quick", action="store_true",
                        help=f"a few minutes: {' '.join(QUICK_GROUPS)}, the long parts left out")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all results to FILE")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand; 0 when nothing failed."""
    unknown = [name for name in arguments.groups if name not in GROUPS]
    if unknown:
        raise CairnError(f"no such group: {' '.join(unknown)} (there are: {' '.join(GROUPS)})")
    chosen = arguments.groups or (QUICK_GROUPS if arguments.quick else GROUPS)
    if set(chosen) - set(UNBUILT_GROUPS):
        setup.ensure(tsan=arguments.build_type == "tsan")
        ninja.build(arguments.build_type)
    context = Context(build_type=arguments.build_type, quick=arguments.quick)
    reports = [_run_group(name, context) for name in chosen]
    if arguments.json:
        arguments.json.write_text(json.dumps([_as_json(each) for each in reports], indent=2) + "\n",
                                  encoding="utf-8")
    return _summarise(reports)


def _run_group(name: str, context: Context) -> Report:
    report = Report(name)
    console.say(f"{name}:")
    module = importlib.import_module(f"cairn_cli.groups.{name.replace('-', '_')}")
    try:
        module.run(context, report)
    except CairnError as error:
        report.failed(name, str(error))
    report.finish()
    return report


def _summarise(reports: list[Report]) -> int:
    console.say("")
    for report in reports:
        for name, _ in report.failures:
            console.say(f"failed: {report.group}: {name}")
    for report in reports:
        console.say(f"{report.group:14} {report.line()}")
    failed = sum(len(report.failures) for report in reports)
    console.say(counts(sum(report.passed_count for report in reports), failed,
                       sum(len(report.skips) for report in reports)))
    return 1 if failed else 0


def _as_json(report: Report) -> dict[str, object]:
    return {"group": report.group, "passed": report.passed_count,
            "failed": [{"name": name, "why": why} for name, why in report.failures],
            "skipped": [{"name": name, "why": why} for name, why in report.skips],
            "measures": [{"name": name, "value": value, "unit": unit} for name, value, unit in report.measures],
            "notes": report.notes}
