# SPDX-License-Identifier: GPL-2.0-only
"""Random statements on two engines in one server: results, counts and errors must be the same."""
