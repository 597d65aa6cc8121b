# SPDX-License-Identifier: GPL-2.0-only
"""python3 -m crash: the crash group by hand; `--help` tells the rest."""

import sys

from .command import main

sys.exit(main())
