"""The estimators: worked values, the oracle, and long sums."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.oracle import population as twin
from support.population import FIFTH, FIRST, FOURTH, SIXTH, arrays, exactly, histograms, one_runs_away
from support.refusals import refused
from support.whole_sample import often
from veil.errors import ParameterError
from veil.population import estimate
from veil.population.dankar import certain_uniques
from veil.population.pitman import expected_uniques, pitman_solution, pitman_uniques
from veil.population.snb import snb_solution, snb_uniques
from veil.population.zayatz import zayatz_uniques

SECOND = {1: 400, 2: 120, 3: 50, 4: 20, 7: 5}


THIRD = {1: 200, 3: 30, 6: 10}


SEVENTH = {1: 20}


@pytest.mark.parametrize(
    ("estimator", "histogram", "population", "uniques"),
    [
        ("zayatz", FIRST, 14000, 1808.614755612),
        ("zayatz", FIRST, 1400, 202.409668099),
        ("zayatz", FIRST, 700, 114.139318301),
        ("zayatz", SECOND, 9050, 1964.405535261),
        ("zayatz", THIRD, 35000, 11584.753563154),
        ("zayatz", FOURTH, 592, 259.363932960),
        ("zayatz", FIFTH, 2097, 298.929914931),
        ("zayatz", SIXTH, 600, 19.081493824),
        ("zayatz", SEVENTH, 2000, 2000),
        ("snb", FOURTH, 592, 256.428139257),
        ("snb", FIFTH, 2097, 282.360205547),
        ("pitman", THIRD, 35000, 6228.399628629),
    ],
)
def test_worked_values(estimator, histogram, population, uniques):
    found = estimate(estimator, *arrays(histogram), population, like_arx=True).uniques
    assert found == pytest.approx(uniques, rel=0, abs=1e-9)  # as many digits as the reference prints


@pytest.mark.parametrize(
    ("histogram", "population", "uniques", "digits"),
    [(FIRST, 14000, 0.986284285, 1e-8), (FIRST, 1400, 23.936393718, 1e-9), (SECOND, 9050, 464.67374, 1e-7)],
)
def test_worked_values_to_the_solver_tolerance(histogram, population, uniques, digits):
    assert pitman_uniques(*arrays(histogram), population, True) == pytest.approx(uniques, rel=digits)


def test_worked_parameters():
    assert pitman_solution(*arrays(FIRST), True) == pytest.approx((True, 254.928715, -1.385056607), rel=1e-8)
    assert pitman_solution(*arrays(THIRD)) == pytest.approx((True, 40.8397108, 0.7440485), rel=1e-7)
    assert snb_solution(*arrays(FOURTH), 592, True) == pytest.approx(
        (True, 372.293155612, 1.434785488, 0.771165037), rel=1e-9
    )


@pytest.mark.parametrize(
    ("estimator", "histogram", "population"),
    [("snb", FIRST, 14000), ("snb", SIXTH, 600), ("pitman", SIXTH, 600)],
)
def test_unavailable(estimator, histogram, population):
    assert estimate(estimator, *arrays(histogram), population, like_arx=True) == (estimator, 0.0, False)


@pytest.mark.parametrize("estimator", ["dankar", "pitman", "zayatz", "snb"])
@pytest.mark.parametrize("sizes", [[], [2, 5]])
def test_nobody_is_unique(estimator, sizes):
    found = estimate(estimator, np.array(sizes, np.int64), np.ones(len(sizes), np.int64), 100)
    assert (found.uniques, found.available) == (0.0, True)


def test_population_smaller_than_the_sample():
    with refused(ParameterError, "`population`", "least 140", "not 139"):
        estimate("zayatz", *arrays(FIRST), 139)


@given(histograms(), st.sampled_from([0, 1, 2, 10, 100, 10**4, 10**6, 317238626]), st.booleans())
@often
def test_agrees_with_the_oracle(histogram, others, like_arx):
    sizes, counts = arrays(histogram)
    population = int((sizes * counts).sum()) + others
    exact = twin.zayatz(histogram, population)
    assert exactly(histogram, population) == exact
    assert zayatz_uniques(sizes, counts, population) == pytest.approx(float(exact), rel=1e-12)
    slide = twin.snb(histogram, population, like_arx)
    assert snb_uniques(sizes, counts, population, like_arx) == pytest.approx(slide, rel=1e-6)
    # The root is only as good as the solver's tolerance, but whether there is one must be the same.
    theirs = twin.pitman(histogram, population, like_arx)
    ours = pitman_uniques(sizes, counts, population, like_arx)
    assume(max(theirs, ours) > 1e-200 or theirs == ours == 0)
    assume((ours == 0) == (theirs == 0) or not one_runs_away(histogram, like_arx))
    assert (ours == 0) == (theirs == 0)
    assert ours == pytest.approx(theirs, rel=1e-2, abs=1e-12)


def test_a_single_record_solves_everything():
    """The twin, which does as ARX does, takes the first point that it looks at."""
    assert twin.pitman_solution({1: 1}, like_arx=True) == (0.0, 0.33)


@given(histograms(), st.sampled_from([0, 1, 2, 5, 20, 100]))
@often
def test_no_estimate_is_below_what_is_certain(histogram, others):
    sizes, counts = arrays(histogram)
    population = int((sizes * counts).sum()) + others
    certain = certain_uniques(sizes, counts, population)
    assert certain == max(0, histogram[1] - others)
    assert twin.zayatz(histogram, population) >= certain
    for name in ("pitman", "snb", "zayatz", "dankar"):
        found = estimate(name, sizes, counts, population)
        assert found.uniques >= certain or not found.available
        if found.available and not others and name != "pitman":
            assert found.uniques == pytest.approx(histogram[1], abs=1e-5)


@pytest.mark.parametrize(
    ("theta", "alpha", "population", "uniques"),
    [
        (3.0, 0.5, 100, 18.05406667352),  # 6 / Gamma(3.5) * 10
        (0.5, -1.8, 100, 6.688309196e-5),  # only without logarithms, as theta + alpha is negative
        (1e4, 0.1, 10**9, 31622.918905),  # only with logarithms
        (0.5, -1.2, 100, 0.0),  # negative
        (3.0, 0.0, 100, 0.0),
        (1e3, 0.9, 100, 0.0),  # more than everybody
        (1e9, -1e6, 10**6, 0.0),
    ],
)
def test_expected_uniques(theta, alpha, population, uniques):
    assert expected_uniques(theta, alpha, population) == pytest.approx(uniques, rel=1e-9)
