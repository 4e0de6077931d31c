"""What the solvers of the Pitman and the SNB equations share: one Newton step in the plane, and where to restart.

The limits are those of ARX 3.9.2 but for its clocks (100 ms a try, 1 s in total), which make its borderline
results depend on the machine. They decide which estimates exist, so they belong to the definition.
"""

from __future__ import annotations

import math

import numpy as np

from veil.base.compiled import numeric

ACCURACY = 1e-6
"""A point is a root if both equations are off by at most this."""

ITERATIONS = 1000
"""Steps after which a try is given up."""

RESTARTS = np.array([(x, y) for x in (0.0, 0.33, 0.66, 0.99) for y in (0.0, 0.33, 0.66, 0.99)])
"""Where to start again, in order. The last one gets a single step."""

TRIES = len(RESTARTS) + 1


@numeric
def is_root(first: float, second: float) -> bool:
    """Whether two residuals are as good as zero."""
    return abs(first) <= ACCURACY and abs(second) <= ACCURACY


@numeric
def step(
    x: float, y: float, first: float, second: float, a: float, b: float, c: float, d: float
) -> tuple[float, float, bool]:
    """Take a Newton step for the residuals and their slopes ((a, b), (c, d)); also tell whether it is finite."""
    determinant = a * d - b * c
    x -= (d * first - b * second) / determinant
    y -= (a * second - c * first) / determinant
    return x, y, math.isfinite(x) and math.isfinite(y)
