"""The compiled work of Mondrian does what plain Python does."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.masking.partition.kernels import ItemOrder
from veil.masking.partition.mondrian_kernels import _median


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 100_000), st.integers(1, 9)), min_size=2, max_size=60))
def test_the_median_is_found_among_many_more_values_than_items(items: list[tuple[int, int]]) -> None:
    ranks, weights = (np.array(each) for each in zip(*items, strict=True))
    every = np.repeat(ranks, weights)
    half = (every.size + 1) // 2
    room = np.empty(max(64, 2 * ranks.size), np.int64)
    low, high, order = int(ranks.min()), int(ranks.max()), np.arange(ranks.size)
    column = ranks.astype(np.int32)[:, None]
    median, below, upto = _median(ItemOrder(column, weights, order), 0, ranks.size, 0, low, high, half, room)
    assert median == np.sort(every)[half - 1]
    assert (below, upto) == ((every < median).sum(), (every <= median).sum())
