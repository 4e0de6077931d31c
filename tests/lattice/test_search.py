"""Limits and threads of a search, with every strategy."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.samples import evaluate
from support.searching import best_of, every_node, rank
from support.surveys import ALL, draw_evaluator, often, survey
from veil.lattice import (
    Auto,
    BestEffort,
    Lightning,
    Optimal,
)
from veil.lattice.search import BATCH, Limits, Search


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ALL, ids=repr)
def test_stopped_at_any_number_of_checks(strategy):
    """The best so far is anonymous, what is claimed about the rest is true, and the limit is kept."""

    @often
    @given(st.data())
    def check(data):
        evaluator, low, high = draw_evaluator(data)
        most = data.draw(st.integers(1, 30))
        found = Search(evaluator, low, high, limits=Limits(checks=most)).run(strategy)
        best = best_of(every_node(evaluator, low, high))
        assert found.checks <= most
        assert found.ending in ("finished", "check limit")
        if found.best is not None:
            assert evaluate(evaluator, found.best.levels).anonymous
            assert rank(found.best) >= rank(best)
        if found.bound is not None and best is not None:
            assert found.bound <= best.score
        if found.proven:
            assert (found.best and found.best.levels) == (best and best.levels)
        scores = [score for _, _, score in found.curve]
        assert scores == sorted(scores, reverse=True)
        assert not scores or scores[-1] == found.best.score

    check()


@pytest.mark.parametrize("limit", [0.0, 1.0])
@pytest.mark.parametrize("strategy", ALL, ids=repr)
def test_the_same_whatever_the_number_of_threads(strategy, limit, monkeypatch):
    monkeypatch.setattr("veil.lattice.search.WORTH_A_THREAD", 0)
    alone, together = (
        Search(*survey(limit), threads=threads, limits=Limits(checks=700)).run(strategy) for threads in (1, 3)
    )
    assert alone.space.evaluated == together.space.evaluated
    assert alone.best == together.best
    assert [point[1:] for point in alone.curve] == [point[1:] for point in together.curve]


@pytest.mark.parametrize("strategy", [Auto(), BestEffort(), Lightning(), Optimal()], ids=repr)
def test_time_is_kept_and_cancelling_returns_the_best_so_far(strategy, monkeypatch):
    """On a clock that goes on by a millisecond whenever somebody looks at it: after the last, nobody works on."""
    with monkeypatch.context() as patch:
        ticks = itertools.count()
        patch.setattr(Search, "elapsed", property(lambda self: next(ticks) / 1000))
        found = Search(*survey(1.0), limits=Limits(seconds=0.2)).run(strategy)
    assert found.ending == "time limit"
    assert 0.2 < found.seconds < 0.203
    assert 0 < found.checks < 200 * BATCH
    asked = itertools.count()
    found = Search(*survey(1.0), limits=Limits(cancelled=lambda: next(asked) > 20)).run(strategy)
    assert found.ending == "cancelled"
    assert found.best is not None
    assert found.best.anonymous
    assert not found.proven
