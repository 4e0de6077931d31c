"""Gaussian noise: the least that Balle and Wang allow, rounded to whole numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from support.dp.chances import chance
from veil.dp.gaussian import Gaussian, keeps, least_factor
from veil.dp.symbolic import Symbolic


def test_gaussian_noise_is_the_least_that_balle_and_wang_allow() -> None:
    assert Gaussian(1, 1, "1e-6").sigma == pytest.approx(4.2247, abs=6e-5)
    for epsilon, delta in ((1, "1e-6"), ("ln(2)", "1/5"), (10, "1e-9"), ("1/100", "1e-3")):
        budget, chance = Symbolic.read(epsilon), Fraction(delta)
        factor = least_factor(budget, chance)
        assert keeps(factor, budget, chance)
        assert not keeps(factor * (1 - Fraction(1, 10**9)), budget, chance)


def test_gaussian_noise_on_whole_numbers_is_the_rounded_one() -> None:
    noise = Gaussian(2, 1, "1e-3", whole=True)
    for at in range(5):
        low, high = (abs(at) - 0.5) / noise.sigma, (abs(at) + 0.5) / noise.sigma
        expected = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
        assert float(chance(noise, at)) == pytest.approx(expected)
    shifted = [(chance(noise, at), chance(noise, at + 2)) for at in range(-80, 80)]
    excess = math.fsum(max(0.0, float(p) - math.e * float(r)) for p, r in shifted)
    assert excess <= 1e-3
