"""k-Ward against its slow twin, and worked examples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking import microaggregation as twins
from support.masking.microaggregation import as_sets, line
from veil.masking.microaggregation.records import Coordinates
from veil.masking.microaggregation.ward import joining_cost, k_ward

sometimes = settings(max_examples=60, deadline=None)


def cost(one: list[float], other: list[float]) -> float:
    return joining_cost(
        len(one), np.array([sum(one) / len(one)]), len(other), np.array([sum(other) / len(other)])
    )


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([2], [12], 50),
        ([12], [16], 8),
        ([16], [25], 40.5),
        ([25], [29], 8),
        ([29], [45], 128),
        ([2], [12, 16], 96),
        ([2], [45], 924.5),
        ([12, 16], [25, 29], 169),
        ([25, 29], [45], 216),
        ([2, 12, 16], [25, 29], 346.8),
        ([2, 12, 16], [45], 918.75),
    ],
)
def test_lecture_gerl_ward_distances(one, other, expected):
    assert cost(one, other) == pytest.approx(expected, abs=0.005)
    points = [[(float(x),) for x in group] for group in (one, other)]
    assert twins.ward_cost(*points) == pytest.approx(expected, abs=0.005)


@pytest.mark.parametrize(
    ("one", "other", "expected", "printed"),
    [([2], [25, 29], Fraction(1250, 3), 416.33), ([12, 16], [45], Fraction(1922, 3), 640.33)],
)
def test_lecture_gerl_two_ward_distances_are_misprinted(one, other, expected, printed):
    """2/3 * 25^2 is 416.67 and 2/3 * 31^2 is 640.67: the lecture's matrix ends both in a third instead of two."""
    exact = (
        Fraction(len(one) * len(other), len(one) + len(other))
        * (Fraction(sum(one), len(one)) - Fraction(sum(other), len(other))) ** 2
    )
    assert exact == expected
    assert cost(one, other) == pytest.approx(float(expected))
    assert printed == pytest.approx(float(expected) - 1 / 3, abs=0.005)


def test_lecture_gerl_ward_example_as_k_ward():
    """{2, 12, 16} and {25, 29, 45}: the two groups that the lecture's dendrogram is left with."""
    values = line(2, 12, 16, 25, 29, 45)
    assert as_sets(k_ward(values, 3)) == {frozenset([0, 1, 2]), frozenset([3, 4, 5])}
    assert as_sets(k_ward(values, 2)) == {frozenset([0, 1]), frozenset([2, 3]), frozenset([4, 5])}


@sometimes
@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=1, max_size=22), st.integers(1, 5)
)
def test_k_ward_is_its_twin(points, k):
    k = min(k, len(points))
    records = Coordinates(np.array(points, float).T.copy(), 2, np.empty(0))
    assert as_sets(k_ward(records, k)) == twins.k_ward([tuple(map(float, p)) for p in points], k)
