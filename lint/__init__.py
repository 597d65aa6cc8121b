# SPDX-License-Identifier: GPL-2.0-only
"""The house rules that a program can check: each rule_*.py has check(root) -> problems."""
