# SPDX-License-Identifier: GPL-2.0-only
"""MariaDB's own test suites against an engine, and our suite, in an assembled tree of links."""
