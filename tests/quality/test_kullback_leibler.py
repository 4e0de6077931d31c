"""Kullback-Leibler divergence: worked values of the reference on E1."""

from __future__ import annotations

from support.quality import evaluator, near, score
from veil import quality as q


def test_kullback_leibler_and_its_maximum():
    assert score(q.KullbackLeibler()) == near((1.739711559128,))
    low, high = evaluator(q.KullbackLeibler()).measure.extremes()
    assert low == (0.0,)
    assert high == near((2.8,))
