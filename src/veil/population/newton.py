"""Newton steps and restarts of the solvers for the Pitman and the SNB equations.

The limits are those of ARX 3.9.2 except its time limits (100 ms a try, 1 s in total), which make borderline
results depend on the machine. They decide which estimates exist, so they are part of the definition.
"""

from __future__ import annotations

import math

import numpy as np

from veil.base.compiled import numeric

ACCURACY = 1e-6
"""Largest residual of both equations at a root."""

ITERATIONS = 1000
"""Steps after which a try is given up."""

RESTARTS = np.array([(x, y) for x in (0.0, 0.33, 0.66, 0.99) for y in (0.0, 0.33, 0.66, 0.99)])
"""Starting points of further tries, in order. The last one gets a single step."""

TRIES = len(RESTARTS) + 1


@numeric
def is_root(first: float, second: float) -> bool:
    """Return whether two residuals are zero within the accuracy."""
    return abs(first) <= ACCURACY and abs(second) <= ACCURACY


@numeric
def step(
    x: float, y: float, first: float, second: float, a: float, b: float, c: float, d: float
) -> tuple[float, float, bool]:
    """Return the point after a Newton step with slopes ((a, b), (c, d)), and whether it is finite."""
    determinant = a * d - b * c
    x -= (d * first - b * second) / determinant
    y -= (a * second - c * first) / determinant
    return x, y, math.isfinite(x) and math.isfinite(y)
