"""Classification: worked values of the reference on E1."""

from __future__ import annotations

import pytest

from support.quality import near, score
from veil import quality as q


@pytest.mark.parametrize(
    ("factor", "expected"), [(0.5, 0.75), (0.25, 0.425), (0.75, 0.725), (0, 0.1), (1, 0.7)]
)
def test_classification_of_a_further_column(factor, expected):
    assert score(q.Classification(["S"], factor), (1, 0, 2)) == near((expected,))


def test_classification_of_a_quasi_identifier_as_well():
    assert score(q.Classification(["S", "G"])) == near((1.4,))
