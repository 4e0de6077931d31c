"""The local search of a problem: where it starts, which records it moves, and the levels that come of it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from support.cells import exact_cost, is_rounded, problem_of
from support.recoding_bound import UNIT, bounded, least_loss, tiny_table
from veil import hierarchies as h
from veil import models as m
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.recoding.cells.improve import Items, LocalSearch
from veil.recoding.cells.labels import CellLabels, DistinctRows, fallbacks, labels_of, walk
from veil.recoding.problem import CellProblem


def search_of(problem: CellProblem) -> LocalSearch:
    rows = DistinctRows.of(problem)
    found = [
        *walk(rows, problem.smallest, np.full(len(rows), 2 * UNIT, np.int64)),
        *fallbacks(rows, problem.smallest, problem.maximum),
    ]
    search = LocalSearch(problem, rows, Items(problem, rows), CellLabels.of(found), 0)
    search.start()
    return search


@settings(max_examples=300)
@given(bounded(8))
def test_a_start_is_a_recoding_where_there_is_one(case: tuple[Prepared, ForcedSize]) -> None:
    prepared, size = case
    if size.least_values > 1:
        size = ForcedSize(size.smallest, size.allowed)
    problem, table = problem_of(prepared, size), tiny_table(prepared, size)
    search = search_of(problem)
    if least_loss(table) == math.inf:
        assert search.state.size[-1] > problem.allowed
        return
    recoding = search.recoding(search.state.label, search.labels)
    cost = exact_cost(table, recoding.levels.tolist(), recoding.suppressed.tolist())
    assert is_rounded(search.total, cost, table)


@settings(max_examples=200)
@given(bounded(9))
def test_a_search_goes_on_from_a_recoding(case: tuple[Prepared, ForcedSize]) -> None:
    """Where no row has records to spare, it starts at the recoding itself; else it costs no more."""
    prepared, size = case
    problem = problem_of(prepared, ForcedSize(size.smallest, size.allowed))
    table = tiny_table(prepared, ForcedSize(size.smallest, size.allowed))
    if least_loss(table) == math.inf:
        return
    first = search_of(problem)
    recoding = first.recoding(first.state.label, first.labels)
    rows = DistinctRows.of(problem)
    found = [
        *fallbacks(rows, problem.smallest, problem.maximum),
        *labels_of(rows, recoding.levels, ~recoding.suppressed),
    ]
    again = LocalSearch(problem, rows, Items(problem, rows), CellLabels.of(found), 0)
    again.start_at(recoding)
    start = again.recoding(again.state.label, again.labels)
    assert is_rounded(again.total, exact_cost(table, start.levels.tolist(), start.suppressed.tolist()), table)
    if not again.items.plenty.any():
        assert again.total == first.total


def test_records_that_no_label_takes_are_suppressed_first() -> None:
    """One record may be suppressed: b, of which there is no second. So a' has to join the others in A."""
    tree = h.table([["a", "A", "*"], ["a'", "A", "*"], ["b", "B", "*"]])
    plan = Plan({"q": tree}, m.KAnonymity(2), suppression_limit=0.25, maximum_levels={"q": 1}, person=None)
    prepared = prepare(pa.table({"q": ["a", "a", "a'", "b"]}), plan)
    size = forced_size(prepared)
    assert isinstance(size, ForcedSize)
    search = search_of(problem_of(prepared, size))
    recoding = search.recoding(search.state.label, search.labels)
    assert recoding.suppressed.tolist() == [False, False, False, True]
    assert recoding.levels[:3].tolist() == [[1], [1], [1]]


@pytest.mark.parametrize("copies", [3, 4, 5, 300])
def test_of_many_equal_records_a_class_stays_and_some_may_help(copies: int) -> None:
    table = pa.table({"q": ["a"] * copies + ["b"]})
    plan = Plan({"q": h.suppression()}, m.KAnonymity(2), person=None)
    problem = CellProblem.of(prepare(table, plan), 2)
    items = Items(problem, DistinctRows.of(problem))
    of_a = int((items.weights[items.row == items.row[np.argmax(items.origin < copies)]]).sum())
    moving = copies if copies < 4 else min(copies - 2, 100)
    assert of_a == moving
    assert items.fixed.tolist() == [copies - moving, 0]
    search = search_of(problem)
    # One of them joins b, and a class of a remains.
    assert search.total == 2 * UNIT
