# SPDX-License-Identifier: GPL-2.0-only
"""Group plugin: what ha_cairn.so shows to a process, and that it lives beside MyRocks in one."""

import re

from cairn_cli import paths, process
from cairn_cli.errors import CairnError
from cairn_cli.group_report import Report
from cairn_cli.groups import Context
from cairn_cli.server import Server

# The plugin's own, and the pointers through which the server hands it services.
_ENTRY_SYMBOL = re.compile(r"^_(maria|mysql)_(plugin|sizeof)_\w+$|^[a-z0-9_]+_service$"
                           r"|^print_check_msg_context$")
_SANITIZED = ("asan", "tsan")


def run(context: Context, report: Report) -> None:
    """Two tests: symbols, and both engines at work."""
    plugin = paths.plugin(context.build_type)
    if not plugin.exists():
        report.failed("plugin", f"{plugin} was not built")
        return
    report.check("exported symbols", exported_beyond_entry(process.capture(
        ["nm", "-D", "--defined-only", plugin])))
    if context.build_type in _SANITIZED:
        report.skipped("beside MyRocks", "MyRocks is not built for sanitizers")
        return
    report.check("beside MyRocks", _beside_myrocks(context))


def exported_beyond_entry(listing: str) -> list[str]:
    """Symbols in nm's listing that are none of the entry symbols."""
    names = [line.split()[-1] for line in listing.splitlines() if line.strip()]
    return [name for name in names if not _ENTRY_SYMBOL.match(name)]


def _beside_myrocks(context: Context) -> list[str]:
    server = Server(f"plugin-{context.build_type}", context.build_type)
    server.remove()
    script = "".join(
        f"create table {engine} (a int primary key, b varchar(20), key(b)) engine={engine};"
        f"insert into {engine} values (1,'one'),(2,'two');"
        f"update {engine} set b='three' where a=2;"
        for engine in ("cairn", "rocksdb"))
    check = ("select group_concat(a,b order by b separator ' ') from cairn union all"
             " select group_concat(a,b order by b separator ' ') from rocksdb")
    try:
        server.start(["--plugin-load-add=ha_rocksdb.so", "--rocksdb-block-cache-size=16M"])
        server.query(f"create database t; use t; {script}")
        before = server.query(check, "t")
        server.stop()
        server.start(["--plugin-load-add=ha_rocksdb.so", "--rocksdb-block-cache-size=16M"])
        after = server.query(check, "t")
    except CairnError as error:
        return [*str(error).splitlines(), *server.log_tail().splitlines()]
    finally:
        server.remove()
    wanted = "1one 2three\n1one 2three\n"
    return [] if before == after == wanted else [f"before restart: {before}", f"after: {after}"]
