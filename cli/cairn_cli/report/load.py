# SPDX-License-Identifier: GPL-2.0-only
"""Reads results files (docs/benchmarks.md) and says clearly what is wrong with one that is not."""

import json
from pathlib import Path
from typing import Any

from cairn_cli.errors import CairnError
from cairn_cli.report.model import Column, Result, Run

KIND = "cairn-bench"
FORMAT = 1


def directory(path: Path) -> list[Result]:
    """All results in a folder, by file name. Other JSON is passed over."""
    if not path.is_dir():
        raise CairnError(f"{path}: no such folder")
    results = [found for file in sorted(path.glob("*.json")) if (found := _file(file, strict=False))]
    if not results:
        raise CairnError(f"{path}: no results there; make some with"
                         f" ./cairn bench WORKLOAD --json {path}/WORKLOAD.json")
    return results


def one(path: Path) -> Result:
    """One file that has to be a result."""
    found = _file(path, strict=True)
    assert found
    return found


def _file(path: Path, *, strict: bool) -> Result | None:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise CairnError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CairnError(f"{path}: not text: {error}") from error
    try:
        content = json.loads(text)
    except ValueError as error:
        raise CairnError(f"{path}: not whole JSON (cut off?): {error}") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        if strict:
            raise CairnError(f"{path}: not a result of ./cairn bench")
        return None
    if content.get("format") != FORMAT:
        raise CairnError(f"{path}: format {content.get('format')!r}; this version reads format {FORMAT}")
    return _result(path, content)


def _result(path: Path, content: dict[str, Any]) -> Result:
    head = {key: value for key, value in content.items() if key != "runs"}
    _need(path, content, "workload", str)
    _need(path, content, "runs", list)
    for key, kind in (("columns", list), ("steps", list), ("engines", dict)):
        if key in content:
            _need(path, content, key, kind)
    for key in ("machine", "versions", "conditions"):
        if content.get(key) is not None and not isinstance(content[key], dict):
            raise CairnError(f"{path}: {key} is not an object")
    steps = [_object(path, f"steps[{index}]", each) for index, each in enumerate(content.get("steps", []))]
    for name, each in content.get("engines", {}).items():
        _object(path, f"engines.{name}", each)
    runs = [_run(path, index, each) for index, each in enumerate(content["runs"])]
    return Result(
        path=path, workload=content["workload"], unit=str(content.get("unit") or "operation"),
        complete=bool(content.get("complete")), head=head,
        columns=[_column(path, index, each) for index, each in enumerate(content.get("columns", []))],
        runs=runs, invalid=frozenset(run.engine for run in runs if run.status == "invalid"),
        repeatable={str(each.get("name")): bool(each.get("repeatable")) for each in steps})


def _need(path: Path, content: dict[str, Any], key: str, kind: type, where: str = "") -> Any:
    if not isinstance(content.get(key), kind):
        raise CairnError(f"{path}: {where}{key} is missing or not {_KINDS[kind]}")
    return content[key]


_KINDS = {str: "text", list: "a list", dict: "an object"}


def _object(path: Path, where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CairnError(f"{path}: {where} is not an object")
    return value


def _number(path: Path, content: dict[str, Any], key: str, default: float, where: str) -> float:
    value = content.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CairnError(f"{path}: {where}{key} is not a number")
    return value


def _column(path: Path, index: int, value: Any) -> Column:
    where = f"columns[{index}]."
    _object(path, where[:-1], value)
    return Column(_need(path, value, "label", str, where), _need(path, value, "path", str, where),
                  int(_number(path, value, "digits", 1, where)), value.get("better"),
                  _number(path, value, "divisor", 1.0, where) or 1.0)


def _run(path: Path, index: int, value: Any) -> Run:
    where = f"runs[{index}]."
    _object(path, where[:-1], value)
    return Run(engine=_need(path, value, "engine", str, where), step=_need(path, value, "step", str, where),
               clients=int(_number(path, value, "clients", 1, where)),
               repeat=int(_number(path, value, "repeat", 0, where)),
               status=_need(path, value, "status", str, where), error=str(value.get("error") or ""),
               data=value)
