"""The estimators: worked values, the oracle, and long sums."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from support.oracle import population as twin
from support.refusals import refused
from support.whole_sample import often
from veil.errors import ParameterError
from veil.population import estimate, zayatz
from veil.population.dankar import certain_uniques
from veil.population.pitman import expected_uniques, pitman_solution, pitman_uniques
from veil.population.snb import snb_solution, snb_uniques
from veil.population.zayatz import exact_zayatz, zayatz_between, zayatz_is_at_most, zayatz_uniques

FIRST = {1: 50, 2: 20, 3: 10, 5: 4}
SECOND = {1: 400, 2: 120, 3: 50, 4: 20, 7: 5}
THIRD = {1: 200, 3: 30, 6: 10}
FOURTH = {1: 247, 2: 64, 3: 33, 4: 10, 5: 3, 6: 1}
FIFTH = {1: 305, 2: 186, 3: 103, 4: 63, 5: 42, 6: 21, 7: 16, 8: 9, 9: 5, 10: 3, 11: 2, 12: 1, 13: 1}
SIXTH = {1: 10, 2: 10, 3: 10}
SEVENTH = {1: 20}

FAR = 1e4
"""A theta that no small table has."""


def arrays(histogram):
    sizes = sorted(histogram)
    return np.array(sizes), np.array([histogram[size] for size in sizes])


def exactly(histogram, population):
    above, below = exact_zayatz(*arrays(histogram), population)
    return Fraction(int(above), int(below))


def one_runs_away(histogram, like_arx):
    """Whether one of both solvers ends far out, where rounding errors decide which way it went, as for 1:10, 2:4, 5:1."""
    theirs = twin.pitman_solution(histogram, like_arx)
    found, ours, _ = pitman_solution(*arrays(histogram), like_arx)
    return (theirs is not None and theirs[0] > FAR) or (found and ours > FAR)


@st.composite
def histograms(draw, max_size=12):
    sizes = draw(st.lists(st.sampled_from([1, 1, 1, 2, 2, 3, 4, 5, 7, max_size]), min_size=1, max_size=60))
    return dict(sorted(Counter([1, *sizes]).items()))


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


# --- where an estimator knows nothing, and where everything is known -------------------------------


@pytest.mark.parametrize("records", [1, 2, 3, 4, 5, 10, 100, 5000])
@pytest.mark.parametrize("others", [0, 1, 9, 10**4, 80_767_000])
def test_pitman_has_no_estimate_where_all_are_unique(records, others):
    """Of a single record the likelihood is 1 for all parameters; of more it has no maximum."""
    sizes, counts = arrays({1: records})
    for like_arx in (False, True):
        found = estimate("pitman", sizes, counts, records + others, like_arx=like_arx)
        assert found == ("pitman", 0.0, False)
    found = estimate("dankar", sizes, counts, records + others)
    assert found.available == (10 * records > records + others)
    assert found.uniques == pytest.approx(records + others if found.available else 0)
    fallen_back = estimate("dankar", sizes, counts, records + others, fallback=True)
    assert fallen_back.uniques == pytest.approx(records + others)


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


def test_pitman_of_a_sample_that_is_the_population():
    """Its model knows nothing of that: it expects 5.87 uniques where there are 8, of whom 6 are certain."""
    histogram = {1: 8, 2: 1, 3: 1, 4: 1, 5: 4, 7: 3, 12: 8}
    sizes, counts = arrays(histogram)
    assert pitman_uniques(sizes, counts, 156, True) == pytest.approx(5.86984, rel=1e-5)
    assert estimate("pitman", sizes, counts, 156, like_arx=True).uniques == 6
    assert estimate("pitman", sizes, counts, 154, like_arx=True).uniques == 8


def test_the_last_restart_gets_a_single_step():
    """With more, the solver would run away from it to infinity and call that a solution."""
    histogram = {1: 16, 2: 1, 4: 1}
    assert twin.pitman_solution(histogram, like_arx=True) is None
    assert not pitman_solution(*arrays(histogram), True)[0]


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


def test_a_root_far_from_the_start_of_a_large_table():
    """Sizes like those of a real table of 30,162 records: the sums are long, the root is still a root."""
    sizes = np.array([1, 2, 3, 4, 5, 6, 8, 10, 20, 50, 137])
    counts = np.array([8841, 1700, 700, 350, 200, 130, 100, 80, 60, 40, 5])
    found, theta, alpha = pitman_solution(sizes, counts)
    assert found
    records, classes = int((sizes * counts).sum()), int(counts.sum())
    i, j = np.arange(1, classes), np.arange(1, records)
    assert abs(np.sum(1 / (theta + i * alpha)) - np.sum(1 / (theta + j))) < 1.1e-6
    within = sum(c * np.sum(1 / (np.arange(1, s) - alpha)) for s, c in zip(sizes, counts, strict=True))
    assert abs(np.sum(i / (theta + i * alpha)) - within) < 1.1e-6


# --- the equations of the papers --------------------------------------------------------------------


@pytest.mark.parametrize("fraction", [0.5, 0.6, 0.7, 0.8, 0.95])
@pytest.mark.parametrize("of_population", [(10_000, 1.0, 0.5), (12_000, 0.5, 0.25), (8_000, 0.8, 0.5)])
def test_the_slide_negative_binomial_finds_the_uniques_of_simulated_populations(of_population, fraction):
    """Populations as the model has them. By ARX's equations there is no estimate at all up to 0.7, or one of half."""
    classes, a, b = of_population
    draw = np.random.default_rng(1)
    people = 1 + draw.negative_binomial(a, b, classes)
    population, unique = int(people.sum()), int((people == 1).sum())
    sample = draw.permutation(np.repeat(np.arange(classes), people))[: round(fraction * population)]
    sizes, counts = np.unique(np.unique(sample, return_counts=True)[1], return_counts=True)
    found = estimate("snb", sizes, counts, population)
    assert found.available
    assert found.uniques == pytest.approx(unique, rel=0.05 if fraction < 0.8 else 0.025)
    theirs = estimate("snb", sizes, counts, population, like_arx=True)
    assert theirs.available == (fraction == 0.95) or theirs.uniques < 0.95 * unique
    rule = estimate("dankar", sizes, counts, population)
    simple = estimate("zayatz", sizes, counts, population)
    assert rule.uniques == min(found.uniques, simple.uniques)


def test_pitman_with_nearly_all_records_unique():
    """99.2 % are, and the root below 0 says that 0.1 % of the people are; at alpha = 0 it is 2.4 %."""
    histogram, population = {1: 198_399, 2: 796, 3: 3}, 1_033_511_974
    sizes, counts = arrays(histogram)
    assert histogram[1] / (sizes * counts).sum() == pytest.approx(0.992, abs=1e-4)
    assert pitman_solution(sizes, counts, True)[2] < 0
    theirs = estimate("pitman", sizes, counts, population, like_arx=True).uniques / population
    assert theirs == pytest.approx(0.00085, rel=0.01)
    assert pitman_solution(sizes, counts)[2] == 0
    assert estimate("pitman", sizes, counts, population).uniques / population == pytest.approx(0.024)


@given(histograms(), st.sampled_from([100, 10**4, 10**6]))
@often
def test_pitman_takes_no_alpha_out_of_range_and_the_limit_at_zero(histogram, others):
    sizes, counts = arrays(histogram)
    found, theta, alpha = pitman_solution(sizes, counts)
    records, classes = int((sizes * counts).sum()), int(counts.sum())
    if classes == records:
        assert not found
    elif found:
        assert 0 <= alpha < 1
        near_zero = expected_uniques(theta, 1e-9, records + others)
        if alpha == 0:  # the likelihood is less on every side
            assert pitman_uniques(sizes, counts, records + others) == pytest.approx(near_zero, rel=1e-6)
            at = log_likelihood(histogram, theta, 0.0)
            for other_theta, other_alpha in ((1.01 * theta, 0.0), (0.99 * theta, 0.0), (theta, 0.01)):
                assert log_likelihood(histogram, other_theta, other_alpha) < at + 1e-9


def log_likelihood(histogram, theta, alpha):
    """Pitman's sampling formula, but for what does not depend on the parameters."""
    records, classes = twin.sample_size(histogram), sum(histogram.values())
    founded = sum(math.log(theta + i * alpha) for i in range(1, classes))
    joined = sum(count * math.log(j - alpha) for k, count in histogram.items() for j in range(1, k))
    return founded + joined - sum(math.log(theta + i) for i in range(1, records))
