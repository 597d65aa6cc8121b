# SPDX-License-Identifier: GPL-2.0-only
"""`./cairn bench`: workloads on several engines under stated conditions, measured exactly."""

from cairn_cli.bench.command import HELP, add_arguments, run

__all__ = ["HELP", "add_arguments", "run"]
