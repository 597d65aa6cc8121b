# SPDX-License-Identifier: GPL-2.0-only
"""Includes go downward only, by lint/layers.json; RocksDB and the server each have one place."""

import json
import re
from pathlib import Path

from lint import files

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
_STANDARD = re.compile(r"^[a-z_0-9]+$")
# What any layer may use beside the standard library, and what only tests may.
_SYSTEM = re.compile(r"^(sys|linux|asm)/|^(unistd|malloc|fcntl|pthread|sched|dirent|errno|signal|time"
                     r"|stdint|stddef|stdlib|string|stdio|math|limits"
                     r"|[a-z]+mmintrin|immintrin|x86intrin|cpuid|cxxabi|execinfo)\.h$")
_TEST_ONLY = re.compile(r"^(gtest|gmock|benchmark|rapidcheck)([./]|$)")
_ROCKSDB = re.compile(r"^rocksdb/")
# What RocksDB is built on, and its one user may use as well.
_WITH_ROCKSDB = ("zdict.h", "zstd.h")
_TEST_SOURCE = re.compile(r"_(test|bench|fuzz)\.cc$|_test_\w+\.h$|_testing\.h$|/testing\.h$")


def check(root: Path) -> list[str]:
    """Reads every #include of src/ against the table."""
    table = json.loads((root / "lint/layers.json").read_text(encoding="utf-8"))["layers"]
    layers = {layer["name"]: layer for layer in table}
    problems = []
    for path in files.under(root, ["src"], [".h", ".cc"]):
        relative = path.relative_to(root)
        name = relative.parts[1]
        if name not in layers:
            problems.append(f"{relative}: src/{name} is not a layer of lint/layers.json")
            continue
        text = files.read(path)
        for found in _INCLUDE.finditer(text):
            why = _refusal(layers[name], layers, str(relative), found[1], found[2])
            if why:
                line = text.count("\n", 0, found.start()) + 1
                problems.append(f"{relative}:{line}: {why}")
    return problems


def _refusal(layer: dict, layers: dict, source: str, quote: str, target: str) -> str | None:
    """Why a file of `layer` may not include `target`; None when it may."""
    own = layer["name"]
    folder = target.split("/")[0]
    if quote == '"' and folder in layers and "/" in target:
        if folder == own or folder in layer["may_include"]:
            return None
        return f"{own}/ may not include {folder}/"
    if layer.get("external") == "mariadb":
        return "only store/ sees RocksDB" if _ROCKSDB.match(target) else None
    if layer.get("external") == "rocksdb":
        # Its internal headers lie in folders of many names.
        allowed = quote == '"' or target in _WITH_ROCKSDB or _allowed(source, target)
        return None if allowed else f"{own}/ may not see <{target}>"
    if quote == '"':
        return f'"{target}" is not written from src/'
    return None if _allowed(source, target) and not _ROCKSDB.match(target) else (
        f"{own}/ may not see <{target}>")


def _allowed(source: str, target: str) -> bool:
    if _STANDARD.match(target) or _SYSTEM.match(target) or _ROCKSDB.match(target):
        return True
    return bool(_TEST_ONLY.match(target) and _TEST_SOURCE.search(source))
