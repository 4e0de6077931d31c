"""Random orders and exchanges that several masks share."""

from __future__ import annotations

from collections import Counter

import numpy as np

from veil.base.randomness import Randomness
from veil.masking.parameters import in_random_order, redistribute


def test_every_order_of_a_group_is_equally_likely() -> None:
    """24 orders, 4,800 draws: each close to 200; all that leave some value in place are among them."""
    randomness = Randomness.for_testing(3)
    drawn = Counter(tuple(redistribute(np.zeros(4, np.int64), randomness).tolist()) for _ in range(4800))
    assert len(drawn) == 24
    # The 99.99 % quantile of chi-squared with 23 degrees of freedom.
    assert sum((count - 200) ** 2 / 200 for count in drawn.values()) < 55.3


def test_swapping_stays_within_groups() -> None:
    groups = np.array([0, 1, 0, 2, 1, 0])
    order = redistribute(groups, Randomness())
    assert (groups[order] == groups).all()
    assert sorted(order.tolist()) == list(range(6))


def test_rows_in_the_order_of_keys_are_shuffled_where_keys_are_equal() -> None:
    keys = np.array([1, 0, 1, 0, 1])
    orders = Counter(
        tuple(in_random_order(keys, Randomness.for_testing(seed)).tolist()) for seed in range(200)
    )
    assert len(orders) == 12
    assert all(keys[list(order)].tolist() == [0, 0, 1, 1, 1] for order in orders)
