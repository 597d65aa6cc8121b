# SPDX-License-Identifier: GPL-2.0-only
"""What `setup` found or built, and where: remembered in the cache for this command and for CMake."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from cairn_cli import paths
from cairn_cli.errors import CairnError

_STATE = "state.json"
_CMAKE = "env.cmake"


@dataclass(frozen=True)
class Dependencies:
    """Paths of the prepared dependencies; empty where that part is not ready yet."""

    server_version: str = ""
    server_prefix: str = ""
    server_source: str = ""
    server_generated: str = ""
    rocksdb_dir: str = ""
    rocksdb_tsan_dir: str = ""

    @property
    def prefix(self) -> Path:
        """The private installation of MariaDB."""
        return Path(self.server_prefix)


def load() -> Dependencies:
    """What the last setup left; all empty when there was none."""
    try:
        text = (paths.cache() / _STATE).read_text(encoding="utf-8")
        return Dependencies(**json.loads(text))
    except (OSError, TypeError, ValueError):
        return Dependencies()


def require() -> Dependencies:
    """As `load`, for commands that cannot go on without."""
    found = load()
    if not found.server_prefix or not found.prefix.is_dir():
        raise CairnError("the dependencies are not there yet: run ./cairn setup")
    return found


def store(found: Dependencies) -> None:
    """Remembers `found`, and writes the same for CMake."""
    cache = paths.cache()
    lines = ["# Written by ./cairn setup: where the prepared dependencies are."]
    lines += [f'set(CAIRN_{name.upper()} "{value}")' for name, value in asdict(found).items()]
    _replace(cache / _CMAKE, "\n".join(lines) + "\n")
    _replace(cache / _STATE, json.dumps(asdict(found), indent=2) + "\n")


def _replace(path: Path, text: str) -> None:
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_suffix(path.suffix + ".new")
    fresh.write_text(text, encoding="utf-8")
    fresh.rename(path)
