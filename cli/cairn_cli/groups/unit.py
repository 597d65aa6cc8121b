# SPDX-License-Identifier: GPL-2.0-only
"""Group unit: GoogleTest programs, fuzz targets for a moment, and the Python code's own tests."""

import json
import re
import sys
from pathlib import Path

from cairn_cli import paths, process
from cairn_cli.group_report import Report
from cairn_cli.groups import Context

_GTEST_PROGRAMS = ("cairn_unit_tests", "cairn_server_tests")
_GTEST_DONE = re.compile(r"^\[ +(OK|FAILED|SKIPPED) +\] (\S+?)[, ]*(?:where .*)?\((\d+) ms\)$")
_GTEST_START = re.compile(r"^\[ RUN +\] (\S+)")
_GTEST_TOTAL = re.compile(r"^\[=+\] Running (\d+) test")
_PYTHON_TESTS = ("cli", "lint", "test", "bench")
_FUZZ_SECONDS = 1


def run(context: Context, report: Report) -> None:
    """Runs what the build made, from the shortest to the longest."""
    for folder in _PYTHON_TESTS:
        _python(folder, report)
    directory = paths.build_dir(context.build_type)
    programs = [directory / name for name in _GTEST_PROGRAMS]
    for program in (*programs, *sorted(directory.glob("bench/*/*_tests"))):
        if program.exists():
            _gtest(program, report)
    for target in sorted((directory / "fuzz").glob("*_fuzz")):
        _fuzz(target, report)
    _benchmarks(directory / "cairn_bench_micro", report)


def _python(folder: str, report: Report) -> None:
    """Python tests lie beside the code, as test_*.py."""
    if not any((paths.ROOT / folder).rglob("test_*.py")):
        return
    code, said = process.result([sys.executable, "-m", "unittest", "discover", "-s", folder,
                                 "-t", folder, "-p", "test_*.py"], cwd=paths.ROOT,
                                env={"PYTHONPATH": str(paths.ROOT)})
    ran = re.search(r"Ran (\d+) test", said)
    if code or not ran:
        report.failed(f"python {folder}", said)
    else:
        report.passed(f"python {folder}", int(ran[1]))


def _gtest(program: Path, report: Report) -> None:
    said: list[str] = []
    running = ""

    def take(line: str) -> None:
        nonlocal running
        if total := _GTEST_TOTAL.match(line):
            report.expected_count = report.passed_count + int(total[1])
        elif start := _GTEST_START.match(line):
            running = start[1]
            said.clear()
        elif done := _GTEST_DONE.match(line):
            running = ""
            _take_gtest(report, done[1], done[2], said)
        else:
            said.append(line)

    log = paths.VAR / "unit" / f"{program.name}.log"
    code = process.stream([program, "--gtest_color=no"], take, log=log, cwd=paths.ROOT, check=False)
    if running:
        report.failed(running, "\n".join([*said, f"the program ended with code {code}"]))
    elif code and not report.failures:
        report.failed(program.name, "\n".join([*said, f"the program ended with code {code}"]))


def _take_gtest(report: Report, outcome: str, name: str, said: list[str]) -> None:
    if outcome == "OK":
        report.passed(name)
    elif outcome == "SKIPPED":
        report.skipped(name, " ".join(said))
    else:
        report.failed(name, "\n".join(said))


def _fuzz(target: Path, report: Report) -> None:
    corpus = paths.ROOT / "test" / "fuzz" / target.name
    stored = [corpus] if corpus.is_dir() else []
    code, said = process.result([target, *stored, f"--seconds={_FUZZ_SECONDS}"], cwd=paths.ROOT,
                                timeout_s=120)
    report.check(target.name, said.splitlines() if code else [])


def _benchmarks(program: Path, report: Report) -> None:
    """Each benchmark runs once, so that it can be trusted to work when it is needed."""
    if not program.exists():
        return
    code, said = process.result([program, "--benchmark_min_time=0.001",
                                 "--benchmark_format=json"], cwd=paths.ROOT, timeout_s=600)
    if code:
        report.failed(program.name, said)
        return
    start = said.find("{")
    for each in json.loads(said[start:])["benchmarks"]:
        if each.get("error_occurred"):
            report.failed(each["name"], each.get("error_message", ""))
        else:
            report.passed(each["name"])
