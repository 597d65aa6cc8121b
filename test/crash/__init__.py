# SPDX-License-Identifier: GPL-2.0-only
"""Crash tests: kill the server under load or damage its files, then check what is left."""
