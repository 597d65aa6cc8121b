# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn setup`: everything that is needed to build and test, once; later it only looks."""

import argparse
import shutil
import time
from dataclasses import replace
from pathlib import Path

from cairn_cli import apt, console, dependencies, locks, paths, rocksdb, server_packages

HELP = "get and build all that is needed"

_TOOLS = ("g++", "cmake", "ninja-build", "ccache", "pkg-config", "perl", "dpkg-dev",
          "binutils", "procps", "valgrind", "python3-matplotlib", "sysbench")
_LIBRARIES = ("liblz4-dev", "libzstd-dev", "zlib1g-dev", "libsnappy-dev", "libmariadb-dev",
              "libgtest-dev", "libbenchmark-dev", "librapidcheck-dev")
# The distribution's plain `cargo` is too old to read today's registry; this one is kept current.
_CARGO = "cargo-web"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """This subcommand takes none of its own."""


def run(_arguments: argparse.Namespace) -> int:
    """Entry point of the subcommand."""
    started_s = time.monotonic()
    found = ensure()
    console.say(f"ready: MariaDB {found.server_version}, RocksDB {rocksdb.VERSION},"
                f" in {paths.cache()} ({time.monotonic() - started_s:.1f} s)")
    return 0


def ensure(*, tsan: bool = False) -> dependencies.Dependencies:
    """Brings every dependency into place and returns where they are."""
    cache = paths.cache()
    logs = cache / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with locks.held(cache / "lock"):
        _install_tools(logs)
        found = _server(cache, logs)
        return _rocksdb(cache, logs, found, tsan)


def _install_tools(logs: Path) -> None:
    packages = [*_TOOLS, *_LIBRARIES]
    if not shutil.which("cargo"):
        packages.append(_CARGO)
    apt.install(packages, logs / "apt-install.log")


def _server(cache: Path, logs: Path) -> dependencies.Dependencies:
    found = dependencies.load()
    servers = cache / "server"
    files = server_packages.ServerFiles(servers / (found.server_version or "none"))
    if not files.complete:
        files = server_packages.obtain(servers, logs)
    apt.install(server_packages.libraries(files), logs / "apt-install-libraries.log")
    found = replace(found, server_version=files.version, server_prefix=str(files.prefix),
                    server_source=str(files.source), server_generated=str(files.generated))
    dependencies.store(found)
    return found


def _rocksdb(cache: Path, logs: Path, found: dependencies.Dependencies,
             tsan: bool) -> dependencies.Dependencies:
    rocksdbs = cache / "rocksdb"
    release = rocksdb.obtain(rocksdb.RELEASE, rocksdbs, logs)
    found = replace(found, rocksdb_dir=str(release))
    if tsan:
        found = replace(found, rocksdb_tsan_dir=str(rocksdb.obtain(rocksdb.TSAN, rocksdbs, logs)))
    dependencies.store(found)
    return found
