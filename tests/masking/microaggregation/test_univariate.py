"""Partitions of records in an order: fixed sizes, both ends, and the shortest path."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking import microaggregation as twins
from support.masking.microaggregation import few
from veil.masking.microaggregation.sums_of_squares import sums_of_squares
from veil.masking.microaggregation.univariate import (
    fixed_size,
    from_both_ends,
    principal_component,
    shortest_path,
)

sometimes = settings(max_examples=60, deadline=None)


@given(st.integers(1, 60), st.integers(1, 15))
def test_fixed_size_groups(rows, k):
    k = min(k, rows)
    sizes = np.bincount(fixed_size(np.arange(rows), k))
    assert (sizes[:-1] == k).all()
    assert k <= sizes[-1] < 2 * k


@given(st.integers(1, 60), st.integers(1, 15))
def test_soria_comas_algorithm_7_1(rows, k):
    """Cut from both ends, as printed."""
    k = min(k, rows)
    left, groups = list(range(rows)), []
    while len(left) >= 3 * k:
        groups += [left[:k], left[-k:]]
        left = left[k:-k]
    if len(left) >= 2 * k:
        groups.append(left[:k])
        left = left[k:]
    groups.append(left)
    expected = {row: number for number, group in enumerate(groups) for row in group}
    assert from_both_ends(np.arange(rows), k).tolist() == [expected[row] for row in range(rows)]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=7), st.integers(1, 4))
def test_hansen_mukherjee_no_partition_at_all_is_better(values, k):
    k = min(k, len(values))
    exact = [Fraction(value) for value in values]
    order = np.argsort(np.array(values), kind="stable")
    found = shortest_path(order, np.array(values, float)[:, None], k)
    assert np.bincount(found).min() >= k

    def numbered(groups):
        return [next(g for g, rows in enumerate(groups) if row in rows) for row in range(len(values))]

    best = min(
        twins.squares_within(exact, numbered(groups))
        for groups in twins.partitions(list(range(len(values))), k)
    )
    assert float(twins.squares_within(exact, found.tolist())) == pytest.approx(float(best), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(few, few), min_size=1, max_size=12), st.integers(1, 4))
def test_shortest_path_is_the_best_cut_of_an_order(points, k):
    k, points = min(k, len(points)), np.array(points)
    rows = len(points)

    def cuts(start):
        if start == rows:
            yield []
        for end in range(start + k, rows + 1):
            for further in cuts(end):
                yield [end - start, *further]

    best = min(sums_of_squares(points, np.repeat(np.arange(len(c)), c)).within for c in cuts(0))
    found = sums_of_squares(points, shortest_path(np.arange(rows), points, k)).within
    assert found == pytest.approx(best, abs=1e-9)


def test_soria_comas_algorithm_7_1_is_not_optimal():
    """The thesis calls it so. Groups of variable size can be better, and so can fixed ones cut elsewhere."""
    values = np.array([0.0, 1, 10, 11, 12, 20, 21])
    within = [
        sums_of_squares(values[:, None], groups).within
        for groups in (from_both_ends(np.arange(7), 2), shortest_path(np.arange(7), values[:, None], 2))
    ]
    assert within == pytest.approx([0.5 + 2 + 0.5, 3.0])
    values = np.array([0.0, 0, 0, 9, 9])
    ends, best = (
        sums_of_squares(values[:, None], groups).within
        for groups in (from_both_ends(np.arange(5), 2), shortest_path(np.arange(5), values[:, None], 2))
    )
    assert ends == pytest.approx(54)
    assert best == 0


def test_principal_component_of_points_on_a_line():
    points = np.array([[-2.0, -4], [0, 0], [2, 4]])
    assert principal_component(points) == pytest.approx([-np.sqrt(20), 0, np.sqrt(20)])
    assert principal_component(np.zeros((3, 2))).tolist() == [0, 0, 0]
