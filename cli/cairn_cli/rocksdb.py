# SPDX-License-Identifier: GPL-2.0-only
"""RocksDB, built static from the source that the crate librocksdb-sys carries, kept in the cache."""

import hashlib
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from cairn_cli import ninja, process
from cairn_cli.errors import CairnError

CRATE = "librocksdb-sys"
CRATE_VERSION = "0.19.0+11.8.1"
VERSION = CRATE_VERSION.split("+")[1]

# Counters of threads that nobody reads; each costs code wherever it would count (decision 42).
_WITHOUT = ("-DNPERF_CONTEXT", "-DNROCKSDB_THREAD_STATUS")
# Another namespace, hidden symbols and no unique ones let Cairn and MyRocks share a process.
_CXX_FLAGS = ("-mpclmul", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
              "-fno-gnu-unique", "-DROCKSDB_NAMESPACE=cairn_rocksdb", *_WITHOUT)
_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O2 -DNDEBUG",
    "-DCMAKE_UNITY_BUILD=ON", "-DCMAKE_UNITY_BUILD_BATCH_SIZE=8",
    "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
    "-DPORTABLE=x86-64-v2", "-DUSE_RTTI=1", "-DFAIL_ON_WARNINGS=OFF",
    "-DROCKSDB_BUILD_SHARED=OFF", "-DWITH_GFLAGS=OFF", "-DWITH_LIBURING=OFF",
    "-DWITH_LZ4=ON", "-DWITH_ZSTD=ON", "-DWITH_ZLIB=ON", "-DWITH_SNAPPY=ON",
    "-DWITH_TESTS=OFF", "-DWITH_TOOLS=OFF", "-DWITH_CORE_TOOLS=OFF",
    "-DWITH_BENCHMARK_TOOLS=OFF", "-DWITH_TRACE_TOOLS=OFF",
)
# Folders whose headers the store layer may include beside the public ones.
_HEADER_FOLDERS = ("include", "cache", "db", "env", "file", "logging", "memory", "memtable",
                   "monitoring", "options", "port", "table", "test_util", "trace_replay", "util",
                   "utilities")


@dataclass(frozen=True)
class Variant:
    """One way to build the library."""

    name: str
    extra_flags: tuple[str, ...] = ()

    def cmake_arguments(self) -> list[str]:
        """All that decides what the build gives, and so names its folder."""
        flags = " ".join((*_CXX_FLAGS, *self.extra_flags))
        return [*_OPTIONS, f"-DCMAKE_CXX_FLAGS={flags}"]

    def directory(self, rocksdbs: Path) -> Path:
        """Where this variant lies, by version, flags and compiler."""
        compiler = process.capture(["g++", "-dumpfullversion"]).strip()
        key = "\n".join([compiler, *self.cmake_arguments()])
        return rocksdbs / f"{VERSION}-{hashlib.sha256(key.encode()).hexdigest()[:10]}"


RELEASE = Variant("RocksDB")
TSAN = Variant("RocksDB for ThreadSanitizer", ("-fsanitize=thread", "-g1"))


def is_complete(directory: Path) -> bool:
    """Whether a variant's folder was finished."""
    return (directory / ".complete").exists()


def obtain(variant: Variant, rocksdbs: Path, log_dir: Path) -> Path:
    """Builds a variant, going on where an interrupted build stopped; returns its folder."""
    directory = variant.directory(rocksdbs)
    if is_complete(directory):
        return directory
    source = _obtain_source(rocksdbs / f"source-{VERSION}", log_dir)
    build = directory / "build"
    log = log_dir / f"{directory.name}.log"
    if not (build / "build.ninja").exists():
        process.stream(["cmake", "-G", "Ninja", "-S", source, "-B", build,
                        *variant.cmake_arguments()], lambda _: None, log=log)
    ninja.run(build, f"{variant.name} {VERSION}", log, "rocksdb")
    _install(source, build, directory)
    shutil.rmtree(build)
    return directory


def _obtain_source(into: Path, log_dir: Path) -> Path:
    """Gets the crate through cargo, by a package of our own that depends on just this version."""
    if (into / ".complete").exists():
        return into
    work = into.with_name("fetch")
    work.mkdir(parents=True, exist_ok=True)
    (work / "lib.rs").touch()
    (work / "Cargo.toml").write_text(
        '[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n'
        '[lib]\npath = "lib.rs"\n'
        f'[dependencies]\n{CRATE} = {{ version = "={CRATE_VERSION}", default-features = false }}\n',
        encoding="utf-8")
    log = log_dir / "cargo-vendor.log"
    process.stream(["cargo", "vendor", "--versioned-dirs", "vendor"], lambda _: None,
                   log=log, cwd=work)
    crate = work / "vendor" / f"{CRATE}-{CRATE_VERSION}"
    if not (crate / "rocksdb/CMakeLists.txt").exists():
        raise CairnError(f"the crate {CRATE} {CRATE_VERSION} does not hold RocksDB's sources")
    if into.exists():
        shutil.rmtree(into)
    (crate / "rocksdb").rename(into)
    shutil.rmtree(work)
    (into / ".complete").touch()
    return into


def _install(source: Path, build: Path, directory: Path) -> None:
    """Copies the library and all headers; RocksDB's own install leaves the internal ones out."""
    include, lib = directory / "include", directory / "lib"
    for folder in (include, lib):
        if folder.exists():
            shutil.rmtree(folder)
    lib.mkdir()
    shutil.copy(build / "librocksdb.a", lib)
    for folder in _HEADER_FOLDERS:
        target = include if folder == "include" else include / folder
        for header in (source / folder).rglob("*.h"):
            place = target / header.relative_to(source / folder)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(header, place)
    (lib / "definitions").write_text("\n".join(_definitions(build)) + "\n", encoding="utf-8")
    (directory / ".complete").touch()


def _definitions(build: Path) -> list[str]:
    """The macros the library was compiled with: internal headers need the very same."""
    ninja = (build / "build.ninja").read_text(encoding="utf-8")
    lines = re.findall(r"(?m)^  (?:DEFINES|FLAGS) = (.*)$", ninja)
    flags = {flag for line in lines for flag in line.split() if flag.startswith("-D")}
    return sorted(flag.removeprefix("-D") for flag in flags)
