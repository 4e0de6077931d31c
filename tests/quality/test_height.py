"""Height: worked values of the lecture of A. Gerl, on its tree of illnesses."""

from __future__ import annotations

import pytest

from support.illnesses import ILLNESSES, score
from veil import quality as q


@pytest.mark.parametrize(("level", "share"), [(0, 0), (1, 0.5), (2, 1)])
def test_lecture_gerl_height_of_50_percent(level, share):
    """h / (H - 1) with H = 3 levels, which here is a height of 2."""
    assert score("HIV", q.Height(), level) / ILLNESSES.height == share
    assert score("HIV", q.Precision(), level) == share
