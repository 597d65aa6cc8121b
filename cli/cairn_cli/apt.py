# SPDX-License-Identifier: GPL-2.0-only
"""Distribution packages: installing what is missing, and a private view that also has sources."""

import functools
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path

from cairn_cli import console, process
from cairn_cli.errors import CairnError


def missing(packages: Iterable[str]) -> list[str]:
    """Those of `packages` that are not installed, in their order."""
    wanted = list(packages)
    out = process.capture(["dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Package}\n", *wanted],
                          check=False)
    installed = {line[3:].strip() for line in out.splitlines() if line.startswith("ii ")}
    return [name for name in wanted if name not in installed]


def _root_prefix(packages: Sequence[str]) -> list[str]:
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    raise CairnError("these packages are needed, and neither root nor sudo is at hand:\n  "
                     "apt-get install " + " ".join(packages))


def install(packages: Iterable[str], log: Path) -> None:
    """Installs what is missing, by name, from the distribution."""
    wanted = missing(packages)
    if not wanted:
        return
    prefix = _root_prefix(wanted)
    progress = console.Progress(f"apt: {' '.join(wanted[:4])}{' …' if len(wanted) > 4 else ''}")
    quiet = ["env", "DEBIAN_FRONTEND=noninteractive"]
    argv = [*prefix, *quiet, "apt-get", "install", "-y", "--no-install-recommends", *wanted]
    process.stream([*prefix, *quiet, "apt-get", "update"], lambda _: None, log=log, check=False)
    done = 0

    def count(line: str) -> None:
        nonlocal done
        if line.startswith("Setting up "):
            done += 1
            progress.update(done, len(wanted), line.split()[2])

    process.stream(argv, count, log=log)
    progress.finish()


class PrivateApt:
    """The system's package sources plus their source packages, in a folder of our own.

    Needs no privileges and leaves the system's package lists as they are.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        for name in ("sources", "lists/partial", "cache/archives/partial"):
            (directory / name).mkdir(parents=True, exist_ok=True)
        self._options = [
            "-o", "Dir::Etc::sourcelist=/dev/null",
            "-o", f"Dir::Etc::sourceparts={directory / 'sources'}",
            "-o", f"Dir::State::Lists={directory / 'lists'}",
            "-o", f"Dir::Cache={directory / 'cache'}",
            "-o", "APT::Sandbox::User=root",
        ]

    def update(self, log: Path) -> None:
        """Copies the system's sources with their source packages switched on; fetches lists."""
        _copy_sources(Path("/etc/apt"), self._directory / "sources")
        process.stream(["apt-get", *self._options, "update"], lambda _: None, log=log, check=False)

    def versions(self, package: str, *, source: bool) -> set[str]:
        """The versions on offer of a binary or a source package."""
        out = process.capture(["apt-cache", *self._options, "madison", package], check=False)
        found = set()
        for line in out.splitlines():
            name, version, origin = (part.strip() for part in line.split("|", 2))
            if name == package and origin.endswith("Sources") == source:
                found.add(version)
        return found

    def fetch(self, packages: Sequence[str], version: str, into: Path, log: Path) -> list[Path]:
        """Downloads binary packages of one version; returns the files."""
        into.mkdir(parents=True, exist_ok=True)
        names = [f"{package}={version}" for package in packages]
        process.stream(["apt-get", *self._options, "download", *names], lambda _: None,
                       log=log, cwd=into)
        return sorted(into.glob("*.deb"))

    def fetch_source(self, package: str, version: str, into: Path, log: Path) -> Path:
        """Downloads a source package; returns its upstream archive."""
        into.mkdir(parents=True, exist_ok=True)
        process.stream(["apt-get", *self._options, "source", "--download-only",
                        f"{package}={version}"], lambda _: None, log=log, cwd=into)
        archives = [path for path in into.glob("*.orig.tar.*") if path.suffix != ".asc"]
        if len(archives) != 1:
            raise CairnError(f"no upstream archive in the source package {package}={version}")
        return archives[0]


def newest_first(versions: Iterable[str]) -> list[str]:
    """Debian's own order of versions, the newest at the front."""

    def compare(left: str, right: str) -> int:
        if left == right:
            return 0
        older, _ = process.result(["dpkg", "--compare-versions", left, "lt", right])
        return 1 if older == 0 else -1

    return sorted(set(versions), key=functools.cmp_to_key(compare))


def depends(package_file: Path) -> list[str]:
    """The names a package file depends on (of alternatives, the first)."""
    line = process.capture(["dpkg-deb", "-f", package_file, "Depends"])
    return [re.split(r"[\s:(|]", part.strip(), maxsplit=1)[0]
            for part in line.split(",") if part.strip()]


def _copy_sources(system: Path, into: Path) -> None:
    for old in into.iterdir():
        old.unlink()
    lists = [system / "sources.list", *sorted((system / "sources.list.d").glob("*"))]
    for path in lists:
        if not path.is_file() or path.suffix not in (".list", ".sources"):
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".sources":
            text = re.sub(r"(?m)^Types:.*$", "Types: deb deb-src", text)
        else:
            lines = [line for line in text.splitlines() if line.startswith("deb ")]
            text = "\n".join([*lines, *(f"deb-src{line[3:]}" for line in lines), ""])
        (into / path.name).write_text(text, encoding="utf-8")
