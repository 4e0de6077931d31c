"""Numbers on a grid, so that results are whole numbers of steps, drawn exactly.

Noise that is computed in doubles gives values away: some doubles can be a result for one value and not for
its neighbour (Mironov 2012). Here values are rounded to multiples of 2^-g, noise is a whole number of steps
of that size from a distribution on all whole numbers, and their sum is exact. The argument, for a mechanism
on whole numbers that is private for shifts by at most s steps:

- values that are at most D apart are, after rounding to the nearest step, at most D/step + 1 steps apart, and
  as that is a whole number, at most s = floor(D/step) + 1. The sensitivity grows by one step, and no more;
- every whole number is a possible result for each of them, so the sets of possible results are the same;
- probabilities are those of the proof, since draws are exact (`veil.dp.draws`);
- turning the result into a double is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from veil.dp.symbolic import Readable, Symbolic, enclosure
from veil.errors import ParameterError

_FINENESS = 20
"""By default a step is about the sensitivity, divided by 2 to this power."""

_LARGEST_EXPONENT = 1000


@dataclass(frozen=True)
class Grid:
    """The multiples of `step`. `is_exact` if values are on it already, and need not be rounded.

    >>> grid = Grid.fine_enough_for(Symbolic.read(1), exponent=3)
    >>> grid.step, grid.nearest(0.3), grid.reach(Symbolic.read(1))
    (Fraction(1, 8), 2, 9)
    """

    step: Fraction
    is_exact: bool = False

    @classmethod
    def whole_numbers(cls) -> Grid:
        """Return the grid of values that are whole numbers."""
        return cls(Fraction(1), is_exact=True)

    @classmethod
    def fine_enough_for(cls, sensitivity: Symbolic, exponent: int | None = None) -> Grid:
        """Return the multiples of 2^-exponent; by default of about a millionth of the sensitivity."""
        if exponent is None:
            exponent = _FINENESS - math.floor(math.log2(float(sensitivity)))
        if exponent not in range(-_LARGEST_EXPONENT, _LARGEST_EXPONENT + 1):
            raise ParameterError(
                f"`grid` should be a whole number g from -1000 to 1000, for steps of 2^-g, not {exponent!r}"
            )
        return cls(Fraction(2) ** -int(exponent))

    def reach(self, sensitivity: Symbolic) -> int:
        """Return the sensitivity in steps, rounded up."""
        high = (
            enclosure(lambda bits: sensitivity.ball())[1] if sensitivity.logarithms else sensitivity.rational
        )
        if not self.is_exact:
            return math.floor(high / self.step) + 1
        if high.denominator != 1:
            raise ParameterError(
                f"`sensitivity` of whole numbers should be a whole number, not {sensitivity}"
            )
        return int(high)

    def nearest(self, value: Any) -> int:
        """Return a value in steps, rounded to the nearest; the division before is exact."""
        number = exact_value(value)
        if self.is_exact and number.denominator != 1:
            raise ParameterError(f"`value` should be a whole number, not {value!r}")
        return round(number / self.step)

    def value(self, steps: int) -> float | int:
        """Return the number that is so many steps."""
        return steps if self.is_exact else float(steps * self.step)


def exact_value(value: Any, name: str = "value") -> Fraction:
    """Return the rational number that a finite number is.

    >>> exact_value(0.5), exact_value(3)
    (Fraction(1, 2), Fraction(3, 1))
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, int | float | Rational) or not math.isfinite(value):
        raise ParameterError(f"`{name}` should be a finite number, not {value!r}")
    return Fraction(value)


def positive(value: Readable | None, name: str = "epsilon") -> Symbolic:
    """Read a parameter that has to be finite and above 0."""
    if value is None:
        raise ParameterError(f"`{name}` is missing: give a number greater than 0")
    number = Symbolic.read(value, name)
    if number.sign() <= 0:
        raise ParameterError(f"`{name}` should be greater than 0, not {number}")
    return number


def probability(value: Readable, name: str = "delta") -> Fraction:
    """Read a probability that is rational, above 0 and below 1."""
    number = Symbolic.read(value, name)
    if number.logarithms or not 0 < number.rational < 1:
        raise ParameterError(f"`{name}` should be a number above 0 and below 1, not {number}")
    return number.rational
