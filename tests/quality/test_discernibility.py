"""Discernibility: worked values of the reference on E1."""

from __future__ import annotations

from support.quality import score
from veil import quality as q


def test_discernibility_is_a_whole_number():
    assert score(q.Discernibility()) == (31,)
    assert score(q.Discernibility(monotone=True)) == (22,)
    assert isinstance(score(q.Discernibility())[0], int)
