# SPDX-License-Identifier: GPL-2.0-only
"""The package behind `./cairn`: one module per subcommand, standard library only."""
