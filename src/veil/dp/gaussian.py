"""Gaussian noise with the least standard deviation that a budget allows, drawn exactly.

Noise N(0, s^2) on a number of sensitivity D is (epsilon, delta)-differentially private if and only if

    Phi(D / 2s - epsilon s / D) - e^epsilon Phi(-D / 2s - epsilon s / D) <= delta

(Balle and Wang 2018, theorem 8), and D^2 / 2s^2-zCDP (Bun and Steinke 2016). Values are rounded to a grid,
and so is the noise: their sum is the rounded result of the real mechanism on the rounded value, and private
for the sensitivity on the grid. The rounded noise is j steps or more, up or down, with the probability
erfc((j - 1/2) / (s sqrt 2)), which ball arithmetic computes as precisely as a draw needs it.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, ClassVar

from veil.base.exact import ball, is_at_most
from veil.dp.grid import positive
from veil.dp.noise import Noise
from veil.dp.symbolic import Readable, Symbolic, enclosure
from veil.errors import ParameterError

if TYPE_CHECKING:
    from flint import arb

_ACCURACY = 2.0**-44
"""Largest relative excess of the standard deviation over the least one."""


class Gaussian(Noise):
    """Gaussian noise: (epsilon, delta)-differentially private, or, with `rho` in their place, rho-zCDP.

    For several numbers at once, the sensitivity is the Euclidean distance, and each gets independent noise.

    >>> round(Gaussian(1, 1, "1e-6").sigma, 4)  # by way of zCDP 4.53
    4.2247
    >>> round(Gaussian(1, rho="1/2").sigma, 6)
    1.000001
    """

    name: ClassVar[str] = "gaussian"

    def __init__(
        self,
        sensitivity: Readable | None,
        epsilon: Readable | None = None,
        delta: Readable | None = None,
        *,
        rho: Readable | None = None,
        numbers: int = 1,
        whole: bool = False,
        grid: int | None = None,
    ) -> None:
        super().__init__(sensitivity, whole=whole, grid=grid)
        if rho is None:
            factor = least_factor(positive(epsilon), _below_one(positive(delta, "delta")))
        elif epsilon is not None or delta is not None:
            raise ParameterError("`rho` replaces `epsilon` and `delta`: leave them out")
        else:
            factor = _inverse_root(2 * positive(rho, "rho"))
        self.deviation = factor * self._reach(numbers)
        """The standard deviation in steps of the grid, as a rational number."""

    def _reach(self, numbers: int) -> Fraction:
        """Return the sensitivity on the grid: rounding moves each number by half a step on either side."""
        high = enclosure(lambda bits: self.sensitivity.ball())[1] / self.grid.step
        return high if self.grid.is_exact else high + Fraction(math.isqrt(numbers - 1) + 1)

    def tail(self, steps: int) -> arb:
        if steps <= 0:
            return ball(1)
        return (ball(Fraction(2 * steps - 1, 2)) / (ball(self.deviation) * ball(2).sqrt())).erfc()

    def guess(self, chance: float) -> float:
        return float(self.deviation) * NormalDist().inv_cdf(1 - chance / 2) if chance > 1e-15 else 0.0

    @property
    def sigma(self) -> float:
        """The standard deviation."""
        return float(self.deviation * self.grid.step)

    @property
    def variance(self) -> float:
        return self.sigma**2

    @property
    def mean_absolute_error(self) -> float:
        return self.sigma * math.sqrt(2 / math.pi)


@functools.lru_cache(maxsize=256)
def least_factor(epsilon: Symbolic, delta: Fraction) -> Fraction:
    """Return the least standard deviation for a sensitivity of 1, rounded up: bisection, decided in balls.

    >>> budget = (Symbolic.read(1), Fraction(1, 10**6))
    >>> keeps(least_factor(*budget), *budget), keeps(least_factor(*budget) * Fraction("0.999999"), *budget)
    (True, False)
    """
    low, high = Fraction(0), Fraction(1)
    while not keeps(high, epsilon, delta):
        low, high = high, 2 * high
    while low == 0 and keeps(high / 2, epsilon, delta):
        high = high / 2
    low = low or high / 2
    while float(high - low) > _ACCURACY * float(high):
        middle = (low + high) / 2
        low, high = (low, middle) if keeps(middle, epsilon, delta) else (middle, high)
    return high


def keeps(factor: Fraction, epsilon: Symbolic, delta: Fraction) -> bool:
    """Return whether a standard deviation is (epsilon, delta)-private at sensitivity 1; False in doubt."""

    def excess(bits: int) -> arb:
        rate, root = epsilon.ball(), ball(2).sqrt()
        half, shift = ball(1 / (2 * factor)), rate * ball(factor)
        first: arb = ((shift - half) / root).erfc() / 2
        return first - rate.exp() * ((shift + half) / root).erfc() / 2

    return is_at_most(excess, delta)


def _inverse_root(number: Symbolic) -> Fraction:
    """Return 1 / sqrt(number), rounded up."""
    return enclosure(lambda bits: 1 / number.ball().sqrt())[1]


def _below_one(delta: Symbolic) -> Fraction:
    if not delta < Symbolic(Fraction(1)):
        raise ParameterError(f"`delta` should be below 1, not {delta}")
    return enclosure(lambda bits: delta.ball())[0] if delta.logarithms else delta.rational
