# SPDX-License-Identifier: GPL-2.0-only
"""The errors a user is meant to read: shown as one message, without a stack trace."""


class CairnError(Exception):
    """Something the user can act on; the text says what and how."""
