# SPDX-License-Identifier: GPL-2.0-only
"""ruff, which checks the Python code: always the same version, from the Python package index, kept in the cache."""

import sys
import tempfile
from pathlib import Path

from cairn_cli import apt, paths, process

VERSION = "0.17.6"  # another one may find more


def obtain() -> Path:
    """The program, got at first use. Raises CairnError where that fails, as without a network."""
    folder = paths.cache() / "ruff"
    program = folder / f"ruff-{VERSION}"
    if program.is_file():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    logs = paths.cache() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    apt.install(["python3-venv"], logs / "apt-install-ruff.log")
    with tempfile.TemporaryDirectory(dir=folder) as made:
        process.capture([sys.executable, "-m", "venv", made])
        process.capture([Path(made) / "bin/pip", "install", "--quiet", "--disable-pip-version-check",
                         f"ruff=={VERSION}"])
        # A native program, which needs nothing else of what it was installed with.
        (Path(made) / "bin/ruff").replace(program)
    return program
