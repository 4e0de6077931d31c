"""Precision: worked values of the reference on E1."""

from __future__ import annotations

import pytest

from support.quality import near, vector
from veil import quality as q


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(0.5, [0.55, 0.1, 0.4]), (0.25, [0.5, 0.05, 0.35]), (0.75, [0.325, 0.1, 0.25])],
)
def test_precision(factor, expected):
    assert vector(q.Precision(factor=factor)) == near(expected)
