"""Pitman: estimates at the ends of its parameters, and worked values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.oracle import population as twin
from support.population import arrays, histograms
from support.whole_sample import often
from veil.population import estimate
from veil.population.pitman import expected_uniques, pitman_solution, pitman_uniques


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
