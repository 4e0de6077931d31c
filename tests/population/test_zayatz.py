"""Zayatz: against the oracle over long gaps, and exactly next to a bound."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.oracle import population as twin
from support.population import arrays, exactly, histograms
from support.whole_sample import often
from veil.population import zayatz
from veil.population.zayatz import zayatz_between, zayatz_is_at_most, zayatz_uniques


@pytest.mark.parametrize("others", [0, 1, 500, 10**5, 10**7, 317238626])
def test_zayatz_over_long_gaps(others):
    histogram = {1: 100, 2: 40, 3: 10, 40: 7, 700: 3, 701: 2, 2500: 1, 4000: 1}
    population = twin.sample_size(histogram) + others
    exact = twin.zayatz(histogram, population)
    assert exactly(histogram, population) == exact
    assert zayatz_uniques(*arrays(histogram), population) == pytest.approx(float(exact), rel=1e-12)
    low, high = zayatz_between(*arrays(histogram), population)
    assert low <= exact <= high <= low + Fraction(1, 10**50)


@given(histograms(), st.sampled_from([0, 1, 2, 10, 100, 10**4, 317238626]), st.integers(-1, 1), st.data())
@often
def test_zayatz_is_compared_exactly(histogram, others, side, data):
    population = twin.sample_size(histogram) + others
    exact = twin.zayatz(histogram, population)
    low, high = zayatz_between(*arrays(histogram), population)
    assert low <= exact <= high
    bound = exact + side * Fraction(1, data.draw(st.sampled_from([10**3, 10**20, 10**90, 10**200])))
    assert zayatz_is_at_most(bound, *arrays(histogram), population) == (side >= 0)


def test_zayatz_next_to_a_bound_with_a_large_class(monkeypatch):
    """All that tells the estimate from 1000 of 10^5 is a class that can hardly show a single record.

    Its 98,999 factors above and below the line are multiplied in halves of halves, down to 16 of them or fewer: with fewer
    products than factors, and none of a long number with a short one.
    """
    factors = []

    def counted(first, many):
        factors.append(many)
        return falling(first, many)

    falling = zayatz._falling
    monkeypatch.setattr(zayatz, "_falling", counted)
    histogram = {1: 1000, 99_000: 1}
    decided = 6
    for population in (10**5 + 10**6, 2 * 10**5, 10**5 + 99_000):
        bound = Fraction(1000 * population, 10**5)
        low, high = zayatz_between(*arrays(histogram), population)
        assert low <= bound < high
        assert zayatz_is_at_most(bound, *arrays(histogram), population)
        assert not zayatz_is_at_most(bound - Fraction(1, 10**1000), *arrays(histogram), population)
    assert zayatz_is_at_most(Fraction(1000), *arrays(histogram), 10**5)  # nobody is left to draw
    assert factors.count(98_999) == 2 * decided
    assert len(factors) < 98_999 * decided
    assert sum(each for each in factors if each <= 16) == sum(each for each in factors if each == 98_999)
