# SPDX-License-Identifier: GPL-2.0-only
"""MariaDB from the distribution, unpacked into the cache: binaries, tests, headers, sources.

Nothing is installed; a MariaDB the user has stays untouched. A storage engine must match its
server's version exactly, and the distribution does not always offer both halves of its newest
version, so the newest version is taken whose binary and source packages can really be fetched.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from cairn_cli import apt, console, process
from cairn_cli.errors import CairnError

SOURCE_PACKAGE = "mariadb"
PACKAGES = (
    "mariadb-server", "mariadb-server-core", "mariadb-client", "mariadb-client-core",
    "mariadb-common", "mariadb-test", "mariadb-test-data",
    "mariadb-plugin-rocksdb",  # MyRocks, a peer
    "libmariadbd-dev", "libmariadbd19",
)
# What is read or compiled of the source package; the rest of it stays packed.
SOURCE_PARTS = ("include", "sql", "libservices", "wsrep-lib", "scripts", "strings", "mysys",
                "storage/example", "storage/sequence", "storage/innobase/handler")
GENERATED_HEADERS = ("my_config.h", "mysql_version.h", "mysqld_error.h", "handler_ername.h")


@dataclass(frozen=True)
class ServerFiles:
    """One unpacked server version in the cache."""

    directory: Path

    @property
    def version(self) -> str:
        """The upstream version, such as 10.11.1."""
        return self.directory.name

    @property
    def prefix(self) -> Path:
        """A folder shaped like an installation: bin sbin share lib/mysql/plugin mysql-test."""
        return self.directory / "prefix"

    @property
    def source(self) -> Path:
        """The unpacked part of the source package."""
        return self.directory / "source"

    @property
    def generated(self) -> Path:
        """Headers the server's own build generates."""
        return self.directory / "include"

    @property
    def complete(self) -> bool:
        """Whether everything arrived; a version is put in place whole or not at all."""
        return (self.directory / ".complete").exists()


def obtain(servers: Path, log_dir: Path) -> ServerFiles:
    """Fetches and unpacks the newest version that can be had in both halves."""
    view = apt.PrivateApt(servers / "apt")
    view.update(log_dir / "apt-private-update.log")
    offered = set.intersection(*(view.versions(name, source=False) for name in PACKAGES))
    candidates = apt.newest_first(offered & view.versions(SOURCE_PACKAGE, source=True))
    if not candidates:
        raise CairnError("the distribution offers no MariaDB with both binary and source packages"
                         f" (needed: {' '.join(PACKAGES)})")
    refusals = []
    for version in candidates:
        files = ServerFiles(servers / _upstream(version))
        if files.complete:
            return files
        try:
            return _obtain_version(view, version, files, log_dir)
        except process.CommandFailed as failed:
            reason = failed.tail.strip().splitlines()[-1] if failed.tail.strip() else "failed"
            refusals.append(f"{version}: {reason}")
            shutil.rmtree(files.directory.with_name(files.directory.name + ".partial"))
            console.say(f"  MariaDB {version} cannot be had whole; trying an older one")
    raise CairnError("no MariaDB version could be fetched:\n  " + "\n  ".join(refusals))


def _upstream(version: str) -> str:
    return version.split(":", 1)[-1].rsplit("-", 1)[0]


def _obtain_version(view: apt.PrivateApt, version: str, files: ServerFiles,
                    log_dir: Path) -> ServerFiles:
    partial = files.directory.with_name(files.directory.name + ".partial")
    if partial.exists():
        shutil.rmtree(partial)
    log = log_dir / f"mariadb-{files.version}.log"
    progress = console.Progress(f"MariaDB {version}")
    archive = view.fetch_source(SOURCE_PACKAGE, version, partial / "archives", log)
    progress.update(1, 4, "source package")
    packages = view.fetch(PACKAGES, version, partial / "packages", log)
    progress.update(2, 4, "binary packages")
    for package in packages:
        process.capture(["dpkg-deb", "-x", package, partial / "root"])
    progress.update(3, 4, "unpacking")
    part = ServerFiles(partial)
    _unpack_source(archive, part.source)
    _make_prefix(partial)
    _make_generated(partial / "root", part.source, part.generated)
    (partial / "libraries").write_text("\n".join(_libraries(packages)) + "\n", encoding="utf-8")
    shutil.rmtree(partial / "packages")
    (partial / ".complete").touch()
    if files.directory.exists():
        shutil.rmtree(files.directory)
    partial.rename(files.directory)
    progress.finish("unpacked")
    return files


def libraries(files: ServerFiles) -> list[str]:
    """The distribution's shared libraries that the unpacked programs need."""
    return (files.directory / "libraries").read_text(encoding="utf-8").split()


def _libraries(packages: list[Path]) -> list[str]:
    names = {name for package in packages for name in apt.depends(package)}
    return sorted(name for name in names if name.startswith("lib")
                  and not name.startswith("libmariadb") and not name.endswith("-perl"))


def _unpack_source(archive: Path, into: Path) -> None:
    into.mkdir(parents=True)
    patterns = [f"*/{part}" for part in SOURCE_PARTS]
    process.capture(["tar", "-xf", archive, "-C", into, "--strip-components=1",
                     "--wildcards", "--no-wildcards-match-slash", *patterns])


def _make_prefix(directory: Path) -> None:
    """Symbolic links, all relative, so that the folder may be renamed into place."""
    root, prefix = directory / "root/usr", directory / "prefix"
    plugins = prefix / "lib/mysql/plugin"
    plugins.mkdir(parents=True)
    for name in ("bin", "sbin", "share"):
        (prefix / name).symlink_to(Path("../root/usr") / name)
    (prefix / "mysql-test").symlink_to("../root/usr/share/mysql/mysql-test")
    for item in (root / "lib/mysql/plugin").iterdir():
        (plugins / item.name).symlink_to(Path("../../../../root/usr/lib/mysql/plugin") / item.name)
    machine = next(root.glob("lib/*/libmariadbd.so")).parent.name
    for item in (root / "lib" / machine).iterdir():
        (prefix / "lib" / item.name).symlink_to(Path("../../root/usr/lib") / machine / item.name)


def _make_generated(root: Path, source: Path, into: Path) -> None:
    into.mkdir()
    for name in GENERATED_HEADERS:
        shutil.copy(root / "usr/include/mariadb/server" / name, into)
    # The generator derives the include guard from its input's name, hence the copy.
    probes = into / "probes_mysql.d"
    shutil.copy(source / "include/probes_mysql.d.base", probes)
    header = process.capture(["perl", source / "scripts/dheadgen.pl", "-f", probes.name], cwd=into)
    (into / "probes_mysql_nodtrace.h").write_text(header, encoding="utf-8")
    probes.unlink()
