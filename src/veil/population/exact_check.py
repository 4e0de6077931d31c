"""Check the solutions of the compiled estimators with plain sums.

A root is easy to check: it must solve the equations, written out as sums over classes and records. The
verifier uses this, so that a mistake in the solver cannot go unnoticed.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from veil.population.dankar import Estimate, Estimator, certain_uniques, estimate
from veil.population.newton import ACCURACY
from veil.population.pitman import pitman_solution
from veil.population.snb import snb_solution

_ROUNDING = 1.01
"""Room for the rounding errors of sums of a million terms, as a factor of the accuracy of the solver."""


def confirm_estimate(
    estimator: Estimator,
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
    population: int,
    *,
    like_arx: bool = False,
) -> Estimate:
    """Return the estimate, or one that is not available if its solution does not solve the equations.

    >>> confirm_estimate("pitman", np.array([1, 2, 3, 5]), np.array([50, 20, 10, 4]), 14_000).estimator
    'pitman'
    """
    claim = estimate(estimator, sizes, counts, population, like_arx=like_arx)
    if not claim.available or not sizes.size or sizes[0] != 1:
        return claim
    check = {"pitman": _pitman, "snb": _snb, "zayatz": _zayatz}[claim.estimator]
    uniques = check(sizes, counts, population, like_arx)
    if uniques > 0:
        uniques = max(uniques, certain_uniques(sizes, counts, population))
    agree = math.isclose(uniques, claim.uniques, rel_tol=1e-4)  # log-gamma of 1e9 has ten digits
    return claim if agree else Estimate(claim.estimator, 0.0, False)


def _zayatz(sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int, like_arx: bool) -> float:
    records = int((sizes * counts).sum())
    draws = np.arange(int(sizes[-1]) - 1, dtype=np.float64)
    factors = np.maximum(population - records - draws, 0.0) / np.maximum(population - 1.0 - draws, 1.0)
    chances = np.concatenate([[1.0], np.cumprod(factors)])
    weights = counts * sizes * chances[sizes - 1]
    return float(counts[0] * weights[0] / weights.sum() * population / records)


def _pitman(sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int, like_arx: bool) -> float:
    exists, theta, alpha = pitman_solution(sizes, counts, like_arx)
    classes = np.arange(1, int(counts.sum()), dtype=np.float64)
    records = np.arange(1, int((sizes * counts).sum()), dtype=np.float64)
    places = np.arange(1, int(sizes[-1]), dtype=np.float64)
    larger = counts[::-1].cumsum()[::-1]  # classes of at least each size
    beyond = larger[np.searchsorted(sizes, places, side="right")]
    with np.errstate(all="ignore"):
        chances = 1.0 / (theta + alpha * classes)
        by_theta = math.fsum(chances) - math.fsum(1.0 / (theta + records))
        by_alpha = math.fsum(classes * chances) - math.fsum(beyond / (places - alpha))
    ewens = alpha == 0.0 and not like_arx
    if ewens:  # a maximum at the edge, where the likelihood may fall with alpha
        by_alpha = max(by_alpha, 0.0)
    if not (exists and max(abs(by_theta), abs(by_alpha)) <= _ROUNDING * ACCURACY):
        return math.nan
    if ewens:
        return theta
    scale = alpha * math.log(population)
    if theta + alpha > 0:
        return math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha) + scale)
    return math.gamma(theta + 1) / math.gamma(theta + alpha) * math.exp(scale)


def _snb(sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int, like_arx: bool) -> float:
    exists, classes, a, b = snb_solution(sizes, counts, population, like_arx)
    numbers = dict(zip(sizes.tolist(), counts.tolist(), strict=True))
    f = int((sizes * counts).sum()) / population
    once = sum(i * f * f * (1 - f * f) ** (i - 1) * c for i, c in numbers.items())
    never = sum((1 - f * f) ** i * c - (1 if like_arx else (1 - f) ** i * c) for i, c in numbers.items())
    missed = sum((1 - f) ** i * c for i, c in numbers.items())
    alone = sum(i * f * (1 - f) ** (i - 1) * c for i, c in numbers.items())
    unseen = numbers[1] * once / never * (missed / alone) ** 2 if f < 1 or like_arx else 0
    expected = sum(numbers.values()) + unseen
    d = (1 - f) * (1 - b)
    first = classes * f * (b / (1 - d)) ** a * (a * d / (1 - d) + 1) - numbers[1]
    power = a + 2 if like_arx else -a - 2
    second = 0.5 * classes * a * b**a * f * f * (1 - b) * (1 - d) ** power * (2 - (1 - a) * d)
    solved = max(abs(first), abs(second - numbers.get(2, 0))) <= _ROUNDING * ACCURACY
    return classes * b**a if exists and solved and math.isclose(classes, expected, rel_tol=1e-9) else math.nan
