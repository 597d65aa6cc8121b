# SPDX-License-Identifier: GPL-2.0-only
"""How far the medians of two runs of one benchmark may lie apart by chance alone."""

import statistics
from collections.abc import Sequence

# Of 2, 3, … 10 normally distributed values in each of two runs: |difference of the medians| / mean of the ranges is
# below this in 99 of 100 cases. It is Lord's test ("The use of range in place of standard deviation in the t-test",
# Biometrika 34, 1947) with medians instead of means; from a simulation, which the tests repeat.
_FACTORS = (7.95, 2.23, 1.29, 1.00, 0.79, 0.70, 0.59, 0.54, 0.48)


def spread(least: float, greatest: float, count: int) -> float:
    """In the values' unit: the median of as many values of another run is expected no farther away.

    The range of the values, times a factor that falls with their number: two values know next to nothing of the noise.
    `count` is 2 or more; beyond 10 it is somewhat too large.
    """
    return _FACTORS[min(count, len(_FACTORS) + 1) - 2] * (greatest - least)


def relative_spread(values: Sequence[float], resolution: float = 0.0) -> float | None:
    """The spread over the median. None for a single value, which cannot tell, or where the median is 0.

    `resolution`: relative; values that differ by less than this are told as the same, so it adds to their range.
    """
    middle = abs(statistics.median(values))
    if len(values) < 2 or not middle:
        return None
    return spread(min(values), max(values) + resolution * middle, len(values)) / middle
