"""Average class size: worked values of the reference on E1."""

from __future__ import annotations

import pytest

from support.quality import FACTORS, near, score
from veil import quality as q


@pytest.mark.parametrize(
    ("factor", "expected"), list(zip(FACTORS, (2.0, 3.3333333333333, 2.2222222222222), strict=True))
)
def test_average_class_size(factor, expected):
    assert score(q.AverageClassSize(factor)) == near((expected,))
