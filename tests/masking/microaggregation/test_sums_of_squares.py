"""Sums of squares add up."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking import microaggregation as twins
from support.masking.microaggregation import few, floats
from veil.masking.microaggregation.sums_of_squares import sums_of_squares

sometimes = settings(max_examples=60, deadline=None)


@given(st.lists(st.tuples(few, floats, st.integers(0, 3)), min_size=1, max_size=20))
def test_sums_of_squares_add_up(drawn):
    points = np.array([each[:2] for each in drawn])
    groups = np.unique([each[2] for each in drawn], return_inverse=True)[1]
    found = sums_of_squares(points, groups)
    assert found.within + found.among == pytest.approx(found.total, rel=1e-9, abs=1e-9)
    exact = sum(
        twins.squares_within([Fraction(x) for x in column], groups.tolist()) for column in points.T.tolist()
    )
    assert found.within == pytest.approx(float(exact), rel=1e-9, abs=1e-9)
    assert 0 <= found.loss <= 1 + 1e-12


def test_lecture_gerl_among_groups_as_printed_does_not_add_up():
    """Printed, SSA counts every group size twice and takes the mean of group means for the mean of all."""
    values, groups = [1.0, 3.0, 5.0], [0, 0, 1]
    means, sizes = [2.0, 5.0], [2, 1]
    center = sum(means) / len(means)
    printed = sum(sizes[g] * (means[g] - center) ** 2 for g in groups)
    found = sums_of_squares(np.array(values)[:, None], np.array(groups))
    assert found.within + printed != pytest.approx(found.total)
    assert found.within + found.among == pytest.approx(found.total)
