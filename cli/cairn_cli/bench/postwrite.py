# SPDX-License-Identifier: GPL-2.0-only
"""The published micro-benchmarks' pause after writes: what is still to be put in its place is put there.

Source: `postwrite` of bench/sysbench.lua/run.sh in github.com/mdcallag/mytools; bench/oltp/README.md says what differs.
"""

from collections.abc import Callable

from cairn_cli.bench import sysbench
from cairn_cli.bench.sysbench_tables import Tables, settle
from cairn_cli.bench.workload import Target

# Dirty pages are written until there are next to none.
_INNODB_DIRTY = ("innodb_max_dirty_pages_pct_lwm", "innodb_max_dirty_pages_pct")
_INNODB_DIRTY_PERCENT = 1


def postwrite(target: Target, tables: Tables, progress: Callable[[str], None]) -> float:
    """Flushes and compacts the tables of an LSM engine, or writes InnoDB's dirty pages; then `settle`.

    Returns the seconds of `settle`. Raises CairnError when a statement fails.
    """
    if target.engine.client_name != "InnoDB":
        for number in tables.numbers():
            progress(f"flushing and compacting sbtest{number}")
            target.query(f"OPTIMIZE TABLE sbtest{number}", sysbench.DATABASE)
        return settle(target, tables, progress)
    before = [(name, target.query(f"SELECT @@GLOBAL.{name}").strip()) for name in _INNODB_DIRTY]
    for name in _INNODB_DIRTY:
        target.query(f"SET GLOBAL {name} = {_INNODB_DIRTY_PERCENT}")
    try:
        return settle(target, tables, progress)
    finally:
        for name, value in reversed(before):
            target.query(f"SET GLOBAL {name} = {value}")
