# SPDX-License-Identifier: GPL-2.0-only
"""A folder shaped like a MariaDB installation: the private prefix plus this checkout's plugin.

Only links, so it is made afresh whenever it is needed. It is also what mysql-test-run.pl runs
from, with this repository's suites beside the server's.
"""

import os
from pathlib import Path

from cairn_cli import dependencies, paths, process
from cairn_cli.errors import CairnError

_SUITES = paths.ROOT / "mysql-test"
_TSAN_SUPPRESSIONS = Path(__file__).with_name("tsan_suppressions.txt")


def prepare(build_type: str) -> Path:
    """Makes or refreshes the tree for a build type and returns it."""
    prefix = dependencies.require().prefix
    tree = paths.VAR / f"tree-{build_type}"
    tree.mkdir(parents=True, exist_ok=True)
    for name in ("bin", "sbin", "share"):
        _link(tree / name, prefix / name)
    plugins = {item.name: item for item in (prefix / "lib/mysql/plugin").iterdir()}
    plugins["ha_cairn.so"] = paths.plugin(build_type)
    _link_all(tree / "lib/mysql/plugin", plugins)
    _link_tests(tree / "mysql-test", prefix / "mysql-test")
    return tree


def plugin_directory(tree: Path) -> Path:
    """Where a server started from `tree` looks for plugins."""
    return tree / "lib/mysql/plugin"


def sanitizer_environment(build_type: str) -> dict[str, str]:
    """What a stock server needs in its environment to load a plugin built with a sanitizer.

    The server's headers poison freed arena memory when compiled into an instrumented plugin, and
    the server itself, not instrumented, never takes that back: so poisoning by hand is off.

    ThreadSanitizer must see the server's mutexes: handlers go from one connection to the next under
    them. What the server reads and writes through the C library is not looked at.
    """
    if build_type == "asan":
        return {
            "LD_PRELOAD": _runtime("libasan.so"),
            "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=1:disable_coredump=1:"
                            "allow_user_poisoning=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "print_stacktrace=1:abort_on_error=1",
        }
    if build_type == "tsan":
        return {
            "LD_PRELOAD": _runtime("libtsan.so"),
            "TSAN_OPTIONS": "ignore_interceptors_accesses=1:report_thread_leaks=0:"
                            f"suppressions='{_TSAN_SUPPRESSIONS}'",
        }
    return {}


def sanitizer_options(build_type: str) -> list[str]:
    """Server options for a sanitizer build.

    ThreadSanitizer leaves less address space to reserve, and keeps its own state on each stack.
    """
    if build_type != "tsan":
        return []
    return ["--innodb-buffer-pool-size-max=1G", "--thread-stack=4M"]


def _runtime(library: str) -> str:
    path = Path(process.capture(["g++", f"-print-file-name={library}"]).strip())
    if not path.is_absolute():
        raise CairnError(f"the compiler has no {library}")
    return str(path.resolve())


def _link_tests(tests: Path, packaged: Path) -> None:
    """The server's test folder with ours linked in; a suite of ours hides one of the same name."""
    separate = ("suite", "plugin")
    entries = {item.name: item for item in packaged.iterdir() if item.name not in separate}
    _link_all(tests, entries, keep=(*separate, "var"))
    for kind in separate:
        inside = {item.name: item for item in (packaged / kind).iterdir()}
        ours = _SUITES / kind
        if ours.is_dir():
            inside |= {item.name: item for item in ours.iterdir() if item.is_dir()}
        _link_all(tests / kind, inside)


def _link_all(directory: Path, entries: dict[str, Path], keep: tuple[str, ...] = ()) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for item in directory.iterdir():
        if item.name not in entries and item.name not in keep and item.is_symlink():
            item.unlink()
    for name, target in entries.items():
        _link(directory / name, target)


def _link(link: Path, target: Path) -> None:
    if link.is_symlink() and os.readlink(link) == str(target):
        return
    fresh = link.with_name(f".{link.name}.{os.getpid()}")
    fresh.symlink_to(target)
    fresh.replace(link)
