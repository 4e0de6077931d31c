"""What the search asks of t-closeness."""

from __future__ import annotations

import numpy as np
import pytest

from support import oracle
from support.samples import sample_of
from veil.models import TCloseness


@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_sums_of_classes_that_are_decided_at_once_fit_64_bits(distance: str) -> None:
    problem = oracle.Problem([("a",)] * 6, [[["a", "*"]]], sensitive={"S": ["x", "x", "y", "y", "z", "z"]})
    criterion = TCloseness("S", 0.3, distance).bind(sample_of(problem))
    most = np.iinfo(np.int64).max
    width = criterion.scale + criterion.records
    assert criterion.room * width <= most < (criterion.room + 1) * width


@pytest.mark.parametrize("distance", ["equal", "ordered"])
@pytest.mark.parametrize("last", [0, 1])
def test_the_last_class_that_is_undecided_is_judged(distance: str, last: int) -> None:
    problem = oracle.Problem(
        [("a",), ("a",), ("b",), ("b",)], [[["a", "*"], ["b", "*"]]], sensitive={"S": [1, 1, 9, 9]}
    )
    sample = sample_of(problem)
    rejected = np.ones(2, np.uint8)
    rejected[last] = 0
    TCloseness("S", 0.1, distance).bind(sample).reject(sample.table, rejected)
    assert rejected.all()
