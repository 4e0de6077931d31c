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
