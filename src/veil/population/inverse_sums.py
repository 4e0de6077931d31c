"""Sums of inverses for the estimators, in compiled arithmetic that never raises.

The equations of super-population models contain sums such as 1/(x+1) + 1/(x+2) + ... over as many terms as
there are records. Written with digamma functions they are differences of nearly equal numbers. Here terms of
a small denominator are added one by one, the rest by the difference of two asymptotic series whose leading
terms are joined in one logarithm. Nothing cancels, and long sums cost as much as short ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from veil.base.compiled import numeric

Function = TypeVar("Function", bound=Callable[..., Any])


_SERIES_FROM = 12.0
"""Argument from which the asymptotic series are exact to 2e-15."""

_FEW = 6
"""Number of terms that are added faster one by one."""


@numeric
def inverse_sums(x: float, count: int) -> tuple[float, float]:
    """Return the sums of 1/(x+j) and of 1/(x+j)² for j from 0 to count - 1; x may be any number.

    Both are NaN if a term is infinite.

    >>> [round(each, 12) for each in inverse_sums(1.0, 4)]  # 1 + 1/2 + 1/3 + 1/4, and of squares
    [2.083333333333, 1.423611111111]
    >>> [round(each, 12) for each in inverse_sums(-1.5, 3)]  # -2/3 - 2 + 2
    [-0.666666666667, 8.444444444444]
    """
    if count <= 0:
        return 0.0, 0.0
    if x > 0.0:
        return _above_zero(x, count)
    last = x + (count - 1)
    if last < 0.0:
        plain, squared = _above_zero(-last, count)
        return -plain, squared
    negative = np.floor(-x)  # x + negative is the last term that is not positive
    if not x + negative < 0.0:  # a pole, or x is not a number
        return math.nan, math.nan
    below, below_squared = _above_zero(-(x + negative), int(negative) + 1)
    above, above_squared = _above_zero(x + negative + 1.0, count - int(negative) - 1)
    return above - below, above_squared + below_squared


@numeric
def _above_zero(x: float, count: int) -> tuple[float, float]:
    plain = squared = 0.0
    while count > 0 and (x < _SERIES_FROM or count <= _FEW):
        inverse = 1.0 / x
        plain += inverse
        squared += inverse * inverse
        x += 1.0
        count -= 1
    if count > 0:
        p, q = 1.0 / x, 1.0 / (x + count)
        gap = count * p * q  # p - q
        y, z = p * p, q * q
        plain += math.log1p(count * p) + 0.5 * gap + (_digamma_tail(y) - _digamma_tail(z))
        squared += gap + 0.5 * (y - z) + (p * _trigamma_tail(y) - q * _trigamma_tail(z))
    return plain, squared


@numeric
def _digamma_tail(y: float) -> float:
    """Return ln x - 1/(2x) - digamma(x) for y = 1/x²."""
    return y * (1.0 / 12.0 - y * (1.0 / 120.0 - y * (1.0 / 252.0 - y * (1.0 / 240.0 - y * (1.0 / 132.0)))))


@numeric
def _trigamma_tail(y: float) -> float:
    """Return x (trigamma(x) - 1/x - 1/(2x²)) for y = 1/x²."""
    return y * (1.0 / 6.0 - y * (1.0 / 30.0 - y * (1.0 / 42.0 - y * (1.0 / 30.0 - y * (5.0 / 66.0)))))
