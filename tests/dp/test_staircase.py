"""Staircase noise: worked values of Soria-Comas, and its tail by definition."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dp.chances import LN2, chance
from veil.dp.noise import Laplace
from veil.dp.staircase import Staircase


@pytest.mark.parametrize(("epsilon", "variance"), [(0.1, 199.9167), (0.5, 7.9170), (1, 1.918104)])
def test_staircase_of_least_variance(epsilon, variance) -> None:
    """Table 4.1 of the thesis, with more places."""
    noise = Staircase(1, epsilon)
    assert noise.variance == pytest.approx(
        variance, abs=0.6 * 10 ** -(len(str(variance)) - str(variance).index(".") - 1)
    )
    if epsilon == 1:
        assert noise.d == pytest.approx(0.416737, abs=5e-7)


@pytest.mark.parametrize(
    ("epsilon", "length", "laplace"),
    [(0.1, 59.9105, 59.9146), (0.5, 11.9784, 11.9829), (1, 5.98653, 5.99146)],
)
def test_staircase_of_shortest_interval(epsilon, length, laplace) -> None:
    """Table 4.2 of the thesis, with more places."""
    noise = Staircase(1, epsilon, best=0.95)
    assert noise.interval_length(0.95) == pytest.approx(length, abs=6e-5 if epsilon < 1 else 6e-6)
    assert Laplace(1, epsilon).interval_length(0.95) == pytest.approx(
        laplace, abs=6e-5 if epsilon < 1 else 6e-6
    )
    assert 2 * noise.half_width(0.95) == pytest.approx(length, abs=1e-4)  # as drawn, on the grid
    if epsilon == 1:
        assert noise.d == pytest.approx(0.99326, abs=5e-6)


@pytest.mark.parametrize("best", ["variance", "absolute error", 0.2, 0.95])
@pytest.mark.parametrize("epsilon", [0.1, 1, 3])
def test_the_interval_of_the_staircase_holds_as_much_of_the_density_as_it_says(epsilon, best) -> None:
    noise = Staircase(2, epsilon, best=best)
    q = math.exp(-epsilon)
    height = 1 / (2 * (noise.d + 2 * q / (1 - q)))

    def within(end: float) -> float:
        """Add up the density, step by step."""
        held, start, stop, density = 0.0, 0.0, noise.d, height
        while start < end:
            held += 2 * density * (min(end, stop) - start)
            start, stop, density = stop, stop + 2, density * q
        return held

    for confidence in (0.02, 0.3, 0.5, 0.8, 0.95, 0.999):
        assert within(noise.interval_length(confidence) / 2) == pytest.approx(confidence)


def test_other_members_of_the_family() -> None:
    like = Staircase(1, 1, best="like Laplace")
    assert (like.d, like.variance) == pytest.approx((0.418023, 1.918105), abs=6e-7)
    error = Staircase(1, 1, best="absolute error")
    assert (error.d, error.mean_absolute_error) == pytest.approx((0.377541, 0.959517), abs=6e-7)
    assert error.d == pytest.approx(1 / (1 + math.exp(0.5)))
    assert Laplace(1, 1).mean_absolute_error == 1


def staircase_by_definition(steps: int, core: int, q: Fraction, at: int) -> Fraction:
    height = 1 / (2 * core - 1 + 2 * steps * q / (1 - q))
    return height if abs(at) < core else height * q ** ((abs(at) - core) // steps + 1)


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 5), st.data())
def test_the_tail_of_the_staircase_is_that_of_its_definition(steps, data) -> None:
    core = data.draw(st.integers(1, steps))
    noise = Staircase(steps, LN2, d=core, whole=True)
    for at in range(-20, 21):
        expected = staircase_by_definition(steps, core, Fraction(1, 2), at)
        assert abs(chance(noise, at) - expected) < Fraction(1, 2**250)
    brute = [staircase_by_definition(steps, core, Fraction(1, 2), at) for at in range(-300, 301)]
    variance = float(sum(p * at * at for p, at in zip(brute, range(-300, 301), strict=True)))
    error = float(sum(p * abs(at) for p, at in zip(brute, range(-300, 301), strict=True)))
    assert noise.variance == pytest.approx(variance)
    assert noise.mean_absolute_error == pytest.approx(error)
    inside = sum(p for p, at in zip(brute, range(-300, 301), strict=True) if abs(at) <= noise.half_width(0.9))
    assert inside >= Fraction(9, 10) > inside - 2 * brute[300 + int(noise.half_width(0.9))]


@pytest.mark.parametrize(
    ("best", "figure"),
    [
        ("variance", lambda noise: noise.variance),
        ("absolute error", lambda noise: noise.mean_absolute_error),
        (0.9, lambda noise: noise.half_width(0.9)),
    ],
)
def test_no_other_core_is_better(best, figure) -> None:
    for steps, epsilon in itertools.product((2, 5, 9), (0.3, 1, 3)):
        chosen = figure(Staircase(steps, epsilon, best=best, whole=True))
        assert chosen == min(figure(Staircase(steps, epsilon, d=d, whole=True)) for d in range(1, steps + 1))
