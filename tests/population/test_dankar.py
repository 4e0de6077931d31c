"""The decision rule of Dankar: worked values, and the oracle."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.oracle import population as twin
from support.population import FIFTH, FIRST, FOURTH, SIXTH, arrays, histograms, one_runs_away
from support.whole_sample import often
from veil.population import estimate


@pytest.mark.parametrize(
    ("histogram", "population", "chosen"),
    [
        (FIRST, 14000, "pitman"),
        (FIRST, 1400, "pitman"),  # exactly a tenth
        (FIRST, 1399, "zayatz"),
        (FIRST, 700, "zayatz"),
        (FOURTH, 592, "snb"),
        (FIFTH, 2097, "snb"),
    ],
)
def test_dankar(histogram, population, chosen):
    sizes, counts = arrays(histogram)
    for like_arx in (False, True):
        found = estimate("dankar", sizes, counts, population, like_arx=like_arx)
        assert found.estimator == chosen
        assert found.uniques == estimate(chosen, sizes, counts, population, like_arx=like_arx).uniques


def test_dankar_without_pitman():
    sizes, counts = arrays(SIXTH)
    assert estimate("dankar", sizes, counts, 600, like_arx=True) == ("pitman", 0.0, False)
    fallen_back = estimate("dankar", sizes, counts, 600, fallback=True, like_arx=True)
    assert fallen_back.estimator == "zayatz"
    assert fallen_back.uniques == pytest.approx(19.081493824)


@given(histograms(), st.sampled_from([0, 1, 2, 10, 100, 10**4, 10**6]), st.booleans(), st.booleans())
@often
def test_dankar_agrees_with_the_oracle(histogram, others, fallback, like_arx):
    sizes, counts = arrays(histogram)
    population = int((sizes * counts).sum()) + others
    name, uniques = twin.dankar(histogram, population, fallback, like_arx)
    found = estimate("dankar", sizes, counts, population, fallback=fallback, like_arx=like_arx)
    assume(uniques == 0 or uniques > 1e-200)
    assume((found.uniques == 0) == (uniques == 0) or not one_runs_away(histogram, like_arx))
    assert found.estimator == name.lower()
    assert (found.uniques == 0) == (uniques == 0)
    # A far negative exponent magnifies the solver's tolerance, where next to nobody is unique.
    assert found.uniques == pytest.approx(float(uniques), rel=1e-2, abs=1e-12)
