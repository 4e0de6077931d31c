"""Counts of buckets in groups: worked values, and their repair."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.errors import NoSolutionError
from veil.masking.ties.buckets import bucket_sizes, counts_as_published, fitting_counts, group_sizes


def worst_ratio(counts) -> Fraction:
    """Definition 15 on counts (groups, buckets)."""
    records, supply = int(counts.sum()), counts.sum(axis=0)
    ratios = [
        Fraction(int(count) * records, int(supply[bucket]) * int(row.sum()))
        for row in counts
        for bucket, count in enumerate(row)
    ]
    return max(max(ratio, 1 / ratio) for ratio in ratios)


@pytest.mark.parametrize(
    ("records", "t", "first", "ratio"),
    [
        (12, 2, [2, 1, 1], Fraction(3, 2)),
        (36, 2, [8, 2, 2], Fraction(2)),
        (100, 3, [16, 3, 3, 3], Fraction("2.56")),
    ],
)
def test_soria_comas_worked_buckets(records, t, first, ratio):
    """Figure 7.5 and Table 7.5 (N = 12); the others by the same rule."""
    counts = counts_as_published(records, t, 1)
    assert counts[0].tolist() == first
    assert worst_ratio(counts) == ratio
    assert (fitting_counts(records, t, 1) == counts).all()


def test_soria_comas_counts_as_published_overdraw_buckets():
    """N = 50, t = 2, three groups for each bucket: one and two records too many of two buckets, three left over."""
    counts = counts_as_published(50, 2, 3)
    assert (bucket_sizes(50, 2) - counts.sum(axis=0)).tolist() == [-1, 3, -2]
    repaired = fitting_counts(50, 2, 3)
    assert (repaired.sum(axis=0) == bucket_sizes(50, 2)).all()
    assert worst_ratio(repaired) <= 2


def test_soria_comas_printed_bucket_limits_leave_the_last_bucket_short():
    """With a ceiling instead of rounding, 12 values would make buckets of 5, 4 and 3."""
    printed = [0, *(-(-(2 * j * 12 + 3) // 6) for j in (1, 2)), 12]
    assert np.diff(printed).tolist() == [5, 4, 3]
    assert bucket_sizes(12, 2).tolist() == [4, 4, 4]


@settings(max_examples=150, deadline=None)
@given(st.integers(2, 6), st.integers(9, 400), st.integers(1, 40))
def test_repaired_counts_fit_and_are_close(t, records, times):
    times = min(times, records // (t + 1) ** 2)
    if times == 0:
        return
    counts = fitting_counts(records, t, times)
    assert (counts.sum(axis=0) == bucket_sizes(records, t)).all()
    assert (counts.sum(axis=1) == group_sizes(records, (t + 1) * times)).all()
    assert worst_ratio(counts) <= t


def test_counts_that_cannot_be_made_to_fit():
    with refused(NoSolutionError, "10 records", "6 groups", "`k`"):
        fitting_counts(10, 2, 2)
