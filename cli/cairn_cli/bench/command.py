# SPDX-License-Identifier: GPL-2.0-only
"""The subcommand: options, checks before anything is started, the run, the table."""

import argparse
import datetime
import os
import signal
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cairn_cli import console, locks, ninja, paths, setup, tree
from cairn_cli.bench import block_trace, conditions, engines, flash, registry, results, runner, table
from cairn_cli.bench.engines import Engine
from cairn_cli.bench.instance import Instance, frozen_plugins
from cairn_cli.bench.workload import Conditions, Step, Workload
from cairn_cli.errors import CairnError
from cairn_cli.server import Server

HELP = "measure workloads on several engines under stated conditions"

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_COUNTS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9}
_MEMORY_BYTES_MIN = 128 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A parser for each workload, all with the common options."""
    choices = parser.add_subparsers(dest="workload", required=True, metavar="WORKLOAD")
    for name in registry.NAMES:
        workload = registry.workload(name)
        each = choices.add_parser(name, help=workload.HELP, description=workload.HELP)
        _add_common(each, workload.DEFAULTS)
        workload.add_arguments(each)


def _add_common(parser: argparse.ArgumentParser, default: Conditions) -> None:
    group = parser.add_argument_group("conditions")
    group.add_argument("--engines", default="cairn,innodb", metavar="LIST",
                       help=f"of {' '.join(engines.ENGINES)} (default: %(default)s)")
    group.add_argument("--variant", action="append", default=[], metavar="'NAME=ENGINE OPTION…'",
                       help="an engine under another name with more options of the server; may be repeated")
    group.add_argument("--base", metavar="ENGINE", help="ratios are to this engine (default: innodb, else the first)")
    group.add_argument("--scale", type=_count, default=default.scale, metavar="N",
                       help="size of the data in the workload's unit; K, M, G are decimal (default: %(default)s)")
    group.add_argument("--memory", type=_size_or_none, default=default.memory_bytes, metavar="SIZE",
                       help="the server's memory, enforced by a cgroup and the measure of the engines' caches; K, M, G "
                            "are binary; `none`: all of the machine's (default: %(default)s bytes)")
    group.add_argument("--no-cgroup", action="store_true", help="size the caches by --memory, but enforce no limit")
    group.add_argument("--device", choices=tuple(conditions.DEVICES), default=default.device,
                       help="slow the disk down to this kind (default: %(default)s)")
    group.add_argument("--cold", action="store_true",
                       help="restart the server and drop the page cache before each step")
    group.add_argument("--one-core", action="store_true",
                       help="servers and clients on one core: with one client the scheduler's choice whether it shares"
                            " a core with the server is worth a factor of two")
    group.add_argument("--flush-setting", type=int, choices=(0, 1, 2), default=default.flush_setting,
                       help="flush_log_at_trx_commit of every engine (default: %(default)s)")
    group.add_argument("--clients", type=_numbers, default=default.clients, metavar="N,N…",
                       help="numbers of clients to go through (default: "
                            f"{','.join(map(str, default.clients)) or 'the steps own'})")
    group.add_argument("--repeats", type=_positive, default=default.repeats, metavar="N",
                       help="of repeatable steps, in turns over the engines (default: %(default)s)")
    group.add_argument("--seconds", type=_positive, default=default.seconds, metavar="N",
                       help="length of a timed step (default: %(default)s)")
    group.add_argument("--steps", metavar="LIST", help="only these steps, by name")
    group.add_argument("--block-trace", action="store_true",
                       help="trace what is written to the disk, and simulate what a flash drive would write for it")
    group.add_argument("--json", type=Path, metavar="FILE", help="results (default: a new file in var/bench)")
    group.add_argument("--no-build", action="store_true", help="use what is built, without a look for changes")


def run(arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand; 0 when every step of every engine is valid."""
    if not arguments.no_build:
        setup.ensure()
        ninja.build("release")
    return execute(registry.workload(arguments.workload), arguments)


def execute(workload: Workload, options: argparse.Namespace, *, keep: str | None = None,
            build_type: str = "release") -> int:
    """Runs a workload with the options of its parser. `keep`: the engine whose server is to stay, as
    the private server of ./cairn sql."""
    found, hierarchy = prepare(workload, options, build_type)

    plugins = paths.VAR / "bench" / f"{workload.NAME}-plugins"

    def make_instance(engine: Engine) -> Instance:
        name = "server" if engine.name == keep else f"bench/{workload.NAME}-{engine.name}"
        return Instance(engine, options.conditions, options.cache_memory_bytes, hierarchy,
                        Server(name, build_type, plugins), paths.VAR / "bench" / f"{workload.NAME}-{engine.name}-files",
                        build_type)

    if options.one_core:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # all that is started from here on inherits it
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with locks.held(paths.VAR / "bench" / f"{workload.NAME}.lock"):
            if workload.NEEDS_SERVER:
                frozen_plugins(plugins, build_type)
            runner.Runner(workload, options, found, make_instance, found.head["machine"]["disk"],
                          block_trace=options.block_trace, side_by_side=options.side_by_side).run(
                found.steps, options.engines, keep)
    except KeyboardInterrupt:
        _show(workload, found, options)
        console.warn("interrupted: the results above are partial")
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
    _show(workload, found, options)
    return 0 if found.complete and not found.invalid_engines() else 1


def prepare(workload: Workload, options: argparse.Namespace,
            build_type: str = "release") -> tuple[results.Results, conditions.Hierarchy | None]:
    """Checks all that can be known before the first server starts, and completes the options."""
    folder = paths.VAR / "bench"
    folder.mkdir(parents=True, exist_ok=True)
    options.engines = engines.parse(options.engines, options.variant) if workload.NEEDS_SERVER else (engines.NONE,)
    if workload.LARGE_DATA:
        options.engines = engines.for_large_data(options.engines)
    options.base = _base(options)
    options.conditions = Conditions(
        memory_bytes=options.memory, device=options.device, cold=options.cold,
        flush_setting=options.flush_setting, clients=tuple(options.clients), repeats=options.repeats,
        seconds=options.seconds, scale=options.scale)
    options.build_type = build_type
    hierarchy = _limits(workload, options)
    if hierarchy:
        conditions.check(hierarchy, options.memory, options.device, folder)
    if options.cold:
        conditions.check_drop_caches()
    steps = _chosen(workload.steps(options), options.steps)
    if workload.NEEDS_SERVER:
        engines.check_installed(options.engines, tree.plugin_directory(tree.prepare(build_type)))
    runner.check_disk(sum(workload.disk_bytes_needed(options, engine) for engine in options.engines), folder)
    path = options.json or folder / f"{workload.NAME}-{datetime.datetime.now():%Y%m%d-%H%M%S}.json"
    options.side_by_side = len(options.engines) > 1 and not options.cold and runner.fit_side_by_side(
        options.engines, options.memory)
    head = _head(workload, options, hierarchy, folder)
    columns = list(workload.columns(options))
    if options.block_trace:
        block_trace.check(head["machine"]["disk"])
        columns += flash.COLUMNS
    found = results.Results(path, head, columns, steps)
    for engine in options.engines:
        found.engines[engine.name] = {"client_name": engine.client_name,
                                      "table_options": engine.table_options, "settings": []}
    try:
        found.write()
    except OSError as error:
        raise CairnError(f"--json: cannot write {path}: {error.strerror}") from error
    return found, hierarchy


def _base(options: argparse.Namespace) -> str:
    names = [engine.name for engine in options.engines]
    if options.base and options.base not in names:
        raise CairnError(f"--base {options.base}: not among the engines of this run ({' '.join(names)})")
    return options.base or ("innodb" if "innodb" in names else names[0])


def _limits(workload: Workload, options: argparse.Namespace) -> conditions.Hierarchy | None:
    """Sets `options.cache_memory_bytes`; returns where cgroups are made, None if none is to be."""
    wanted = options.conditions
    whole_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    options.cache_memory_bytes = wanted.memory_bytes or whole_bytes
    if not workload.NEEDS_SERVER:
        return None
    if wanted.memory_bytes and wanted.memory_bytes < _MEMORY_BYTES_MIN:
        raise CairnError(f"--memory: a server needs at least {_MEMORY_BYTES_MIN >> 20}M")
    if wanted.memory_bytes and wanted.memory_bytes > whole_bytes:
        raise CairnError(f"--memory: the machine has only {whole_bytes >> 20}M")
    slowed = conditions.DEVICES[wanted.device].limited
    if options.no_cgroup:
        if slowed:
            raise CairnError(f"--device {wanted.device} needs a cgroup, so it excludes --no-cgroup")
        return None
    return conditions.require_hierarchy() if wanted.memory_bytes or slowed else None


def _chosen(steps: Sequence[Step], names: str | None) -> list[Step]:
    if not names:
        return list(steps)
    wanted = names.split(",")
    if unknown := [name for name in wanted if name not in [step.name for step in steps]]:
        raise CairnError(f"--steps: no step {' '.join(unknown)} "
                         f"(there are: {' '.join(step.name for step in steps)})")
    return [step for step in steps if step.name in wanted]


def _head(workload: Workload, options: argparse.Namespace, hierarchy: conditions.Hierarchy | None,
          folder: Path) -> dict[str, Any]:
    disk = conditions.disk_of(folder)
    device = conditions.DEVICES[options.conditions.device]
    stated = asdict(options.conditions) | {
        "memory_limit": f"cgroup v{hierarchy.version}" if hierarchy and options.conditions.memory_bytes else "none",
        "cache_bytes": {engine.name: engines.cache_bytes(options.cache_memory_bytes, engine)
                        for engine in options.engines} if workload.NEEDS_SERVER else None,
        "device_limits": asdict(device) if device.limited else None, "side_by_side": options.side_by_side,
        "one_core": options.one_core}
    common = ("engines", "conditions", "json", "command", "workload")
    own = {name: value for name, value in vars(options).items() if name not in common}
    return {"workload": workload.NAME, "unit": workload.UNIT,
            "command": ["./cairn", *sys.argv[1:]], "started": results.now_text(), "conditions": stated,
            "options": own, "base": options.base, "machine": results.machine(folder, disk[0] if disk else None),
            "versions": results.versions()}


def _show(workload: Workload, found: results.Results, options: argparse.Namespace) -> None:
    shown = found.to_json()
    console.say("")
    for line in table.lines(shown, options.base):
        console.say(line)
    if summary := getattr(workload, "summary", None):
        for line in summary(shown, options.base):
            console.say(line)
    if len(options.engines) > 1 or options.conditions.repeats > 1:
        console.say("")
        console.say(f"medians; [spread: another run's median is no farther away, 99 %]; x: ratio to {options.base}")
    for engine, why in found.invalid_engines().items():
        console.say(f"invalid, not shown: {engine}: {why}")
    for entry in found.runs:
        if entry["status"] in ("failed", "interrupted"):
            why = entry["error"].splitlines()[0] if entry["error"] else ""
            console.say(f"{entry['status']}: {entry['engine']} {entry['step']}: {why}".rstrip(": "))
    if found.warnings:
        console.say(f"warning: the machine was not quiet in {len(found.warnings)} of {len(found.runs)} runs")
    console.say(f"results: {found.path}")


def _number_with(text: str, units: dict[str, int]) -> int:
    digits, unit = (text[:-1], text[-1].upper()) if text[-1:].isalpha() else (text, "")
    try:
        value = float(digits.replace("_", "")) * units[unit]
    except (KeyError, ValueError):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 500000, 5M or 1G") from None
    if not 0 < value < 2**62 or value != int(value):
        raise argparse.ArgumentTypeError(f"{text!r} must be a whole number above 0")
    return int(value)


def _size_or_none(text: str) -> int | None:
    return None if text == "none" else _number_with(text, _UNITS)


def _count(text: str) -> int:
    return _number_with(text, _COUNTS)


def _positive(text: str) -> int:
    return _number_with(text, {"": 1})


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(_positive(part) for part in text.split(","))


def parse(workload: str, words: Sequence[str]) -> argparse.Namespace:
    """The options of a command line, for callers other than the user."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return parser.parse_args([workload, *words])
