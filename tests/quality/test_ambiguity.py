"""Ambiguity: worked values of the reference on E1, and products of up to 63 bits."""

from __future__ import annotations

from support.quality import evaluator, score
from veil import quality as q


def test_ambiguity_and_its_maximum():
    assert score(q.Ambiguity()) == (76,)
    assert evaluator(q.Ambiguity()).measure.extremes() == ((10,), (400,))
