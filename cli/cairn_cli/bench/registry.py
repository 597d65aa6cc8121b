# SPDX-License-Identifier: GPL-2.0-only
"""The workloads by name."""

import importlib

from cairn_cli.bench.workload import Workload

NAMES = ("linkbench", "insert", "scan", "oltp", "ddl", "memtable")


def workload(name: str) -> Workload:
    """The workload of a name in NAMES."""
    return importlib.import_module(f"cairn_cli.bench.{name}").WORKLOAD
