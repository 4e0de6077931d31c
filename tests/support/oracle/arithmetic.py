"""Numbers that do not round: exact rationals, and balls of 300 bits where a logarithm appears.

Every parameter is read from its decimal text, so a limit written 0.1 is one tenth and not the double
nearest to it. Scores become floats in the very last step, correctly rounded; two scores that are equal
in mathematics are then equal as floats, and a tie is a tie.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from flint import arb, ctx, fmpq

Number = int | float | str | Decimal | Fraction
Real = Fraction | arb

BITS = 300


def exact(number: Number) -> Fraction:
    """Return the rational that the decimal text of a number says."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


def ball(number: Real | int) -> arb:
    """Return a ball around a number, at the current precision."""
    if isinstance(number, arb):
        return number
    fraction = Fraction(number)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def sign(difference: Callable[[], arb], zero: Callable[[], bool] = lambda: False) -> int:
    """Return the sign of a difference, refining its ball until it shows.

    zero decides exactly whether the difference vanishes; it is asked only when a precise ball leaves it open.
    Without it the difference must be known not to vanish.
    """
    for bits in (64, 256, 1024, 4096, 16384):
        with ctx.workprec(bits):
            value = difference()
        if value > 0:
            return 1
        if value < 0:
            return -1
        if bits == 256 and zero():
            return 0
    raise ArithmeticError("zero, or indistinguishable from it")


def middle(value: arb) -> Fraction:
    """Return the midpoint of a ball."""
    mantissa, exponent = value.mid().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def as_float(value: Real | float) -> float:
    """Round correctly to a double; what is a double already (infinity) stays."""
    return float(middle(value) if isinstance(value, arb) else value)


def truncate(value: Real) -> Fraction:
    """Return floor(x * 10^10) / 10^10, of the exact value.

    A ball that holds an integer multiple of 10^-10 is taken to be that multiple: at 300 bits nothing else
    gets so close. Difference from ARX: there x is a double, so 0.325 can become 0.3249999999.
    """
    if isinstance(value, Fraction):
        return Fraction(value * 10**10 // 1, 10**10)
    scaled = value * 10**10
    nearest = round(middle(scaled))
    whole = nearest if scaled.contains(nearest) else middle(scaled) // 1
    return Fraction(whole, 10**10)


def log2(ratio: Fraction) -> arb:
    """Return the binary logarithm at the working precision."""
    return ball(ratio).log() / arb(2).log()
