"""Sums of inverses against sums of inverses, added up one by one."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.whole_sample import often
from veil.population.inverse_sums import inverse_sums
from veil.population.pitman import equations


def plainly(theta, alpha, records, classes, sizes, counts):
    """Slopes of the log-likelihood, term by term."""
    i = np.arange(1, classes, dtype=np.float64)
    g = 1 / (theta + i * alpha)
    j = 1 / (theta + np.arange(1, records))
    first = math.fsum(g) - math.fsum(j)
    within = squares = 0.0
    for size, count in zip(sizes, counts, strict=True):
        terms = 1 / (np.arange(1, size) - alpha)
        within += count * math.fsum(terms)
        squares += count * math.fsum(terms**2)
    second = math.fsum(i * g) - within
    by_theta = math.fsum(j**2) - math.fsum(g**2)
    return first, second, by_theta, -math.fsum(i * g**2), -math.fsum((i * g) ** 2) - squares


@given(
    st.one_of(st.floats(-50, 50), st.floats(-3000, 3000), st.integers(-200, 200).map(lambda n: n + 0.5)),
    st.integers(0, 400),
)
@often
def test_inverse_sums(x, count):
    assume(all(abs(x + j) > 1e-6 for j in range(count)))
    terms = [1 / (Fraction(x) + j) for j in range(count)]
    # A term near zero is only as good as the place of its pole.
    error = 1e-15 * max([abs(x) + count, 1.0]) * float(sum(t * t for t in terms)) + 1e-13
    plain, squared = inverse_sums(x, count)
    assert plain == pytest.approx(float(sum(terms)), rel=1e-13, abs=error)
    worst = max((abs(float(t)) for t in terms), default=0.0)
    assert squared == pytest.approx(float(sum(t * t for t in terms)), rel=1e-12 * (1 + abs(x) * worst))


@pytest.mark.parametrize("x", [0.0, -1.0, -7.0, math.nan])
def test_poles(x):
    assert all(math.isnan(each) for each in inverse_sums(x, 8))


def test_ends_before_the_pole():
    assert inverse_sums(-8.0, 7) == pytest.approx((-sum(1 / k for k in range(2, 9)), 0.527422), rel=1e-6)


SIZES, COUNTS = np.array([1, 2, 3, 7, 30, 31, 900]), np.array([4000, 700, 300, 80, 6, 2, 3])


@pytest.mark.parametrize(
    ("theta", "alpha"),
    [
        (700.0, 0.67),  # the usual place of a root
        (0.33, 0.66),
        (0.0, 0.33),
        (50.0, 0.0),  # flat
        (50.0, 1e-9),
        (1e4, 0.2),  # nearly flat, on both sides of where the way of summing changes
        (1e4, 0.24),
        (1e4, 0.25),
        (1e4, -0.24),
        (1e5, -5.0),
        (1e9, -1.9e5),  # running away
        (3000.0, -0.7),  # beyond a pole
        (40.0, 5.5),  # where some records weigh negative
    ],
)
def test_equations(theta, alpha):
    records, classes = int((SIZES * COUNTS).sum()), int(COUNTS.sum())
    found = equations(theta, alpha, records, classes, SIZES, COUNTS)
    expected = plainly(theta, alpha, records, classes, SIZES, COUNTS)
    # Against the size of what is subtracted from each other.
    i = np.arange(1, classes)
    size = max(1.0, float(np.sum(np.abs(i / (theta + i * alpha)))))
    assert found[0] == pytest.approx(expected[0], rel=1e-10, abs=1e-11)
    assert found[1] == pytest.approx(expected[1], rel=1e-10, abs=1e-12 * size)
    assert found[2:] == pytest.approx(expected[2:], rel=1e-7)


def test_few_classes():
    sizes, counts = np.array([1, 2, 5]), np.array([10, 4, 2])
    found = equations(3.0, 0.4, 28, 16, sizes, counts)
    assert found == pytest.approx(plainly(3.0, 0.4, 28, 16, sizes, counts), rel=1e-12)
