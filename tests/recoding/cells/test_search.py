"""Moves between labels: whatever they try, records stay under their labels, in classes of enough records."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cells import members_of, problem_of
from support.recoding_bound import UNIT, bounded
from veil.plan.class_size import ForcedSize
from veil.plan.prepare import Prepared
from veil.recoding.cells.improve import Items, LocalSearch
from veil.recoding.cells.labels import CellLabels, DistinctRows, fallbacks, walk
from veil.recoding.cells.search import transpose


def search_of(case: tuple[Prepared, ForcedSize], seed: int) -> LocalSearch:
    problem = problem_of(*case)
    rows = DistinctRows.of(problem)
    caps = np.full(len(rows), 2 * UNIT, np.int64)
    found = [*walk(rows, problem.smallest, caps), *fallbacks(rows, problem.smallest, problem.maximum)]
    return LocalSearch(problem, rows, Items(problem, rows), CellLabels.of(found), seed)


def check(search: LocalSearch) -> None:
    """Look at all that a state says twice."""
    field, state, items = search.field, search.state, search.items
    last = len(search.labels.costs)
    under = members_of(search.labels)
    sizes = field.fixed.copy()
    np.add.at(sizes, state.label, items.weights)
    assert state.size.tolist() == sizes.tolist()
    for item, label in enumerate(state.label.tolist()):
        assert label == last or int(items.row[item]) in under[label]
    for label, first in enumerate(state.head.tolist()):
        listed, before = [], -1
        while first >= 0:
            assert state.before[first] == before
            listed.append(first)
            before, first = first, int(state.after[first])
        assert sorted(listed) == np.flatnonzero(state.label == label).tolist()
    smallest = search.problem.smallest
    assert all(size == 0 or size >= smallest for size in state.size[:-1].tolist())
    costs = [*search.labels.costs.tolist(), UNIT]
    assert search.total == sum(cost * size for cost, size in zip(costs, state.size.tolist(), strict=True))


@settings(max_examples=300)
@given(bounded(12), st.integers(0, 1000), st.sampled_from([0.0, 0.01, 0.3]))
def test_moves_leave_classes_of_enough_records(
    case: tuple[Prepared, ForcedSize], seed: int, temperature: float
) -> None:
    search = search_of(case, seed)
    search.start()
    check(search)
    suppressed = int(search.state.size[-1])
    for moves in (1, 1, 2, 5, 20, 100):
        if not len(search.pool):
            return
        before = search.total
        search.run(moves, temperature)
        check(search)
        assert search.state.size[-1] <= max(suppressed, search.problem.allowed)
        # Nothing is lost without heat, but by rounding.
        assert temperature or search.total <= before + len(search.items.row)


@settings(max_examples=100)
@given(bounded(12))
def test_labels_above_rows_are_rows_under_labels(case: tuple[Prepared, ForcedSize]) -> None:
    search = search_of(case, 0)
    labels, rows = search.labels, len(search.rows)
    starts, above = transpose(labels.starts, labels.rows, rows)
    under = members_of(labels)
    for i in range(rows):
        here = above[starts[i] : starts[i + 1]].tolist()
        assert here == [label for label, members in enumerate(under) if i in members]
