# SPDX-License-Identifier: GPL-2.0-only
"""Group instructions: what an operation costs in instructions, counted by callgrind, has not grown."""

import json
import os
import platform
import re
import shutil
import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cairn_cli import paths, process
from cairn_cli.errors import CairnError
from cairn_cli.group_report import Report
from cairn_cli.groups import Context, locked_instructions

BASELINE = paths.ROOT / "test" / "instructions" / "baseline.json"
PAGE = paths.ROOT / "docs" / "instructions.md"
RECORD = "CAIRN_RECORD_INSTRUCTIONS"
GROWTH_MAX_PERCENT = 3.0

_PROGRAM = "cairn_instruction_probe"
_TIMEOUT_S = 1800
_HOW_TO_RECORD = f"`{RECORD}=1 ./cairn test instructions` records new counts"
# Of these the counts depend; of Valgrind's version they hardly do.
_COMPARED = ("compiler", "architecture", "libc")
# The C library's functions that any of our processors has, so that two machines count alike.
_PLAIN_LIBRARY = {"GLIBC_TUNABLES":
                  "glibc.cpu.hwcaps=-AVX2,-AVX,-ERMS,-AVX_Fast_Unaligned_Load"}
_OPERATION = re.compile(r"^operation (\S+) (\S+) (\d+) (\d+)$", re.MULTILINE)
_STORES = re.compile(r"^stores (\d+)$", re.MULTILINE)
_FACT = re.compile(r"^(compiler|architecture) (.+)$", re.MULTILINE)
_TRIGGER = re.compile(r"^desc: Trigger: Client Request: (\S+)$", re.MULTILINE)
_TABLE_BEGIN = f"<!-- counts:begin: written by `{RECORD}=1 ./cairn test instructions` -->"
_TABLE_END = "<!-- counts:end -->"
_TABLE = re.compile(f"{re.escape(_TABLE_BEGIN)}.*?{re.escape(_TABLE_END)}", re.DOTALL)
_TOTAL = re.compile(r"^totals: (\d+)", re.MULTILINE)


@dataclass(frozen=True)
class Operation:
    """One operation of the probe, and the numbers of times of its two counted runs."""

    name: str
    unit: str
    few: int
    many: int


@dataclass(frozen=True)
class Counts:
    """Instructions for one time of each operation, and where they were counted."""

    environment: Mapping[str, str]
    instructions: Mapping[str, float]
    # Atomic read-modify-writes among them: told on the page, not compared.
    locked: Mapping[str, float] = field(default_factory=dict, compare=False)

    def text(self) -> str:
        """As the baseline's file holds them."""
        about = (f"Instructions for one time of each operation, read by `./cairn test instructions`. "
                 f"{_HOW_TO_RECORD}.")
        return json.dumps({"about": about, "environment": dict(self.environment),
                           "instructions": dict(self.instructions)}, indent=2) + "\n"

    @staticmethod
    def read(file: Path) -> "Counts":
        """The baseline; CairnError when it is not one."""
        try:
            found = json.loads(file.read_text(encoding="utf-8"))
            return Counts(found["environment"], found["instructions"])
        except (OSError, ValueError, KeyError) as error:
            raise CairnError(f"{file} is no baseline ({error}); {_HOW_TO_RECORD}") from error


def run(context: Context, report: Report) -> None:
    """One test for each operation."""
    if context.build_type != "release":
        report.skipped("instructions", "only the release build's count: others are compiled otherwise")
        return
    dumps = paths.VAR / "instructions"
    operations, counted = _count(dumps)
    report.expected_count = len(operations)
    for operation in operations:
        report.measured(operation.name, counted.instructions[operation.name],
                        f"instructions/{operation.unit}")
    if os.environ.get(RECORD):
        BASELINE.write_text(counted.text(), encoding="utf-8")
        PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8"), operations, counted), encoding="utf-8")
        for file in (BASELINE, PAGE):
            report.note(f"recorded in {file.relative_to(paths.ROOT)}")
        report.passed("recorded", len(operations))
        return
    compare(Counts.read(BASELINE), counted, dumps, report)


def compare(baseline: Counts, counted: Counts, dumps: Path, report: Report) -> None:
    """Fails each operation that grew too much; says which shrank, so that they stay so."""
    if different := other_environment(baseline.environment, counted.environment):
        for name in counted.instructions:
            report.skipped(name, f"not comparable with the baseline: {different}; {_HOW_TO_RECORD}")
        report.note(f"not compared with the baseline: {different}")
        return
    for name in [*counted.instructions, *(baseline.instructions.keys() - counted.instructions.keys())]:
        old, new = baseline.instructions.get(name), counted.instructions.get(name)
        if old is None or new is None:
            where = "the baseline" if old is None else _PROGRAM
            report.failed(name, f"{where} does not have this operation; {_HOW_TO_RECORD}")
            continue
        growth_percent = 100 * (new - old) / old
        if growth_percent > GROWTH_MAX_PERCENT:
            report.failed(name, f"{old:.1f} instructions have become {new:.1f}: {growth_percent:+.1f} %,"
                                f" at most {GROWTH_MAX_PERCENT:+.1f} %\n"
                                f"where they are: callgrind_annotate --threshold=100"
                                f" {_shown(dumps / name)}.callgrind (docs/instructions.md)\n"
                                f"if they are worth it: {_HOW_TO_RECORD}")
            continue
        if growth_percent < -GROWTH_MAX_PERCENT:
            report.note(f"{name}: {old:.1f} instructions have become {new:.1f} ({growth_percent:+.1f} %):"
                        f" lower the baseline, {_HOW_TO_RECORD}")
        report.passed(name)


def other_environment(baseline: Mapping[str, str], counted: Mapping[str, str]) -> str:
    """Why counts of two environments cannot be compared; empty when they can."""
    return ", ".join(f"its {what} is {baseline.get(what, 'unknown')}, here it is {counted.get(what, 'unknown')}"
                     for what in _COMPARED if baseline.get(what) != counted.get(what))


def operations_of(said: str) -> list[Operation]:
    """What the probe said that it ran."""
    return [Operation(name, unit, int(few), int(many))
            for name, unit, few, many in _OPERATION.findall(said)]


def dump_of(text: str) -> tuple[str, int] | None:
    """A dump's name, "operation/times/store", and its instructions; None for a dump that has none."""
    trigger, total = _TRIGGER.search(text), _TOTAL.search(text)
    return (trigger[1], int(total[1])) if trigger and total else None


def per_operation(operations: Iterable[Operation], totals: Mapping[str, int], stores: int) -> dict[str, float]:
    """Instructions for one time of each: the difference of two runs, which both have the fixed costs.

    Of the stores, the median.
    """
    found = {}
    for each in operations:
        try:
            differences = [totals[f"{each.name}/{each.many}/{store}"] - totals[f"{each.name}/{each.few}/{store}"]
                           for store in range(stores)]
        except KeyError as missing:
            raise CairnError(f"callgrind left no count of {missing}") from missing
        found[each.name] = round(statistics.median(differences) / (each.many - each.few), 1)
    return found


def with_table(page: str, operations: Iterable[Operation], counted: Counts) -> str:
    """The page with these counts between its markers."""
    rows = "".join(f"| {each.name} | {each.unit} | {counted.instructions[each.name]:,.0f} |"
                   f" {counted.locked[each.name]:.1f} |\n" for each in operations)
    table = (f"{_TABLE_BEGIN}\n| Operation | One | Instructions | of them atomic |\n|---|---|--:|--:|\n{rows}"
             f"{_TABLE_END}")
    page, places = _TABLE.subn(lambda _: table, page)
    if places != 1:
        raise CairnError(f"{PAGE} has {places} places for the table, not one")
    return page


def _count(dumps: Path) -> tuple[list[Operation], Counts]:
    """Runs the probe; leaves a dump for each operation, for callgrind_annotate."""
    program = paths.build_dir("release") / _PROGRAM
    if not program.exists() or not shutil.which("valgrind"):
        raise CairnError(f"{_PROGRAM} or valgrind is missing: `./cairn setup`, then `./cairn build`")
    shutil.rmtree(dumps, ignore_errors=True)
    dumps.mkdir(parents=True)
    code, said = process.result(
        ["nice", "valgrind", "-q", "--tool=callgrind", "--dump-instr=yes", "--collect-atstart=no",
         f"--callgrind-out-file={dumps / 'callgrind.out'}", program],
        cwd=paths.ROOT, env=_PLAIN_LIBRARY, timeout_s=_TIMEOUT_S)
    operations = operations_of(said)
    stores = _STORES.search(said)
    if code or not operations or not stores:
        raise CairnError(f"{said}\n{_PROGRAM} ended with code {code}")
    environment = dict(_FACT.findall(said))
    environment["libc"] = platform.libc_ver()[1]
    environment["valgrind"] = process.capture(["valgrind", "--version"]).strip()
    totals, locked = _totals(operations, dumps)
    return operations, Counts(environment, per_operation(operations, totals, int(stores[1])),
                              per_operation(operations, locked, 1))


def _totals(operations: Iterable[Operation], dumps: Path) -> tuple[dict[str, int], dict[str, int]]:
    """What the dumps counted, and the first store's of atomic instructions, by the dumps' names.

    Those of the first store's longer runs are kept under their operations' names.
    """
    longer = {f"{each.name}/{each.many}/0": each.name for each in operations}
    totals, locked = {}, {}
    for file in sorted(dumps.glob("callgrind.out*")):
        text = file.read_text(encoding="utf-8", errors="replace")
        found = dump_of(text)
        if found:
            totals[found[0]] = found[1]
            if found[0].endswith("/0"):
                locked[found[0]] = locked_instructions.executed(text)
        if found and found[0] in longer:
            file.rename(dumps / f"{longer[found[0]]}.callgrind")
        else:
            file.unlink()
    return totals, locked


def _shown(path: Path) -> Path:
    return path.relative_to(paths.ROOT) if path.is_relative_to(paths.ROOT) else path
