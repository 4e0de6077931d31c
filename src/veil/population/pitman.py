"""Pitman's estimator: the sampling formula with parameters theta and alpha, fitted by maximum likelihood."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import numeric
from veil.population.inverse_sums import inverse_sums
from veil.population.newton import ITERATIONS, RESTARTS, TRIES, is_root, step

_FEW_CLASSES = 48
"""Classes that are summed one by one."""

_GENTLE = 0.125
"""Largest relative change of theta + i alpha for which sums are integrals with small corrections."""


@numeric
def pitman_uniques(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], population: int, like_arx: bool = False
) -> float:
    """Return Pitman's estimate of the number of population uniques, 0 if there is none.

    `sizes` are the different class sizes in ascending order, `counts` the number of classes of each.

    Classes appear as in Pitman's sampling formula: record n + 1 founds a new class with probability (theta +
    u alpha) / (theta + n) when there are u classes. In a population of P the expected number of classes of
    one is about P^alpha Gamma(theta + 1) / Gamma(theta + alpha). Hoshino (2001).

    Alpha is from 0 to 1; below 0 the formula describes no infinite population, and estimates collapse. If the
    likelihood falls from alpha = 0 on, its maximum is there: Ewens' formula, with theta population uniques.

    An estimate fails if the solver finds no root, for example if all records are unique: the likelihood then
    has no maximum, and for a single record it does not depend on the parameters at all.

    `like_arx` is for comparison: any root is accepted, also with alpha below 0 and far out, where the
    equations hold because all their terms vanish.
    """
    exists, theta, alpha = pitman_solution(sizes, counts, like_arx)
    if exists and alpha == 0.0 and not like_arx:
        return theta if theta <= population else 0.0
    return expected_uniques(theta, alpha, population) if exists else 0.0


@numeric
def expected_uniques(theta: float, alpha: float, population: int) -> float:
    """Return the expected number of uniques by the formula, 0 if it is undefined or exceeds the population.

    It is computed with logarithms and without, as either may fail.
    """
    if alpha == 0.0:
        return 0.0
    scale = math.pow(population, alpha)
    best = 0.0
    if theta + alpha > 0.0:
        value = math.exp(math.lgamma(theta + 1.0) - math.lgamma(theta + alpha)) * scale
        if value <= population:  # false for NaN
            best = value
    above, below = math.gamma(theta + 1.0), math.gamma(theta + alpha)
    if math.isfinite(above) and math.isfinite(below):
        value = above / below * scale
        if best < value <= population:
            best = value
    return best


@numeric
def pitman_solution(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], like_arx: bool = False
) -> tuple[bool, float, float]:
    """Return whether the likelihood equations have a root, or a maximum at alpha = 0, and theta and alpha.

    ARX solves them in two rounds, with digamma functions and then with plain sums. Here the sums are the same
    in both, so the second round need only start from points where the digamma functions are not defined.
    """
    if sizes.size == 0 or sizes[0] != 1:
        return False, 0.0, 0.0
    records = classes = 0
    for t in range(sizes.size):
        records += sizes[t] * counts[t]
        classes += counts[t]
    if classes == records:
        return False, 0.0, 0.0
    if not like_arx:
        theta = ewens_theta(records, classes)
        if equations(theta, 0.0, records, classes, sizes, counts)[1] <= 0.0:
            return True, theta, 0.0
    start_theta, start_alpha = _start(sizes, counts, records, classes)
    for plain in (False, True):
        for attempt in range(TRIES):
            theta, alpha = start_theta, start_alpha
            if attempt > 0:
                theta, alpha = RESTARTS[attempt - 1, 0], RESTARTS[attempt - 1, 1]
            if _at_pole(theta, alpha) != plain:
                continue
            for _ in range(ITERATIONS if attempt < TRIES - 1 else 1):
                first, second, by_theta, mixed, by_alpha = equations(
                    theta, alpha, records, classes, sizes, counts
                )
                if is_root(first, second) and (like_arx or 0.0 < alpha < 1.0):
                    return True, theta, alpha
                theta, alpha, fine = step(theta, alpha, first, second, by_theta, mixed, mixed, by_alpha)
                if not fine or theta < 0.0:
                    break
    return False, 0.0, 0.0


@numeric
def ewens_theta(records: int, classes: int) -> float:
    """Return theta of the largest likelihood for alpha = 0, where as many classes are expected as observed.

    Their number less one, the sum of theta / (theta + i) for i below n, grows with theta from 0 to n - 1.

    >>> round(ewens_theta(3, 2), 9)  # t / (t + 1) + t / (t + 2) = 1
    1.414213562
    """
    low, high = 0.0, 1.0
    while high * inverse_sums(high + 1.0, records - 1)[0] < classes - 1:
        low, high = high, 2.0 * high
    while True:
        middle = 0.5 * (low + high)
        if not low < middle < high:
            return high
        if middle * inverse_sums(middle + 1.0, records - 1)[0] < classes - 1:
            low = middle
        else:
            high = middle


@numeric
def _at_pole(theta: float, alpha: float) -> bool:
    """Return whether a digamma function of the closed forms is infinite, or their divisor alpha is zero."""
    return (
        alpha == 0.0
        or (theta / alpha < 0.0 and _is_whole(theta / alpha))
        or (theta < 0.0 and _is_whole(theta))
        or (alpha > 0.5 and _is_whole(alpha))
    )


@numeric
def _is_whole(x: float) -> bool:
    """Return whether a number is an integer up to rounding."""
    return abs(x - float(np.rint(x))) <= 1e-12 * abs(x)


@numeric
def _start(
    sizes: NDArray[np.int64], counts: NDArray[np.int64], records: int, classes: int
) -> tuple[float, float]:
    n, u, one = float(records), float(classes), float(counts[0])
    two = float(counts[1]) if sizes.size > 1 and sizes[1] == 2 else 1.0
    c = one * (one - 1.0) / two
    theta = (n * u * c - one * (n - 1.0) * (2.0 * u + c)) / (2.0 * one * u + one * c - n * c)
    return theta, (theta * (one - n) + (n - 1.0) * one) / (n * u)


@numeric
def equations(
    theta: float,
    alpha: float,
    records: int,
    classes: int,
    sizes: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> tuple[float, float, float, float, float]:
    """Return the slopes of the log-likelihood by theta and alpha, and its second slopes."""
    first, second, by_theta, mixed, by_alpha = _between_classes(theta, alpha, classes - 1)
    founded, founded_squared = inverse_sums(theta + 1.0, records - 1)
    joined, joined_squared = _within_classes(alpha, sizes, counts)
    return first - founded, second - joined, founded_squared - by_theta, -mixed, -by_alpha - joined_squared


@numeric
def _within_classes(alpha: float, sizes: NDArray[np.int64], counts: NDArray[np.int64]) -> tuple[float, float]:
    """Return the sums of 1/(j - alpha) and of its square, for j below the size of each class."""
    total = total_squared = plain = squared = 0.0
    reached = 1
    for t in range(sizes.size):
        more, more_squared = inverse_sums(reached - alpha, sizes[t] - reached)
        plain += more
        squared += more_squared
        reached = sizes[t]
        total += counts[t] * plain
        total_squared += counts[t] * squared
    return total, total_squared


@numeric
def _between_classes(theta: float, alpha: float, count: int) -> tuple[float, float, float, float, float]:
    """Return the sums of g, i g, g², i g² and i² g² for g = 1/(theta + i alpha) and i from 1 to count."""
    if count <= _FEW_CLASSES:
        s = t = a = b = d = 0.0
        for i in range(1, count + 1):
            g = 1.0 / (theta + i * alpha)
            s += g
            t += i * g
            a += g * g
            b += i * g * g
            d += i * g * (i * g)
        return s, t, a, b, d
    if abs(alpha) * count <= _GENTLE * theta:
        return _gently_falling(theta, alpha, count)
    ratio = theta / alpha
    plain, squared = inverse_sums(ratio + 1.0, count)
    s = plain / alpha
    a = squared / (alpha * alpha)
    t = (count - ratio * plain) / alpha
    b = (plain - ratio * squared) / (alpha * alpha)
    d = (count - 2.0 * ratio * plain + ratio * ratio * squared) / (alpha * alpha)
    return s, t, a, b, d


@numeric
def _gently_falling(theta: float, alpha: float, count: int) -> tuple[float, float, float, float, float]:
    """Return the same sums where theta + i alpha changes little, even for alpha = 0.

    Euler and Maclaurin: the integral from 0 to m, half the difference of both ends, a twelfth of that of the
    slopes. With z = alpha m / theta, the integral of x^p g^q is a power series in z, of which 18 terms are
    exact. The remainder, a 720th of the difference of the third slopes, is z³/m⁴ of the whole for m > 48:
    less than 1e-10.
    """
    m = float(count)
    z = alpha * m / theta
    s = t = a = b = d = 0.0
    power = 1.0
    for k in range(18):
        s += power / (k + 1)
        t += power / (k + 2)
        a += power
        b += power * (k + 1) / (k + 2)
        d += power * (k + 1) / (k + 3)
        power *= -z
    g0, g = 1.0 / theta, 1.0 / (theta + m * alpha)
    h0, h = g0 * g0, g * g
    s = m * g0 * s + 0.5 * (g - g0) + alpha * (h0 - h) / 12.0
    t = m * m * g0 * t + 0.5 * m * g + theta * (h - h0) / 12.0
    a = m * h0 * a + 0.5 * (h - h0) + alpha * (h0 * g0 - h * g) / 6.0
    b = m * m * h0 * b + 0.5 * m * h + (h - 2.0 * alpha * m * h * g - h0) / 12.0
    d = m**3 * h0 * d + 0.5 * m * m * h + theta * m * h * g / 6.0
    return s, t, a, b, d
