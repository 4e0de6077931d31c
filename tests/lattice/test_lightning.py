"""Lightning and other heuristics: worked values of the reference."""

from __future__ import annotations

import pytest

from support.samples import E1, sample_of
from support.surveys import EXHAUSTIVE
from veil.lattice import (
    Lightning,
    TopDown,
)
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Limits, Search
from veil.models import KAnonymity
from veil.quality import Loss


@pytest.fixture
def example():
    return Evaluator(sample_of(E1), [KAnonymity(2)], Loss(), 0.1), (0, 0, 0), (2, 1, 3)


@pytest.mark.parametrize("strategy", EXHAUSTIVE, ids=repr)
def test_reference_unlimited_heuristics_all_find_the_same(strategy, example):
    assert Search(*example).run(strategy).best.levels == (1, 0, 1)


def test_reference_six_checks_from_the_bottom(example, monkeypatch):
    """Bounds that cost no check lead further in six of them; without those it is the reference's path."""
    assert Search(*example, limits=Limits(checks=6)).run(Lightning()).best.levels == (1, 0, 1)
    monkeypatch.setattr("veil.lattice.lightning._Climb._loses_too_much", lambda self, levels: False)
    best = Search(*example, limits=Limits(checks=6)).run(Lightning()).best
    assert best.levels == (0, 1, 0)
    assert best.score == pytest.approx((0.342574688877,), rel=1e-11)


def test_reference_six_checks_from_the_top(example):
    assert Search(*example, limits=Limits(checks=6)).run(TopDown()).best.levels == (1, 0, 3)
