# SPDX-License-Identifier: GPL-2.0-only
"""Assembles what mysql-test-run.pl wants to see: one base directory with programs, plugins and tests.

Everything is a link into the private server's prefix, except what this project adds: the plugin,
the suite `cairn`, the overlay of `storage_engine`, the results of the yardstick, and the engine's name in results that
tell it.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
OWN_TESTS = REPOSITORY / "mysql-test"
YARDSTICK = OWN_TESTS / "yardstick"
SUITE = "storage_engine"
OVERLAY = OWN_TESTS / "plugin" / "cairn" / SUITE
OWN_SUITE = "cairn"
ENGINES = "engines"
# Its result has the name of the default engine, MyISAM, and a patch of it for a run with InnoDB.
NAMES_ENGINE, NAMES_INNODB = "rpl_alter.result", "rpl_alter,innodb.rdiff"
PARTS = ("", "trx", "parts")  # the suite's own folder and those inside it


@dataclass(frozen=True)
class Tree:
    base: Path

    @property
    def tests(self) -> Path:
        return self.base / "mysql-test"

    @property
    def yardstick_suite(self) -> Path:
        return self.tests / "suite" / SUITE


def assemble(base: Path, prefix: Path, plugin: Path | None, recording: bool = False) -> Tree:
    """Makes `base` anew. With `recording`, the suite storage_engine is a copy whose engine is
    InnoDB and whose results may be overwritten; otherwise its results are the yardstick's."""
    if base.exists():
        shutil.rmtree(base)
    plugins = base / "lib" / "mysql" / "plugin"
    plugins.mkdir(parents=True)
    for name in ("bin", "sbin", "share"):
        (base / name).symlink_to((prefix / name).resolve())
    _link_entries((prefix / "lib" / "mysql" / "plugin").resolve(), plugins)
    if plugin:
        (plugins / plugin.name).unlink(missing_ok=True)
        shutil.copy2(plugin, plugins)  # not a link: a build may go on meanwhile
    tree = Tree(base)
    packaged = (prefix / "mysql-test").resolve()
    _link_entries(packaged, tree.tests, without=("suite", "plugin", "var"))
    _link_entries(packaged / "suite", tree.tests / "suite", without=(SUITE, ENGINES))
    _link_entries(packaged / "plugin", tree.tests / "plugin")
    _link_engines(packaged / "suite" / ENGINES, tree, "InnoDB" if recording else "CAIRN")
    if recording:
        _copy_suite_for_innodb(packaged / "suite" / SUITE, tree)
        _copy_own_suite_for_innodb(tree)
    else:
        (tree.tests / "suite" / OWN_SUITE).symlink_to(OWN_TESTS / "suite" / OWN_SUITE)
        _link_suite_with_yardstick(packaged / "suite" / SUITE, tree)
        overlay = tree.tests / "plugin" / "cairn"
        overlay.mkdir()
        shutil.copytree(OVERLAY, overlay / SUITE)  # the runner writes patched results beside the .rdiff files
    return tree


def _link_entries(source: Path, target: Path, without: tuple[str, ...] = ()) -> None:
    """Makes `target` a folder of links to what is in `source`, each to where it finally leads."""
    target.mkdir(parents=True, exist_ok=True)
    for entry in source.iterdir():
        if entry.name not in without and entry.exists():
            (target / entry.name).symlink_to(entry.resolve())


def _link_engines(packaged: Path, tree: Tree, engine: str) -> None:
    results = Path("funcs") / "r"
    suites = tree.tests / "suite" / ENGINES
    _link_entries(packaged, suites, without=("funcs",))
    _link_entries(packaged / "funcs", suites / "funcs", without=("r",))
    _link_entries(packaged / results, suites / results, without=(NAMES_ENGINE, NAMES_INNODB))
    text = (packaged / results / NAMES_ENGINE).read_text(encoding="latin-1")
    (suites / results / NAMES_ENGINE).write_text(text.replace("ENGINE=MyISAM", f"ENGINE={engine}"), encoding="latin-1")


def _link_suite_with_yardstick(packaged: Path, tree: Tree) -> None:
    for part in PARTS:
        # Tests disabled for their stored results are as good as any other with recorded ones.
        _link_entries(packaged / part, tree.yardstick_suite / part, without=(*PARTS[1:], "disabled.def"))
        for recorded in (YARDSTICK / part).glob("*.result"):
            link = tree.yardstick_suite / part / recorded.name
            link.unlink(missing_ok=True)
            shutil.copy(recorded, link)  # patch(1) refuses links


def _copy_suite_for_innodb(packaged: Path, tree: Tree) -> None:
    shutil.copytree(packaged, tree.yardstick_suite)
    engine = tree.yardstick_suite / "define_engine.inc"
    text = engine.read_text()
    engine.write_text(text.replace("# let $ENGINE =;", "let $ENGINE = InnoDB;"))
    for part in PARTS:
        options = (packaged.parents[1] / "plugin" / "innobase" / SUITE / part / "suite.opt").read_text()
        (tree.yardstick_suite / part / "suite.opt").write_text(options)
        (tree.yardstick_suite / part / "disabled.def").write_text("")
    for single in (packaged.parents[1] / "plugin" / "innobase" / SUITE).glob("*.opt"):
        if single.name != "suite.opt":
            shutil.copy(single, tree.yardstick_suite)


def _copy_own_suite_for_innodb(tree: Tree) -> None:
    suite = tree.tests / "suite" / OWN_SUITE
    shutil.copytree(OWN_TESTS / "suite" / OWN_SUITE, suite)
    (suite / "suite.opt").write_text("--innodb --sequence --partition --default-storage-engine=innodb\n")
    (suite / "suite.pm").unlink()


def writable_memory() -> Path:
    """A folder on a memory file system where there is one, for servers' data."""
    memory = Path("/dev/shm")
    return memory if os.access(memory, os.W_OK) else Path(os.environ.get("TMPDIR", "/tmp"))
