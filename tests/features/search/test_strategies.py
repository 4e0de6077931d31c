"""Every strategy: what it finds when it may go on to the end, and what holds when it may not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.searching import best_of, every_node, rank
from support.surveys import EXHAUSTIVE, draw_evaluator, often, survey
from veil.errors import ParameterError
from veil.lattice import (
    BestEffort,
    DataFly,
    TopDown,
    by_name,
)
from veil.lattice.search import Limits, Search


@pytest.mark.slow
@pytest.mark.parametrize("strategy", EXHAUSTIVE, ids=repr)
def test_run_to_exhaustion_finds_the_optimum(strategy):
    @often
    @given(st.data())
    def check(data):
        evaluator, low, high = draw_evaluator(data)
        found = Search(evaluator, low, high).run(strategy)
        best = best_of(every_node(evaluator, low, high))
        assert found.proven
        assert found.ending == "finished"
        assert (found.best and rank(found.best)) == (best and rank(best))
        if best is not None:
            assert found.bound == best.score

    check()


def test_seeds_lead_elsewhere():
    seen = [
        Search(*survey(1.0), limits=Limits(checks=600)).run(BestEffort(seed=seed)).space.evaluated
        for seed in (0, 0, 1)
    ]
    assert seen[0] == seen[1] != seen[2]


def test_by_name():
    assert by_name("Best-Effort") == BestEffort()
    assert by_name("topdown") == TopDown()
    assert by_name("datafly") == DataFly()
    with refused(ParameterError, "`strategy`", "best_effort", "'lightening'"):
        by_name("lightening")
