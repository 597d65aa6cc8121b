# SPDX-License-Identifier: GPL-2.0-only
"""Micro-benchmarks: sub-results of the runs, one line each, worst first against the base engine."""

from collections.abc import Callable

from cairn_cli.report import markdown, model
from cairn_cli.report.model import Figure, Result, Run

# Of a figure: the factor from the unit it is kept in, and how it is called; by the workload's unit.
_CPU_OF_ROWS = (1000.0, "CPU ns/row")
_CPU_OF_OTHERS = (1.0, "CPU µs/op")
_NAME_MAX = 60
# (engine, line) -> (repeat, value) of each run that counts
_Kept = dict[tuple[str, str], list[tuple[int, float]]]


class Lines:
    """The lines of all runs that count."""

    def __init__(self, result: Result, base: str) -> None:
        self._engines = result.engines
        self._cpu = _CPU_OF_ROWS if result.unit == "row" else _CPU_OF_OTHERS
        self.base = base
        self.others = [engine for engine in result.engines if engine != base]
        places: dict[str, set[str]] = {}
        for run in result.runs:
            for name in run.table("outcome.lines"):
                places.setdefault(name, set()).add(run.step)
        # A load's lines are told from the benchmark's own, and equal names from each other.
        one_step = len(set().union(*places.values())) == 1
        self._plain = {name for name, steps in places.items() if one_step or (
            len(steps) == 1 and all(result.repeatable.get(each) for each in steps))}
        self._rates: _Kept = {}
        self._cpus: _Kept = {}
        self._p99s: _Kept = {}
        for run in result.runs:
            if result.counts(run):
                for name, line in run.table("outcome.lines").items():
                    for each in _fills(run, name) or [line]:
                        self._take(run, name, each)

    def _take(self, run: Run, name: str, line: object) -> None:
        if not isinstance(line, dict) or line.get("problems"):
            return
        key = (run.engine, name if name in self._plain else _full_name(run.step, name))
        operations, seconds = line.get("operations"), line.get("seconds")
        if operations and seconds:
            self._rates.setdefault(key, []).append((run.repeat, operations / seconds))
            if cpu := line.get("server_cpu_seconds"):
                self._cpus.setdefault(key, []).append((run.repeat, 1e6 * cpu / operations))
            if p99 := line.get("p99_ms"):
                self._p99s.setdefault(key, []).append((run.repeat, p99))

    @property
    def names(self) -> list[str]:
        """Worst relative rate of the first engine that is compared at the top; the incomparable last."""
        found = list(dict.fromkeys(name for _, name in self._rates))

        def rank(name: str) -> tuple[float, ...]:
            ratios = [self.relative_rate(engine, name) for engine in self.others]
            return tuple(float("inf") if ratio is None else ratio for ratio in ratios)

        return sorted(found, key=rank)

    @property
    def own_names(self) -> list[str]:
        """Those of the benchmark itself, in the same order: not what filled the database before it."""
        return [name for name in self.names if name in self._plain]

    def rate(self, engine: str, name: str) -> Figure | None:
        """Operations per second."""
        return _figure(self._rates, engine, name)

    def cpu_us(self, engine: str, name: str) -> Figure | None:
        """The server's CPU per operation."""
        return _figure(self._cpus, engine, name)

    def p99_ms(self, engine: str, name: str) -> Figure | None:
        """Of the response times."""
        return _figure(self._p99s, engine, name)

    def relative_rate(self, engine: str, name: str) -> float | None:
        """To the base's."""
        found = self.relative_rates(engine, name)
        return found.median if found else None

    def relative_rates(self, engine: str, name: str) -> Figure | None:
        """To the base's, over the repeats."""
        return self._relative(self._rates, engine, name)

    def _relative(self, kept: _Kept, engine: str, name: str) -> Figure | None:
        """The ratios to the base's within each repeat, in which both were measured seconds or minutes apart: a machine
        that is slow for a while is so for both."""
        base = dict(kept.get((self.base, name), []))
        return model.figure([value / base[repeat] for repeat, value in kept.get((engine, name), [])
                             if base.get(repeat)])

    def table(self) -> list[str]:
        """Relative rate and CPU of each engine, then all absolute figures."""
        names = self.names
        if not names:
            return []
        lines = []
        if self.others:
            lines += [f"Relative to {self.base} within each repeat, worst first: rate (↑ more is better) and server"
                      " CPU per operation (↓ less is better):", ""]
            compared = [("rate ↑", self._rates), *([("CPU ↓", self._cpus)] if self._cpus else [])]
            heads = [f"{engine} {what}" for what, _ in compared for engine in self.others]
            lines += markdown.table(["", *heads], [[_head(name), *(
                markdown.ratio_shown(self._relative(kept, engine, name))
                for _, kept in compared for engine in self.others)]
                for name in names])
            lines += ["", "Absolute:", ""]
        factor, unit = self._cpu
        wanted: list[tuple[str, Callable[[str, str], Figure | None], float]] = [
            ("op/s" if unit == "CPU µs/op" else "rows/s", self.rate, 1.0), (unit, self.cpu_us, factor),
            ("p99 ms", self.p99_ms, 1.0)]
        wanted = [each for each in wanted if any(
            each[1](engine, name) for engine in self._engines for name in names)]
        heads = [f"{engine} {what}" for what, _, _ in wanted for engine in self._engines]
        return lines + markdown.table(["", *heads], [
            [_head(name), *(_shown(of(engine, name), factor)
                                    for _, of, factor in wanted for engine in self._engines)] for name in names])


def _figure(kept: _Kept, engine: str, name: str) -> Figure | None:
    return model.figure([value for _, value in kept.get((engine, name), [])])


def _shown(found: Figure | None, factor: float) -> str:
    value = found.median * factor if found else 0
    return markdown.shown(found, 0 if value >= 100 else 1 if value >= 10 else 2, 1 / factor)


def _head(name: str) -> str:
    """A line may be a whole statement."""
    return markdown.cell(name if len(name) <= _NAME_MAX else f"{name[:_NAME_MAX - 1]}…")


def _full_name(step: str, name: str) -> str:
    return step if step == name or step.endswith(f"-{name}") else f"{step}: {name}"


def _fills(run: Run, name: str) -> list[dict[str, float]]:
    """Of the memtable sweep, whose line is the median of fills that are kept beside it."""
    size = name.removesuffix(" MiB")
    return [{"operations": fill["inserted"], "seconds": fill["seconds"],
             "server_cpu_seconds": fill.get("process_cpu_seconds", 0.0)}
            for fill in run.rows(f"outcome.detail.fills.{size}") if fill.get("inserted") and fill.get("seconds")]
