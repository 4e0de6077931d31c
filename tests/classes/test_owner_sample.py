"""Views of a class in which owners show several values."""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.oracle.people import worst_view as filled_up
from veil.classes.owner_sample import worst_view
from veil.classes.table import Histogram

quickly = settings(max_examples=150, deadline=None)


@quickly
@given(st.lists(st.sets(st.integers(0, 3), min_size=1), min_size=1, max_size=6))
def test_no_view_is_less_even_than_the_worst_one(shows: list[set[int]]) -> None:
    counts = Counter(value for values in shows for value in values)
    values = sorted(counts)
    histogram = Histogram(
        np.searchsorted(values, np.arange(5)).astype(np.int64),
        np.zeros(len(values), np.int32),
        np.array([counts[value] for value in values], np.int64),
    )
    found = sorted(worst_view(histogram, np.array([len(shows)])).counts.tolist(), reverse=True)
    assert found == filled_up(list(counts.values()), len(shows))
    worst = list(accumulate(found + [0] * 4))
    for view in product(*shows):
        ranked = sorted(Counter(view).values(), reverse=True)
        for i, most in enumerate(accumulate(ranked)):
            assert most <= worst[i]
        assert len(ranked) >= len(found)
