"""The slide negative binomial estimator."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import numeric
from veil.population.newton import ITERATIONS, RESTARTS, TRIES, is_root, step


@numeric
def snb_uniques(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int, like_arx: bool = False
) -> float:
    """Return the slide negative binomial estimate of the number of population uniques, 0 if there is none.

    `sizes` are the different class sizes in ascending order, `counts` the number of classes of each.

    Class sizes in the population, less one, are modelled as negative binomial with parameters a and b; the
    number of population classes K is estimated first, and a and b follow from the expected numbers of sample
    classes of one and of two records. Then K b^a classes have one record. Chen and Keller-McNulty (1998).

    `like_arx` is for comparison. ARX differs in two places: the expected number of classes of two is
    multiplied by E^(a+2), E = 1 - (1 - f)(1 - b), where it should be divided; and K subtracts 1 once for each
    size where Haas and Stokes (1998) subtract (1 - f)^i for each class. Solutions are then rare unless the
    sample is nearly the whole population, and too low.
    """
    exists, classes, a, b = snb_solution(sizes, counts, population, like_arx)
    if not exists:
        return 0.0
    uniques = classes * _power(b, a)
    return uniques if math.isfinite(uniques) else 0.0


@numeric
def snb_solution(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int, like_arx: bool = False
) -> tuple[bool, float, float, float]:
    """Return whether there is a solution, and K, a and b, with a > 0 and b from 0 to 1.

    The slopes of the second equation belong to the form that divides. ARX uses them with the one that
    multiplies, and with other slopes other estimates would exist.
    """
    if sizes.size == 0 or sizes[0] != 1:
        return False, 0.0, 0.0, 0.0
    records = 0
    for t in range(sizes.size):
        records += sizes[t] * counts[t]
    f = records / population
    one = float(counts[0])
    two = float(counts[1]) if sizes.size > 1 and sizes[1] == 2 else 0.0
    classes = _population_classes(sizes, counts, f, like_arx)
    for attempt in range(TRIES):
        a, b = (1.0, 1.0) if attempt == 0 else (RESTARTS[attempt - 1, 0], RESTARTS[attempt - 1, 1])
        for _ in range(ITERATIONS if attempt < TRIES - 1 else 1):
            first, second = residuals(a, b, f, classes, one, two, like_arx)
            if is_root(first, second) and (like_arx or (a > 0.0 and 0.0 < b <= 1.0)):
                return True, classes, a, b
            by_a, by_b, second_by_a, second_by_b = _slopes(a, b, f, classes)
            a, b, fine = step(a, b, first, second, by_a, by_b, second_by_a, second_by_b)
            if not fine:
                break
    return False, classes, 0.0, 0.0


@numeric
def residuals(
    a: float, b: float, f: float, classes: float, one: float, two: float, like_arx: bool
) -> tuple[float, float]:
    """Return the expected less the observed number of sample classes of one and of two records."""
    d = (1.0 - f) * (1.0 - b)
    e = 1.0 - d
    first = classes * f * _power(b / e, a) * (a * d / e + 1.0) - one
    scale = 0.5 * classes * a * _power(b, a) * (f * f) * (1.0 - b)
    return first, scale * _power(e, a + 2.0 if like_arx else -a - 2.0) * (2.0 - (1.0 - a) * d) - two


@numeric
def _slopes(a: float, b: float, f: float, classes: float) -> tuple[float, float, float, float]:
    d = (1.0 - f) * (1.0 - b)
    e = 1.0 - d
    by = 1.0 - f  # slope of e by b; that of d is its negative
    base = _power(b / e, a)
    factor = a * d / e + 1.0
    by_a = classes * f * base * (math.log(b / e) * factor + d / e)
    base_by_b = a * _power(b / e, a - 1.0) * ((e - b * by) / (e * e))
    by_b = classes * f * (base_by_b * factor + base * (a * ((-by * e - d * by) / (e * e))))
    half, rest = 0.5 * classes * (f * f), 2.0 - (1.0 - a) * d
    quotient = a * _power(b, a) * (1.0 - b) * rest / _power(e, a + 2.0)
    second_by_a = quotient * (1.0 / a + math.log(b) + d / rest - math.log(e))
    second_by_b = quotient * (a / b - 1.0 / (1.0 - b) + (1.0 - a) * by / rest - (a + 2.0) * by / e)
    return by_a, by_b, half * second_by_a, half * second_by_b


@numeric
def _population_classes(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], f: float, like_arx: bool
) -> float:
    """Return an estimate of K, the number of population classes: Shlosser's, modified by Haas and Stokes."""
    sample_classes = 0.0
    first = second = third = fourth = 0.0
    for t in range(sizes.size):
        i, c = float(sizes[t]), float(counts[t])
        sample_classes += c
        first += i * (f * f) * math.pow(1.0 - f * f, i - 1.0) * c
        second += math.pow(1.0 - f, i) * math.pow(1.0 + f, i) * c
        second -= 1.0 if like_arx else math.pow(1.0 - f, i) * c
        third += math.pow(1.0 - f, i) * c
        fourth += i * f * math.pow(1.0 - f, i - 1.0) * c
    if f == 1.0 and not like_arx:
        return sample_classes
    uniques = float(counts[0])
    return sample_classes + uniques * (first / second) * (third / fourth) ** 2


@numeric
def _power(base: float, exponent: float) -> float:
    """Raise to a power; NaN where that is infinite."""
    result = math.pow(base, exponent)
    return result if math.isfinite(result) else math.nan
