# SPDX-License-Identifier: GPL-2.0-only
"""The engines that can be compared, and good stated settings for each under one memory budget."""

import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cairn_cli.errors import CairnError

_MIB = 1 << 20
# What a server needs beside its engine's cache: code, connections, transactions, compactions; and, where files are read
# through it, a page cache. InnoDB passes that by: what is left to it there, it would not use.
_BESIDE_CACHE_BYTES = 224 * _MIB
_BESIDE_POOL_BYTES = 144 * _MIB
_CACHE_SHARE = 0.7
_CACHE_BYTES_MIN = 16 * _MIB
# Where data are larger than memory: Cairn's own default, DefaultMemoryBytes() in src/engine/memory.cc.
_BESIDE_SMALL_CACHE_BYTES = 256 * _MIB
_SMALL_CACHE_BYTES_MIN = 32 * _MIB


@dataclass(frozen=True)
class Engine:
    """One engine, or one way of using it."""

    name: str  # on the command line: "cairn", "innodb", "innodb-compressed", …
    client_name: str  # in ENGINE=…: "CAIRN", "InnoDB", "ROCKSDB"
    table_options: str = ""  # SQL appended to CREATE TABLE, e.g. "ROW_FORMAT=COMPRESSED …"
    # What counts as the database, relative to the data folder; empty: the databases' own folders.
    database_files: tuple[str, ...] = ()
    plugin: str = ""  # the file a server loads the engine from
    options: tuple[str, ...] = ()  # of the server, after those of server_options
    variant_of: str = ""  # the name of the engine that this is with other options
    # Its cache is small: the data are larger than memory, and compressed in the page cache that it reads through.
    small_cache: bool = False

    @property
    def kind(self) -> str:
        """The engine's name, also of a variant."""
        return self.variant_of or self.name


ENGINES: dict[str, Engine] = {engine.name: engine for engine in (
    Engine("cairn", "CAIRN", "", ("#cairn",), "ha_cairn.so"),
    Engine("innodb", "InnoDB"),
    Engine("innodb-compressed", "InnoDB", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"),
    Engine("innodb-page-compressed", "InnoDB", "PAGE_COMPRESSED=1"),
    Engine("myrocks", "ROCKSDB", "", ("#rocksdb",), "ha_rocksdb.so"),
)}

# Of workloads that need no server.
NONE = Engine("rocksdb", "")


def parse(text: str, variants: Iterable[str] = ()) -> tuple[Engine, ...]:
    """Reads a list such as cairn,innodb. A variant is an engine with more options of the server, as
    "big-blocks=cairn --cairn-memory=1G …"; the list names it like any other."""
    known = dict(ENGINES)
    for variant in variants:
        engine = _variant(variant)
        if engine.name in known:
            raise CairnError(f"--variant {variant}: there is an engine {engine.name} already")
        known[engine.name] = engine
    names = [name for name in text.split(",") if name]
    if unknown := [name for name in names if name not in known]:
        raise CairnError(f"no such engine: {' '.join(unknown)} (there are: {' '.join(known)})")
    if not names or len(set(names)) != len(names):
        raise CairnError(f"--engines {text}: name each engine once, at least one")
    if unused := [name for name in known if name not in ENGINES and name not in names]:
        raise CairnError(f"--variant: --engines does not name {' '.join(unused)}")
    return tuple(known[name] for name in names)


def _variant(text: str) -> Engine:
    name, _, rest = text.partition("=")
    try:
        kind, *options = shlex.split(rest)
    except ValueError:
        kind, options = "", []
    if kind not in ENGINES or not options or not re.fullmatch(r"[a-z0-9][a-z0-9-]*", name):
        raise CairnError(f"--variant {text}: no NAME=ENGINE OPTION… (a name of a-z, 0-9 and -; of {' '.join(ENGINES)};"
                         " options of the server)")
    return replace(ENGINES[kind], name=name, options=tuple(options), variant_of=kind)


def for_large_data(engines: Iterable[Engine]) -> tuple[Engine, ...]:
    """The engines as they are used with data that are larger than memory.

    Those that read through the page cache have a small one of their own.
    """
    return tuple(replace(engine, small_cache=engine.kind in ("cairn", "myrocks")) for engine in engines)


def check_installed(engines: Sequence[Engine], plugin_directory: Path) -> None:
    """Raises CairnError for an engine whose plugin the private server lacks."""
    for engine in engines:
        if engine.plugin and not (plugin_directory / engine.plugin).exists():
            raise CairnError(f"{engine.name} is not installed: {plugin_directory} has no {engine.plugin}"
                             " (./cairn setup and ./cairn build make the private server)")


def cache_bytes(memory_bytes: int, engine: Engine) -> int:
    """The engine's cache under a memory limit, the same for all where there is plenty.

    70 % of the limit, or what is left beside the rest of the server, if that is less: 224 MiB, with InnoDB 144. A small
    cache: a third of what the limit is beyond 256 MiB, at least 32 MiB.
    """
    if engine.small_cache:
        return max(_SMALL_CACHE_BYTES_MIN, (memory_bytes - _BESIDE_SMALL_CACHE_BYTES) // 3 // _MIB * _MIB)
    beside = _BESIDE_POOL_BYTES if engine.client_name == "InnoDB" else _BESIDE_CACHE_BYTES
    share = min(int(memory_bytes * _CACHE_SHARE), memory_bytes - beside)
    return max(_CACHE_BYTES_MIN, share // _MIB * _MIB)


def server_options(engine: Engine, *, memory_bytes: int, flush_setting: int,
                   direct_writes: bool = False) -> list[str]:
    """The server's command line for an engine. `direct_writes`: flushes and compactions of an LSM
    go past the page cache, as InnoDB's page writes do anyway. A variant's own come last."""
    return [*_server_options(engine, memory_bytes, flush_setting, direct_writes), *engine.options]


def _server_options(engine: Engine, memory_bytes: int, flush_setting: int, direct_writes: bool) -> list[str]:
    options = ["--skip-log-bin", "--performance-schema=OFF", "--max-connections=400"]
    cache = cache_bytes(memory_bytes, engine)
    if engine.client_name == "InnoDB":
        return options + _innodb(engine, cache, memory_bytes, flush_setting)
    # The server's own tables need little of InnoDB.
    options += ["--innodb-buffer-pool-size=8M", "--innodb-log-file-size=16M",
                "--innodb-log-buffer-size=2M"]
    if engine.kind == "cairn":
        options += [f"--cairn-memory={cache}", f"--cairn-flush-log-at-trx-commit={flush_setting}"]
        if direct_writes:
            options.append("--cairn-expert-db-options=use_direct_io_for_flush_and_compaction=true")
        return options
    memtables = cache_bytes(memory_bytes, replace(engine, small_cache=False)) // 5
    return options + _myrocks(cache, memtables, flush_setting, direct_writes)


def _innodb(engine: Engine, cache: int, memory_bytes: int, flush_setting: int) -> list[str]:
    """For flash, as the published results: O_DIRECT, doublewrite, no neighbours, a large redo log."""
    log_bytes = min(max(memory_bytes, 256 * _MIB), 4096 * _MIB)
    options = [f"--innodb-buffer-pool-size={cache}",
               f"--innodb-flush-log-at-trx-commit={flush_setting}",
               f"--innodb-log-file-size={log_bytes}", "--innodb-flush-method=O_DIRECT",
               "--innodb-flush-neighbors=0", "--innodb-io-capacity=2000",
               "--innodb-io-capacity-max=10000", "--innodb-doublewrite=ON",
               # After a restart nothing is read in the background of a measured step.
               "--innodb-buffer-pool-dump-at-shutdown=OFF",
               "--innodb-buffer-pool-load-at-startup=OFF"]
    if engine.kind == "innodb-page-compressed":
        options += ["--innodb-compression-algorithm=zlib", "--innodb-compression-level=6"]
    return options


def _myrocks(cache: int, memtables: int, flush_setting: int, direct_writes: bool) -> list[str]:
    """As its authors' published my.cnf, with today's compression (LZ4, Zstandard at the bottom)
    in place of zlib, which they found better, and a bound on all memtables. Its memory beside the
    block cache is not bounded, so the block cache takes two thirds of what the others have."""
    family = ";".join((
        "write_buffer_size=32m", "max_write_buffer_number=4", "target_file_size_base=32m",
        "max_bytes_for_level_base=256m", "level_compaction_dynamic_level_bytes=true",
        "level0_file_num_compaction_trigger=4", "level0_slowdown_writes_trigger=10",
        "level0_stop_writes_trigger=15", "compression=kLZ4Compression",
        "compression_per_level=kNoCompression:kNoCompression:kNoCompression:kLZ4Compression",
        "bottommost_compression=kZSTD", "optimize_filters_for_hits=true",
        "prefix_extractor=capped:12", "compaction_pri=kMinOverlappingRatio",
        "block_based_table_factory={cache_index_and_filter_blocks=1;block_size=8192;"
        "filter_policy=bloomfilter:10:false;whole_key_filtering=1;format_version=5}"))
    return ["--plugin-load-add=ha_rocksdb.so", "--default-storage-engine=InnoDB",
            "--transaction-isolation=READ-COMMITTED",
            f"--rocksdb-block-cache-size={cache * 2 // 3}",
            f"--rocksdb-db-write-buffer-size={memtables}",
            f"--rocksdb-flush-log-at-trx-commit={flush_setting}",
            "--rocksdb-max-background-jobs=2", "--rocksdb-max-subcompactions=1",
            "--rocksdb-rate-limiter-bytes-per-sec=0", "--rocksdb-bytes-per-sync=1048576",
            "--rocksdb-wal-bytes-per-sync=1048576", "--rocksdb-max-open-files=-1",
            "--rocksdb-use-direct-io-for-flush-and-compaction=" + ("ON" if direct_writes else "OFF"),
            f"--rocksdb-default-cf-options={family}"]
