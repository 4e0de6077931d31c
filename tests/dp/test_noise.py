"""Staircase, Laplace, step and Gaussian noise: their figures, their promise in exact fractions, and the grid they are on."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dp.chances import LN2, chance
from veil.base.randomness import Randomness
from veil.dp.compare_noise import compare_noise
from veil.dp.gaussian import Gaussian
from veil.dp.noise import Laplace
from veil.dp.staircase import Staircase
from veil.dp.step_noise import StepNoise
from veil.errors import ParameterError


def test_whole_numbers() -> None:
    noise = Staircase(4, 1, whole=True)
    assert noise.core == 2
    assert noise.variance == pytest.approx(30.63501, abs=6e-6)
    assert Laplace(4, 1, whole=True).variance == pytest.approx(31.83385, abs=6e-6)
    one = Staircase(1, 1, whole=True)  # is the geometric mechanism
    assert one.variance == pytest.approx(Laplace(1, 1, whole=True).variance)


@pytest.mark.parametrize(
    "noise", [Laplace(1, 1, grid=2), Staircase(1, 1, grid=2), Gaussian(1, 1, "1e-6", grid=2)]
)
def test_half_a_step_of_rounding_is_within_the_half_width(noise) -> None:
    """The noise is so many quarters at most, with 95 %, and the value that it is added to was rounded to a quarter."""
    steps = next(steps for steps in itertools.count() if float(noise.tail(steps + 1)) <= 0.05)
    assert noise.half_width(0.95) == (steps + 0.5) / 4


WHOLE = [
    Laplace(3, LN2, whole=True),
    Staircase(3, LN2, whole=True),
    Staircase(3, LN2, best=0.95, whole=True),
    Laplace("3/8", LN2, grid=3),
    Staircase("3/8", LN2, grid=3),
]


@pytest.mark.parametrize(
    "noise", WHOLE, ids=["Laplace", "staircase", "interval", "Laplace, grid", "staircase, grid"]
)
def test_shifts_up_to_the_sensitivity_change_no_probability_by_more_than_the_factor(noise) -> None:
    """Exactly: the largest ratio is 2, and a shift by one step more exceeds it."""
    chances = {at: chance(noise, at) for at in range(-60, 61)}

    def largest(shift: int) -> Fraction:
        return max(chances[at] / chances[at + shift] for at in range(-50, 50 - shift))

    slack = Fraction(1, 2**200)
    assert 2 - slack < max(largest(shift) for shift in range(1, noise.steps + 1)) < 2 + slack
    assert largest(noise.steps + 1) > 2 + slack or noise.steps == 1


KINDS = [Laplace(1, 1), Staircase(1, 1), Gaussian(1, 1, "1e-6")]


@pytest.mark.parametrize("noise", KINDS, ids=lambda noise: noise.name)
def test_possible_results_are_the_same_for_neighbours_and_multiples_of_the_step(noise) -> None:
    """Whatever the values are, every multiple of the step is possible for both, and nothing else is."""
    for one, other in ((0.1, 0.3), (1 / 3, -2 / 3), (1e6, 1e6 + 1)):
        results = [{noise.grid.nearest(value) + by for by in range(-3, 4)} for value in (one, other)]
        for value, result in itertools.product((one, other), results[0] | results[1]):
            with ctx.workprec(200):
                far = abs(result - noise.grid.nearest(value))
                assert noise.tail(far) > noise.tail(far + 1) > 0
    for value in (0.1, 1 / 3, 12345.678):
        result = Fraction(noise.add(value))
        assert (result / noise.grid.step).denominator == 1


@settings(max_examples=200, deadline=None)
@given(st.floats(-1e6, 1e6), st.floats(0, 1), st.integers(-2, 12))
def test_rounding_adds_at_most_one_step_to_the_sensitivity(value, by, exponent) -> None:
    noise = Laplace(1, 1, grid=exponent)
    apart = abs(Fraction(value + by) - Fraction(value))
    if apart <= 1:
        assert abs(noise.grid.nearest(value + by) - noise.grid.nearest(value)) <= noise.steps
    assert noise.steps == math.floor(Fraction(2) ** exponent) + 1


@pytest.mark.parametrize("noise", [*KINDS, StepNoise([1, 10], 1)], ids=lambda noise: noise.name)
def test_draws_have_the_moments_and_intervals_that_are_told(noise) -> None:
    """2000 draws: within five standard errors."""
    source = Randomness.for_testing(11)
    if isinstance(noise, StepNoise):
        drawn = np.array([noise.add([0, 0], source)[1] for _ in range(2000)])
        variance, half = noise.variances[1], noise.half_width(1, 0.9)
    else:
        drawn = np.array([noise.add(0, source) for _ in range(2000)])
        variance, half = noise.variance, noise.half_width(0.9)
    assert abs(drawn.mean()) < 5 * math.sqrt(variance / 2000)
    assert abs((drawn**2).mean() - variance) < 5 * np.std(drawn**2) / math.sqrt(2000)
    assert abs((abs(drawn) <= half).mean() - 0.9) < 5 * math.sqrt(0.09 / 2000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Staircase(1, 0), "`epsilon` should be greater than 0, not 0"),
        (lambda: Staircase(1, -1), "`epsilon` should be greater than 0, not -1"),
        (lambda: Staircase(1, math.inf), "`epsilon` should be a number such as"),
        (lambda: Staircase(math.inf, 1), "`sensitivity` should be a number such as .* not inf"),
        (lambda: Staircase(None, 1), "`sensitivity` is missing"),
        (lambda: Staircase(math.nan, 1), "`sensitivity` should be a number such as .* not nan"),
        (lambda: Staircase(1, 1, best="speed"), "`best` should be \"variance\", .* not 'speed'"),
        (lambda: Staircase(1, 1, d=2), "`d` should be from 0 to the sensitivity, 1, not 2"),
        (
            lambda: Staircase(1.5, 1, whole=True),
            "`sensitivity` of whole numbers should be a whole number, not 1.5",
        ),
        (lambda: Staircase(1, 1, whole=True, grid=3), "`grid` is for real numbers"),
        (lambda: Staircase(1, 1, grid=0.5), "`grid` should be a whole number g .* not 0.5"),  # type: ignore[arg-type]
        (lambda: Staircase(1, 1).add(math.nan), "`value` should be a finite number, not nan"),
        (lambda: Staircase(1, 1, whole=True).add(1.5), "`value` should be a whole number, not 1.5"),
        (lambda: Staircase(1, 1).add(1, 5), "anyone who knows a seed can remove the noise"),  # type: ignore[arg-type]
        (lambda: Staircase(1, 1, best=1.0), "`best` should be .* not 1.0"),
        (lambda: Staircase(1, 1, best=1.5), "`best` should be .* not 1.5"),
        (lambda: Laplace(1, 1).half_width(0), "`confidence` should be between 0 and 1, not 0"),
        (lambda: Staircase(1, 1).half_width(1), "`confidence` should be between 0 and 1, not 1"),
        (lambda: StepNoise([], 1), "`sensitivities` is empty"),
        (lambda: StepNoise([1, None], 1), "`sensitivities` is missing"),  # type: ignore[list-item]
        (lambda: StepNoise([1, 1], 1, [1]), "`core` should have 2 half-widths"),
        (lambda: StepNoise([1], 1, [2]), "`core` should be above 0 and at most the sensitivity, 1, not 2"),
        (lambda: StepNoise([1, 1], 1).add([1]), "`values` should be 2 numbers"),
        (lambda: Gaussian(1, 1), "`delta` is missing"),
        (lambda: Gaussian(1, 1, rho=1), "`rho` replaces `epsilon` and `delta`"),
        (lambda: compare_noise([], 1), "`sensitivity` is empty"),
    ],
)
def test_parameters_are_checked(call, message) -> None:
    with pytest.raises(ParameterError, match=message):
        call()
