"""Greedy searches, against their definitions."""

from __future__ import annotations

import dataclasses

from hypothesis import given
from hypothesis import strategies as st

from support import oracle, strategies
from support.samples import evaluate, sample_of
from support.surveys import draw_evaluator, often
from veil.lattice import (
    DataFly,
    ImprovedGreedy,
    TopDown,
)
from veil.lattice.evaluator import Evaluator
from veil.lattice.search import Search
from veil.models import KAnonymity
from veil.quality import Loss


def path_by_definition(problem, k, allowed, choose):
    """Walk from the bottom as `choose` says until few enough records lie in small classes."""
    levels = [0] * problem.width
    while True:
        classes = oracle.classes(problem, tuple(levels))
        if sum(len(members) for members in classes if len(members) < k) <= allowed:
            return tuple(levels)
        can_rise = [j for j, height in enumerate(problem.heights) if levels[j] < height]
        if not can_rise:
            return None
        levels[choose(levels, can_rise)] += 1


def distinct(problem, levels, j):
    return len({row[j] for row in oracle.generalize(problem, tuple(levels))})


@often
@given(st.data())
def test_data_fly_by_definition(data):
    problem = dataclasses.replace(
        data.draw(strategies.problems(max_width=4, max_height=3, microaggregated=None)), subset=None
    )
    k, limit = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([0.0, 0.2]))

    def most_distinct(levels, can_rise):
        return max(can_rise, key=lambda j: (distinct(problem, levels, j), -j))

    evaluator = Evaluator(sample_of(problem), [KAnonymity(k)], Loss(), limit)
    found = Search(evaluator, (0,) * problem.width, problem.heights).run(DataFly()).best
    expected = path_by_definition(problem, k, evaluator.allowed, most_distinct)
    assert (found and found.levels) == expected


@often
@given(st.data())
def test_improved_greedy_by_definition(data):
    problem = dataclasses.replace(
        data.draw(strategies.problems(max_width=4, max_height=3, microaggregated=None)), subset=None
    )
    k, limit = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([0.0, 0.2]))

    def largest_smallest_class(levels, can_rise):
        def smallest(j):
            raised = tuple(level + (i == j) for i, level in enumerate(levels))
            return min(len(members) for members in oracle.classes(problem, raised))

        return max(can_rise, key=lambda j: (smallest(j), distinct(problem, levels, j), -j))

    evaluator = Evaluator(sample_of(problem), [KAnonymity(k)], Loss(), limit)
    found = Search(evaluator, (0,) * problem.width, problem.heights).run(ImprovedGreedy()).best
    expected = path_by_definition(problem, k, evaluator.allowed, largest_smallest_class)
    assert (found and found.levels) == expected


@often
@given(st.data())
def test_minimal_from_the_top_has_no_anonymous_better_predecessor(data):
    evaluator, low, high = draw_evaluator(data)
    search = Search(evaluator, low, high)
    found = search.run(TopDown(minimal=True)).best
    if found is not None:
        below = [evaluate(evaluator, levels) for _, levels in search.space.predecessors(found.levels)]
        assert all(not each.anonymous or each.score >= found.score for each in below)
