"""Exact comparisons, which never depend on rounding.

Four tools, from cheap to thorough:

* `largest_count` and `least_count` turn a share of the records into a number of them.
* `decimal_fraction` reads a parameter as the decimal number that was written: 0.1 is a tenth, although no double is.
* `largest_fraction` turns any threshold on a share f/n (f and n integers, n at most N) into an equivalent
  integer test, once, so that a kernel can decide every class exactly with two multiplications.
* `sign`, `is_at_most`, `is_less`, `sign_of_logs` and `entropy_reaches` decide single comparisons with balls
  (python-flint's `arb`): intervals that provably contain the number, refined until the comparison is decided.
  A comparison that stays undecided at the highest precision counts as not fulfilled.

python-flint is imported when first needed. Its precision is global to the process, so a lock serializes
decisions.
"""

from __future__ import annotations

import math
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from flint import arb

Number = int | float | str | Decimal | Fraction
Real = Callable[[int], "arb"]
"""A real number: a function from a precision in bits, already set, to a ball that contains the number."""

PRECISIONS = (64, 128, 256, 1024, 4096, 16384, 65536)
"""Bits of the successive refinements."""

_ASK_FOR_ZERO = 256
"""Precision at which hardly a number other than zero is undecided: then zero is tested by other means."""

TURN = threading.RLock()


def decimal_fraction(number: Number) -> Fraction:
    """Return a number as the rational number of its decimal text.

    >>> decimal_fraction(0.1), decimal_fraction("2.50"), decimal_fraction(3)
    (Fraction(1, 10), Fraction(5, 2), Fraction(3, 1))
    """
    return number if isinstance(number, Fraction) else Fraction(str(number))


def largest_count(share: Number, records: int) -> int:
    """Return the largest number of records that is at most a share of them; every limit uses this function.

    A float means every fraction that rounds to it: 10 / 15 of 15 records are 10, although the double lies
    below two thirds, and 0.29 of 100 are 29. A `Fraction` is exact.

    >>> largest_count(10 / 15, 15), largest_count(0.29, 100), largest_count(Fraction(1, 3), 3), largest_count(0.3, 9)
    (10, 29, 1, 2)
    """
    if not isinstance(share, float):
        return math.floor(decimal_fraction(share) * records)
    count = math.floor(Fraction(share) * records)
    while count < records and (count + 1) / records <= share:  # division rounds to the nearest double
        count += 1
    return count


def least_count(share: Number, records: int) -> int:
    """Return the least number of records that is at least a share of them, read as `largest_count` reads it.

    >>> least_count(5 / 6, 6), least_count(0.3, 9), least_count(Fraction(1, 3), 4)
    (5, 3, 2)
    """
    if not isinstance(share, float):
        return math.ceil(decimal_fraction(share) * records)
    count = math.ceil(Fraction(share) * records)
    while count > 0 and (count - 1) / records >= share:
        count -= 1
    return count


def float_at_least(bound: Fraction) -> float:
    """Return a double next to a rational number whose decimal text is not below it.

    >>> float_at_least(Fraction(1, 10)), decimal_fraction(float_at_least(Fraction(1, 3))) >= Fraction(1, 3)
    (0.1, True)
    """
    value = float(bound)
    while decimal_fraction(value) < bound:
        value = math.nextafter(value, math.inf)
    return value


def float_above(bound: Fraction) -> float:
    """Return a double next to a rational number whose decimal text is above it.

    >>> float_above(Fraction(1, 2))
    0.5000000000000001
    """
    value = float(bound)
    while decimal_fraction(value) <= bound:
        value = math.nextafter(value, math.inf)
    return value


def largest_fraction(bound: Fraction | Real, size: int, *, below: bool = False) -> Fraction:
    """Return the largest fraction p/q with q <= size that is at most the bound (or below it).

    For integers f and 1 <= n <= size the test f/n <= bound is then the same as f * q <= p * n, since no f/n
    lies between p/q and the bound. A bound that is not a `Fraction` has to be irrational.

    Walks down the Stern-Brocot tree, many steps at once: the fractions `low` and `high` around the bound are
    neighbours in the tree until no fraction with a denominator within `size` is left between them.

    >>> largest_fraction(Fraction("0.34"), 10), largest_fraction(Fraction(1, 2), 10, below=True)
    (Fraction(1, 3), Fraction(4, 9))
    >>> largest_fraction(lambda bits: ball(2).sqrt(), 100)  # below 1.41421...
    Fraction(140, 99)
    """
    if not isinstance(bound, Fraction):
        return _largest_below_irrational(bound, size)
    over, under = bound.numerator, bound.denominator
    a, b = (math.ceil(bound) - 1 if below else math.floor(bound)), 1  # low = a/b
    c, d = a + 1, 1  # high = c/d
    while b + d <= size:
        short, excess = over * b - a * under, c * under - over * d  # how far low and high are off
        if below:
            steps = (size - b) // d if excess == 0 else min((size - b) // d, (short - 1) // excess)
        else:
            steps = min((size - b) // d, short // excess)
        a, b = a + steps * c, b + steps * d
        short = over * b - a * under
        if short == 0:
            break
        steps = min((size - d) // b, excess // short if below else (excess - 1) // short)
        c, d = c + steps * a, d + steps * b
    return Fraction(a, b)


def _largest_below_irrational(bound: Real, size: int) -> Fraction:
    from flint import ctx

    with TURN:
        for bits in PRECISIONS:
            with ctx.workprec(bits):
                value = bound(bits)
                ends = [rational(end) for end in (value.lower(), value.upper())] if value.is_finite() else []
            fractions = {largest_fraction(end, size) for end in ends}
            if len(fractions) == 1:
                return fractions.pop()
    raise ArithmeticError("the bound cannot be told from a fraction: give rational bounds as a Fraction")


def rational(exact: arb) -> Fraction:
    """Return the value of a ball with radius 0."""
    mantissa, exponent = (int(part) for part in exact.man_exp())
    return Fraction(mantissa << exponent) if exponent >= 0 else Fraction(mantissa, 1 << -exponent)


def ball(number: Number) -> arb:
    """Return a ball around a rational number, at the working precision."""
    from flint import arb, fmpq

    fraction = decimal_fraction(number)
    return arb(fmpq(fraction.numerator, fraction.denominator))


def sign(difference: Real, zero: Callable[[], bool] | None = None) -> int | None:
    """Return the sign of a real number: -1, 0 or 1, or None if it could not be found.

    `zero` decides symbolically whether the number is zero. It is called once, if a precise ball leaves that
    open.

    >>> sign(lambda bits: ball(2).log() - ball("0.6931471805599453"))
    1
    >>> sign(lambda bits: ball(4).log() - 2 * ball(2).log()) is None
    True
    """
    from flint import ctx

    with TURN:
        for bits in PRECISIONS:
            with ctx.workprec(bits):
                value = difference(bits)
                if value > 0:
                    return 1
                if value < 0:
                    return -1
                if value == 0:
                    return 0
            if bits == _ASK_FOR_ZERO and zero is not None and zero():
                return 0
    return None


def is_at_most(left: Number | Real, right: Number | Real, equal: Callable[[], bool] | None = None) -> bool:
    """Return whether left <= right; False if that cannot be decided.

    `equal` decides symbolically whether both are equal; without it, equal irrational numbers are undecidable.

    >>> is_at_most(lambda bits: ball(2).log(), 0.7), is_at_most(0.5, 0.5)
    (True, True)
    """
    return sign(_difference(right, left), equal) in (0, 1)


def is_less(left: Number | Real, right: Number | Real, equal: Callable[[], bool] | None = None) -> bool:
    """Return whether left < right; False if that cannot be decided.

    >>> is_less(lambda bits: ball(2).log(), 0.7), is_less(0.5, 0.5)
    (True, False)
    """
    return sign(_difference(left, right), equal) == -1


def _difference(left: Number | Real, right: Number | Real) -> Real:
    def value(of: Number | Real, bits: int) -> Any:
        return of(bits) if callable(of) else ball(of)

    if not callable(left) and not callable(right):
        exact = decimal_fraction(left) - decimal_fraction(right)
        return lambda bits: ball((exact > 0) - (exact < 0))
    return lambda bits: value(left, bits) - value(right, bits)


def sign_of_logs(terms: Iterable[tuple[Number, Number]], constant: Number = 0) -> int | None:
    """Return the sign of constant + the sum of weight * ln(number) over pairs (weight, number), all rational.

    Zero is recognized: e to a rational power other than 0 is transcendental (Lindemann), so the sum vanishes
    only if the constant does and the product of number ** weight is 1, which the prime factors decide.
    Entropies, likelihood ratios and information gains of counted data are all of this form.

    >>> sign_of_logs([(2, 3), (-1, 9)]), sign_of_logs([(1, 2)], constant=-0.7)
    (0, -1)
    """
    pairs = [(decimal_fraction(weight), decimal_fraction(number)) for weight, number in terms]
    free = decimal_fraction(constant)

    def difference(bits: int) -> arb:
        total = ball(free)
        for weight, number in pairs:
            total += ball(weight) * ball(number).log()
        return total

    return sign(difference, lambda: free == 0 and product_is_one(pairs))


def product_is_one(factors: Iterable[tuple[Fraction, Fraction]]) -> bool:
    """Return whether the product of number ** exponent over pairs (exponent, number) of rationals is 1.

    >>> product_is_one([(Fraction(1, 2), Fraction(9, 4)), (Fraction(-1), Fraction(3, 2))])
    True
    """
    from flint import fmpz

    exponents: defaultdict[int, Fraction] = defaultdict(Fraction)
    for exponent, number in factors:
        for part, side in ((number.numerator, exponent), (number.denominator, -exponent)):
            for prime, power in fmpz(part).factor():
                exponents[int(prime)] += side * int(power)
    return not any(exponents.values())


def entropy_reaches(counts: Sequence[int], l: Fraction, estimator: str = "shannon") -> bool:
    """Return whether the entropy of counts is at least ln l.

    "shannon": n ln n - sum of f ln f >= n ln l for counts f that add up to n. "grassberger": the same with
    G(x) in place of ln x for counts. Only differences of G matter, and G(x) - G(1), the sum of 2 / (2j - 1)
    for j up to x // 2, is rational; ln l is not, so both sides are never equal.

    >>> entropy_reaches([4, 1, 1, 1, 1], Fraction(4)), entropy_reaches([4, 1, 1, 1, 1], Fraction("4.01"))
    (True, False)
    >>> entropy_reaches([1, 1], Fraction(2), "grassberger"), entropy_reaches([2, 2], Fraction(2), "grassberger")
    (True, False)
    """
    if l <= 1:  # neither estimator is ever below 0
        return True
    size = sum(counts)
    times = Counter(counts)
    if estimator == "shannon":
        terms: list[tuple[Number, Number]] = [(-f * number, f) for f, number in times.items()]
        return sign_of_logs([*terms, (size, size), (-size, l)]) in (0, 1)

    def excess(bits: int) -> arb:
        def g(count: int) -> arb:
            return ball(Fraction(2 * (count // 2) + 1, 2)).digamma() - ball(Fraction(1, 2)).digamma()

        total = size * (g(size) - ball(l).log())
        for f, number in times.items():
            total -= f * number * g(f)
        return total

    return sign(excess) == 1
