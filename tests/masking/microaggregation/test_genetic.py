"""Genetic refinement: never worse than its start, and groups stay large enough."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking.microaggregation import few, floats
from veil.base.randomness import Randomness
from veil.masking.microaggregation.genetic import _mutate, _neighbours, _tally, genetic
from veil.masking.microaggregation.sums_of_squares import sums_of_squares
from veil.masking.microaggregation.univariate import fixed_size

sometimes = settings(max_examples=60, deadline=None)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(few, floats), min_size=1, max_size=30), st.integers(1, 5), st.integers(0, 2**32))
def test_genetic_refinement_is_never_worse_and_keeps_groups_large(points, k, seed):
    k, points = min(k, len(points)), np.array(points)
    start = fixed_size(np.arange(len(points)), k)
    found = genetic(points, start, k, 5, 4, Randomness.for_testing(seed))
    assert np.bincount(found).min() >= k
    assert sums_of_squares(points, found).within <= sums_of_squares(points, start).within * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(few, floats), min_size=4, max_size=30), st.integers(1, 5), st.integers(0, 2**32))
def test_genetic_changes_do_not_raise_the_sum_of_squares(points, k, seed):
    k, points = min(k, len(points) // 2), np.array(points)
    groups = fixed_size(np.arange(len(points)), k)
    before = sums_of_squares(points, groups).within
    sums, sizes = np.empty((groups.max() + 1, 2)), np.empty(groups.max() + 1, np.int64)
    _tally(points, groups, sums, sizes)
    _mutate(points, groups, sums, sizes, k, _neighbours(points), np.array([seed], np.uint64))
    assert np.bincount(groups).min() >= k
    assert np.bincount(groups, minlength=sizes.size).tolist() == sizes.tolist()
    assert sums_of_squares(points, groups).within <= before * (1 + 1e-9)


def test_genetic_refinement_finds_clusters():
    draws = np.random.default_rng(5)
    points = np.concatenate([draws.normal(center, 0.1, (6, 2)) for center in (0, 5, 10, 15)])
    start = np.arange(24) % 4
    found = genetic(points, start, 6, 60, 10, Randomness.for_testing(1))
    assert sums_of_squares(points, found).loss < sums_of_squares(points, start).loss / 100
