# SPDX-License-Identifier: GPL-2.0-only
"""The whole report as Markdown: header, then each workload with its conditions, tables and pictures."""

import re
import shlex
from typing import Any

from cairn_cli.report import markdown, model, tables
from cairn_cli.report.lines import Lines
from cairn_cli.report.model import Result

TITLES = {"linkbench": "LinkBench", "insert": "Insert benchmark", "scan": "Scans", "oltp": "OLTP",
          "ddl": "Index builds and copies", "memtable": "Memtable sweep"}
_WARNINGS_MAX = 12


def document(results: list[Result], base: str | None, pictures: dict[str, list[tuple[str, str]]]) -> str:
    """`pictures`: per result's name, file names with what they show."""
    common = _common([_machine_facts(result) for result in results])
    lines = ["# Benchmark results", "", "Made by `./cairn report` from the JSON files beside it."
             " Figures are medians over the repeats, in brackets the spread, beyond which another run's"
             " median is not expected (99 %)."
             " \"–\": no such figure.", "",
             *markdown.table(["", ""], [[name, text] for name, text in common.items()], left=2)]
    for result in results:
        lines += ["", *_section(result, base, common, pictures.get(result.name, []))]
    return "\n".join(lines).rstrip() + "\n"


def title(result: Result) -> str:
    """The workload as people call it, with the file where that says more."""
    name = TITLES.get(result.workload, result.workload)
    return name if result.name == result.workload else f"{name}: {result.name}"


def _section(result: Result, base: str | None, common: dict[str, str],
             pictures: list[tuple[str, str]]) -> list[str]:
    against = result.base(base)
    lines = [f"## {markdown.cell(title(result))}", ""]
    if not result.complete:
        lines += ["**Partial: this run did not get to its end.** What is missing below was not measured.", ""]
    facts = {name: text for name, text in _machine_facts(result).items() if common.get(name) != text}
    facts = {**_run_facts(result), **facts}
    lines += markdown.table(["", ""], [[name, text] for name, text in facts.items()], left=2)
    lines += _warnings(result)
    lines += _pictures(pictures)
    if overview := tables.overview(result, against):
        lines += ["", *overview]
    if lines_table := Lines(result, against).table():
        lines += ["", *lines_table]
    for name in _detailed_steps(result):
        lines += ["", f"### {_step_title(result, name)}", "", *tables.step(result, name, against)]
    return [*lines, *_repeats(result), *_settings(result)]


def _pictures(pictures: list[tuple[str, str]]) -> list[str]:
    return [line for file, what in pictures for line in ("", f"![{markdown.cell(what)}]({file})")]


def _repeats(result: Result) -> list[str]:
    """Every repeat's figures: a drift over them is no noise."""
    lines = []
    for name in result.steps:
        if rows := tables.repeats(result, name):
            lines += ["", f"Step {markdown.cell(name)}:", "", *rows]
    if not lines:
        return []
    return ["", "<details><summary>Each repeat, in the order they ran</summary>", *lines, "", "</details>"]


def _detailed_steps(result: Result) -> list[str]:
    """The last of each family that has more than the overview or the lines say."""
    ran = {run.step for run in result.runs}
    found = [name for name in model.last_of_families(result.steps) if name in ran]
    return [name for name in found if len(tables.shown_columns(result, name)) > 1]


def _step_title(result: Result, name: str) -> str:
    clients = sorted({run.clients for run in result.runs if run.step == name})
    many = ", ".join(map(str, clients))
    repeats = max((len(result.good(engine, name)) for engine in result.engines), default=0)
    text = f"{markdown.cell(name)} ({many} {'client' if clients == [1] else 'clients'}"
    return text + (f", {repeats} repeats)" if repeats > 1 else ")")


def _warnings(result: Result) -> list[str]:
    found = [f"- {markdown.cell(text)}" for text in result.head.get("warnings") or []]
    told = tables.notes(result)
    if len(found) > _WARNINGS_MAX:
        found = [*found[:_WARNINGS_MAX], f"- {len(found) - _WARNINGS_MAX} more: see the JSON file"]
    lines = list(dict.fromkeys([*told, *found]))
    return ["", "Warnings:", "", *lines] if lines else []


def _settings(result: Result) -> list[str]:
    engines = result.head.get("engines", {})
    rows = []
    for name in result.engines:
        facts = engines.get(name) or {}
        options = " ".join(map(str, facts.get("settings") or []))
        made = str(facts.get("table_options") or "")
        rows.append([name, markdown.cell(facts.get("version") or markdown.NONE),
                     markdown.code(made) if made else markdown.NONE,
                     markdown.code(options) if options else markdown.NONE])
    if not any(row[3] != markdown.NONE for row in rows):
        return []
    return ["", "<details><summary>Settings of the servers</summary>", "",
            *markdown.table(["", "version", "table options", "server options"], rows, left=4), "", "</details>"]


def _machine_facts(result: Result) -> dict[str, str]:
    machine, versions = result.head.get("machine") or {}, result.head.get("versions") or {}
    disk = [str(machine[key]) for key in ("disk", "filesystem") if machine.get(key)]
    if scheduler := machine.get("scheduler"):
        chosen = re.search(r"\[(\S+)\]", str(scheduler))
        disk.append(f"scheduler {chosen[1] if chosen else scheduler}")
    if machine.get("read_ahead_kb") is not None:
        disk.append(f"read-ahead {machine['read_ahead_kb']} KiB")
    if machine.get("rotational") is not None:
        disk.append("said to rotate" if str(machine["rotational"]) in ("1", "True") else "said not to rotate")
    known = {"cpu_model", "cpus", "memory_bytes", "kernel", "os", "disk", "filesystem", "rotational",
             "read_ahead_kb", "scheduler"}
    facts = {
        "Date": str(result.head.get("started") or "")[:10],
        "CPU": _joined(machine.get("cpu_model"), machine.get("cpus") and f"{machine['cpus']} cores"),
        "Memory": markdown.data_size(machine.get("memory_bytes")),
        "Disk": ", ".join(disk),
        "System": _joined(machine.get("os"), machine.get("kernel") and f"Linux {machine['kernel']}"),
        "Machine": ", ".join(f"{key} {machine[key]}" for key in sorted(set(machine) - known)),
        "Versions": ", ".join(f"{key.replace('_', ' ')} {versions[key]}" for key in sorted(versions)
                              if versions[key]),
    }
    return {name: markdown.cell(text) for name, text in facts.items() if text and text != markdown.NONE}


def _run_facts(result: Result) -> dict[str, str]:
    head = result.head
    begun, ended = (str(head.get(key) or "")[:16].replace("T", " ") for key in ("started", "ended"))
    command = head.get("command")
    facts = {
        "Command": markdown.code(shlex.join(map(str, command))) if isinstance(command, list) else "",
        "Run": f"{begun} to {ended}" if ended else f"{begun}, no end" if begun else "",
        "Conditions": markdown.cell(conditions(head.get("conditions") or {})),
        "Engines": ", ".join(result.engines),
        "CPU caches": _caches(result),
    }
    return {name: text for name, text in facts.items() if text}


def _caches(result: Result) -> str:
    """Of the memtable sweep: its knees are theirs."""
    found = [caches for run in result.runs if (caches := run.table("outcome.detail.cpu_caches"))]
    return ", ".join(f"{markdown.cell(name)} {markdown.cell(size)}" for name, size in found[0].items()) if found else ""


def conditions(given: dict[str, Any]) -> str:
    """What held for all engines, in words."""
    words = []
    if limit := given.get("memory_bytes"):
        kind = given.get("memory_limit")
        words.append(f"server limited to {markdown.data_size(limit)}" + (f" ({kind})" if kind else ""))
    elif "memory_bytes" in given:
        words.append("no memory limit")
    if device := given.get("device"):
        limits = given.get("device_limits") or {}
        told = ", ".join(f"{key} {value}" for key, value in sorted(limits.items()))
        words.append(f"device {device}" + (f" ({told})" if told else ""))
    if "cold" in given:
        words.append("page cache dropped before each step" if given["cold"] else "warm page cache")
    if given.get("one_core"):
        words.append("servers and clients on one core")
    if given.get("side_by_side"):
        words.append("servers paused while another has its turn")
    if given.get("flush_setting") is not None:
        words.append(f"flush_log_at_trx_commit {given['flush_setting']}")
    if clients := given.get("clients"):
        words.append(f"clients {', '.join(map(str, clients))}")
    for key, text in (("repeats", "{} repeats"), ("seconds", "{} s per timed step"), ("scale", "scale {}")):
        value = given.get(key)
        if value and (key, value) != ("repeats", 1):
            words.append(text.format(f"{value:,.0f}" if value == int(value) else f"{value:,g}"))
    return "; ".join(words)


def _joined(*parts: object) -> str:
    return ", ".join(str(part) for part in parts if part)


def _common(facts: list[dict[str, str]]) -> dict[str, str]:
    first = facts[0]
    return {name: text for name, text in first.items() if all(each.get(name) == text for each in facts)}
