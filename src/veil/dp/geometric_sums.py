"""Sums of q^i P(i) over all whole numbers i >= 0, for a polynomial P and q = e^-epsilon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from veil.dp.symbolic import Symbolic


def falling_sum(values: Sequence[Any], q: Any, rest: Any) -> Any:
    """Return the sum of q^i P(i), given P(0), …, P(degree), and 1 - q.

    P(i) is the sum of its differences D_k(0) times i over k (Newton), and the sum of q^i times i over k is
    q^k / (1 - q)^(k + 1). For weights of noise all differences are positive, so nothing cancels out.

    >>> falling_sum([0, 1], 0.5, 0.5)  # 1/2 + 2/4 + 3/8 + …
    2.0
    """
    differences, row = [], list(values)
    while row:
        differences.append(row[0])
        row = [after - before for before, after in pairwise(row)]
    total, factor = 0 * q, 1 / rest
    for each in differences:
        total = total + each * factor
        factor = factor * q / rest
    return total


def fall_of(epsilon: Symbolic) -> tuple[float, float]:
    """Return e^-epsilon and 1 - e^-epsilon as doubles.

    >>> from veil.dp.symbolic import Symbolic
    >>> fall_of(Symbolic.read("ln(2)"))
    (0.5, 0.5)
    """
    rate = float(epsilon)
    return math.exp(-rate), -math.expm1(-rate)
