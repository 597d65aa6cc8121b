# SPDX-License-Identifier: GPL-2.0-only
"""Which files the rules look at: what git would keep, or all, where there is no git."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

_IGNORED = ("build", "var", ".git", "__pycache__")


def kept(root: Path) -> list[Path]:
    """The repository's files, also those not committed yet."""
    if (root / ".git").exists() and shutil.which("git"):
        listed = subprocess.run(
            ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
             "--exclude-standard"], check=True, capture_output=True, text=True).stdout
        found = [root / name for name in listed.split("\0") if name]
    else:
        found = [path for path in root.rglob("*")
                 if not set(path.relative_to(root).parts) & set(_IGNORED)]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def under(root: Path, folders: Iterable[str], suffixes: Iterable[str]) -> list[Path]:
    """Kept files of some folders and kinds."""
    kinds = set(suffixes)
    tops = set(folders)
    return [path for path in kept(root)
            if path.suffix in kinds and path.relative_to(root).parts[0] in tops]


def read(path: Path) -> str:
    """A file as text; bytes that are no text do not matter to any rule."""
    return path.read_text(encoding="utf-8", errors="replace")
