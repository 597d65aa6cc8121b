# SPDX-License-Identifier: GPL-2.0-only
"""The micro-benchmarks of workload oltp, in the order in which they run.

The order and the names are those of the published runs (bench/oltp/README.md): some reads, the writes
that fragment the tables, a pause, the reads, and last what changes the number of rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

_READ_ONLY = {"point_selects": 0, "simple_ranges": 0, "sum_ranges": 0, "order_ranges": 0,
              "distinct_ranges": 0, "skip_trx": True, "range_size": 1000}


@dataclass(frozen=True)
class Line:
    """One micro-benchmark: a script and its options."""

    name: str
    script: str
    options: Mapping[str, object] = field(default_factory=dict)
    family: str = "point"  # "point" | "range" | "aggregate" | "write"
    restores: str = ""  # SQL that brings the number of rows back; "@" is the table, "#" its rows


def _points(name: str, **options: object) -> Line:
    return Line(name, "points.lua", options)


def _ranges(name: str, **options: object) -> Line:
    return Line(name, "ranges.lua", options, "range")


def _write(name: str, script: str, **options: object) -> Line:
    return Line(name, script, options, "write")


def _read_only(name: str, kind: str) -> Line:
    return Line(name, "oltp_read_only", {**_READ_ONLY, f"{kind}_ranges": 1},
                "range" if kind == "simple" else "aggregate")


_C, _PAD = (f"CONCAT_WS('-', {', '.join(['LPAD(FLOOR(1e11 * RAND()), 11, 0)'] * groups)})"
            for groups in (10, 5))  # groups of digits, as sysbench writes them
_FILL_GAPS = (f"INSERT INTO sbtest@ (id, k, c, pad) SELECT seq, FLOOR(1 + # * RAND()), {_C}, {_PAD}"
              " FROM seq_1_to_# LEFT JOIN sbtest@ ON id = seq WHERE id IS NULL")
_DROP_TAIL = "DELETE FROM sbtest@ WHERE id > #"

LINES: tuple[Line, ...] = (
    Line("point-query-before", "oltp_point_select"),
    _ranges("range-notcovered-si-before", column="k", select="k, c"),
    _write("update-inlist", "update_inlist.lua", points=100),
    _write("update-index", "oltp_update_index"),
    _write("update-nonindex", "oltp_update_non_index"),
    _write("update-one", "oltp_update_non_index", table_size=1),
    _write("update-zipf", "update_zipf.lua"),
    _write("write-only", "oltp_write_only"),
    *(_write(f"read-write-{size}", "oltp_read_write", range_size=size) for size in (10, 100)),
    Line("scan", "scan.lua", family="range"),
    *(Line(f"read-only-{size}", "oltp_read_only", {"range_size": size}, "aggregate")
      for size in (10, 100, 10000)),
    *(_read_only(f"read-only-{kind}", kind) for kind in ("simple", "sum", "order", "distinct")),
    Line("read-only-count", "ranges.lua", {"select": "COUNT(c)", "span": 999}, "aggregate"),
    Line("point-query", "oltp_point_select"),
    *(_points(f"random-points-{count}", points=count) for count in (10, 100, 1000)),
    _points("hot-points-100", points=100, hot=True),
    _points("points-covered-pk", column="id", select="id"),
    _points("points-notcovered-pk", column="id", select="id, c"),
    _ranges("range-covered-pk", column="id", select="id"),
    _ranges("range-notcovered-pk", column="id", select="id, c"),
    _points("points-covered-si", column="k", select="k"),
    _points("points-notcovered-si", column="k", select="k, c"),
    _ranges("range-covered-si", column="k", select="k"),
    _ranges("range-notcovered-si", column="k", select="k, c"),
    Line("delete", "oltp_delete", family="write", restores=_FILL_GAPS),
    Line("insert", "oltp_insert", family="write", restores=_DROP_TAIL),
)
BY_NAME = {line.name: line for line in LINES}
# After the last of these the server may settle: the reads that follow find what the writes left.
LAST_BEFORE_PAUSE = "read-write-100"
