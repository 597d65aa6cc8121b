# SPDX-License-Identifier: GPL-2.0-only
"""Every source file names the licence in its first lines."""

from pathlib import Path

from lint import files

_LINE = "SPDX-License-Identifier: GPL-2.0-only"
_SUFFIXES = (".h", ".cc", ".c", ".py", ".cmake", ".sh")
_NAMES = ("CMakeLists.txt", "cairn")
_FIRST_LINES = 3


def check(root: Path) -> list[str]:
    """Looks at the head of every program text."""
    problems = []
    for path in files.kept(root):
        if path.suffix not in _SUFFIXES and path.name not in _NAMES:
            continue
        if _LINE not in "\n".join(files.read(path).splitlines()[:_FIRST_LINES]):
            problems.append(f"{path.relative_to(root)}: no line \"{_LINE}\"")
    return problems
