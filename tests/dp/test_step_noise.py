"""Step noise: worked values of Soria-Comas, and the factor from box to box."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from flint import ctx
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dp.chances import LN2
from veil.base.exact import rational
from veil.dp.compare_noise import compare_noise
from veil.dp.noise import Laplace
from veil.dp.step_noise import StepNoise


def test_step_noise_of_example_5() -> None:
    noise = StepNoise([1, 10], 1, core=[0.1, 1])
    assert noise.height == pytest.approx(0.0180406, abs=6e-8)
    assert noise.variances == pytest.approx([4.03380, 403.380], rel=2e-6)
    assert [noise.region(each) for each in (0.99, 0.95, 0.9)] == pytest.approx(
        [1789.47, 916.89, 611.02], abs=6e-3
    )
    laplace = [compare_noise([1, 10], 1, confidence=each)[0].region for each in (0.99, 0.95, 0.9)]
    assert laplace == pytest.approx([10664.4, 5446.0, 3661.4], abs=0.06)


def test_step_noise_of_least_variance_in_a_square_and_as_epsilon_vanishes() -> None:
    noise = StepNoise([1, 1], 1)
    assert noise.core[0] == pytest.approx(0.697533, abs=6e-7)
    assert noise.variances == pytest.approx([3.970828, 3.970828], abs=6e-7)
    assert Laplace(2, 1).variance == 8
    for numbers in (1, 2, 5):
        variance = StepNoise([3] * numbers, "1e-4").variances[0]
        assert variance * 1e-8 == pytest.approx((numbers + 1) * (numbers + 2) * 9 / 3, rel=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 3), min_size=1, max_size=3), st.data())
def test_step_noise_falls_by_the_factor_from_box_to_box(sensitivities, data) -> None:
    """Twin: P(x) is proportional to q to the number of the first box that holds x, and shifts change it by at most 1/q."""
    core = [data.draw(st.integers(1, s)) for s in sensitivities]
    noise = StepNoise(sensitivities, LN2, core, whole=True)
    q = Fraction(1, 2)

    def box_of(point: tuple[int, ...]) -> int:
        return max(
            max(0, -((z - 1 - abs(x)) // s)) for x, z, s in zip(point, core, sensitivities, strict=True)
        )

    with ctx.workprec(300):
        tails = [rational(noise._tail(box).mid()) for box in range(60)]
    sizes = [
        math.prod(2 * (z + box * s) - 1 for z, s in zip(core, sensitivities, strict=True))
        for box in range(60)
    ]
    of_point = [
        sum(((tails[b] - tails[b + 1]) / sizes[b] for b in range(first, 59)), Fraction(0))
        for first in range(12)
    ]
    for one, other in itertools.pairwise(of_point):
        assert abs(other / one - q) < Fraction(1, 2**30)
    for point in itertools.product(*(range(4) for _ in core)):
        for shift in itertools.product(*(range(-s, s + 1) for s in sensitivities)):
            moved = tuple(x + by for x, by in zip(point, shift, strict=True))
            assert abs(box_of(moved) - box_of(point)) <= 1
