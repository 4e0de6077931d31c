"""Sums of floats over the classes of a node that do not depend on their order, to the last bit.

Classes are in the order of their rows, which differs between a table in memory and in an engine. A running
sum would differ in its last bits, and for two nearly equal nodes also the choice between them.

So terms are rounded to multiples of a unit, and remainders to multiples of a much smaller one; whole numbers
add up exactly. The units follow from the largest term and the number of terms. For a million terms the second
is 2^-102 of the largest: the error is less than that of rounding the sum to a double.
"""

from __future__ import annotations

import math

import numpy as np

from veil.base.arrays import Floats, Integers
from veil.base.compiled import kernel

_BITS = 61
"""Bits of the sums, so that neither sign nor carry overflow."""


def sum_in_any_order(terms: Floats) -> float:
    """Return the sum of up to two billion terms, exact for whole numbers if no sum of them exceeds 2^53.

    >>> sum_in_any_order(np.array([0.1] * 10)), sum_in_any_order(np.array([1e16, 1.0, -1e16]))
    (1.0, 1.0)
    """
    total: float = _sum(terms, terms.view(np.int64))
    return total


@kernel
def _sum(terms: Floats, patterns: Integers) -> float:
    """Return the sum of terms; `patterns` are their bits, which without the sign order absolute values."""
    largest = np.int64(0)
    for pattern in patterns:
        largest = max(largest, pattern & 0x7FFFFFFFFFFFFFFF)
    exponent = int(largest >> 52)
    if exponent == 2047:  # a term is infinite, and so is the sum
        return float(np.sum(terms))
    bits = 1
    while terms.size >> bits:
        bits += 1
    # Every term is below 2^(exponent - 1022), all together are below that times 2^bits.
    places = min(1000, _BITS - bits + 1022 - exponent)
    scale = math.ldexp(1.0, places)
    further = math.ldexp(1.0, _BITS - bits)
    whole = rest = np.int64(0)
    for term in terms:
        scaled = term * scale
        number = np.int64(scaled)
        whole += number
        rest += np.int64((scaled - number) * further)
    return math.ldexp(float(whole), -places) + math.ldexp(float(rest), -places - _BITS + bits)
