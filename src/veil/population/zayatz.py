"""Zayatz's estimator: the share of sample uniques that are population uniques."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import numeric
from veil.base.exact import TURN, ball, rational

if TYPE_CHECKING:
    from flint import fmpz

_NEGLIGIBLE = 1e-30
"""Chance that ends a product: smaller terms do not change a sum that starts with 1."""

_PRECISION = 256
"""Bits that decide nearly all comparisons but equality."""


@numeric
def zayatz_uniques(sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int) -> float:
    """Return Zayatz's estimate of the number of population uniques, 0 if the sample has none.

    `sizes` are the different class sizes in ascending order, `counts` the number of classes of each.

    If the population had the class sizes of the sample, a class of i would have a single record in the sample
    with the hypergeometric probability h(i). By Bayes, the share of the sample's uniques that are population
    uniques is c_1 h(1) / sum c_i h(i), each of which represents P/n of them. Zayatz (1991).

    The relative error is below 1e-11: products over long gaps between sizes are sums of logarithms that are
    nearly linear in between, computed from the middle with a correction of second order.
    """
    if sizes.size == 0 or sizes[0] != 1:
        return 0.0
    records = 0
    for t in range(sizes.size):
        records += sizes[t] * counts[t]
    # Add up c_i h(i) / h(1), with h(i) / h(1) = i * product of (left - j) / (others - j) for j < i - 1.
    left, others = float(population - records), float(population - 1)
    total = float(counts[0])
    chance = 1.0
    done = 0.0
    for t in range(1, sizes.size):
        goal = float(sizes[t] - 1)
        # Extend the product to this size: factor by factor, or by blocks far from the end.
        while done < goal and chance > _NEGLIGIBLE:
            if done + 1.0 > left:
                chance = 0.0
                break
            far = left - goal
            block = math.floor((3e-13 * far * far * far * far) ** 0.2) if far > 0.0 else 0.0
            if block < 4.0 or goal - done < 4.0:
                chance *= (left - done) / (others - done)
                done += 1.0
            else:
                block = min(block, goal - done)
                middle = done + 0.5 * (block - 1.0)
                a, b = left - middle, others - middle
                bend = (1.0 / b - 1.0 / a) * (1.0 / b + 1.0 / a)
                chance *= math.exp(
                    block * math.log1p((left - others) / b) + bend * block * (block * block - 1.0) / 24.0
                )
                done += block
        if chance <= _NEGLIGIBLE:
            break
        total += counts[t] * sizes[t] * chance
    uniques = float(counts[0])
    return uniques * (uniques / total) * (population / records)


def zayatz_is_at_most(
    bound: Fraction, sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int
) -> bool:
    """Decide exactly whether Zayatz's estimate is at most a bound."""
    low, high = zayatz_between(sizes, counts, population)
    if low <= bound < high:
        above, below = exact_zayatz(sizes, counts, population)
        return bool(above * bound.denominator <= below * bound.numerator)
    return high <= bound


def zayatz_between(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int
) -> tuple[Fraction, Fraction]:
    """Return a lower and an upper bound of the estimate, equal to many digits for classes of any size."""
    from flint import ctx, fmpz

    if sizes.size == 0 or sizes[0] != 1:  # no uniques
        return Fraction(0), Fraction(0)
    uniques, records = int(counts[0]), int((sizes * counts).sum())
    left = population - records
    with TURN, ctx.workprec(_PRECISION):
        # left (left - 1) ... / ((population - 1) (population - 2) ...), i - 1 factors each, as factorials
        whole = ball(left + 1).lgamma() - ball(population).lgamma()
        total = ball(uniques)
        for size, count in _possible(sizes, counts, left)[1:]:
            log = whole + ball(population - size + 1).lgamma() - ball(left - size + 2).lgamma()
            total += fmpz(count * size) * log.exp()
        estimate = ball(Fraction(uniques * uniques * population, records)) / total
        return rational(estimate.lower()), rational(estimate.upper())


def exact_zayatz(sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int) -> tuple[fmpz, fmpz]:
    """Return numerator and denominator of the estimate, with as many digits as the largest class has records.

    They are not reduced, as that would take longer than all the rest. Terms of the sum share the products of
    all gaps between sizes before them. Both halves of the sum are added up as separate fractions,
    recursively, so that long numbers are only multiplied by numbers as long.
    """
    uniques, records = int(counts[0]), int((sizes * counts).sum())
    left = population - records
    terms = _possible(sizes, counts, left)

    def sum_terms(start: int, end: int) -> tuple[fmpz, fmpz, fmpz]:
        """Return the products of the gaps of some terms, above and below the line, and the sum above it."""
        if end - start == 1:
            size, count = terms[start]
            before = terms[start - 1][0] if start else 1
            above = _falling(left - before + 1, size - before)
            return above, _falling(population - before, size - before), above * (size * count)
        middle = (start + end) // 2
        above, below, first = sum_terms(start, middle)
        next_above, next_below, second = sum_terms(middle, end)
        return above * next_above, below * next_below, first * next_below + above * second

    _, below, total = sum_terms(0, len(terms))
    return below * (uniques * uniques * population), total * records


def _possible(sizes: NDArray[np.int64], counts: NDArray[np.int64], left: int) -> list[tuple[int, int]]:
    """Return sizes and counts of the classes whose other records fit into the rest of the population."""
    return [
        (size, count) for size, count in zip(sizes.tolist(), counts.tolist(), strict=True) if size <= left + 1
    ]


def _falling(first: int, factors: int) -> fmpz:
    """Return first (first - 1) (first - 2) ... of so many factors."""
    from flint import fmpz

    if factors > 16:
        half = factors // 2
        return _falling(first, half) * _falling(first - half, factors - half)
    return fmpz(math.prod(range(first, first - factors, -1)))
