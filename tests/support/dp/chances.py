"""Probabilities of noise on whole numbers, by definition."""

from __future__ import annotations

from fractions import Fraction

from flint import ctx

from veil.base.exact import rational
from veil.dp.noise import Noise

LN2 = "ln(2)"


def chance(noise: Noise, steps: int) -> Fraction:
    """The probability of so many steps, from tails; exact but for 200 bits."""

    def tail(at: int) -> Fraction:
        return rational(noise.tail(at).mid())

    with ctx.workprec(300):
        both = tail(abs(steps)) - tail(abs(steps) + 1)
    return both / 2 if steps else both
