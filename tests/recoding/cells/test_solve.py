"""The search for the cheapest release under k-anonymity: between its bound and the best of all recodings."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.cells import exact_cost, is_rounded, problem_of
from support.recoding_bound import UNIT, bounded, least_loss, tiny_table
from veil.errors import ImpossibleError
from veil.outcome.lower_bound import LowerBound
from veil.plan.class_size import ForcedSize
from veil.plan.prepare import Prepared
from veil.recoding.cells.recoding import CellRecoding
from veil.recoding.cells.solve import solve
from veil.recoding.problem import CellProblem
from veil.verification.lower_bound import prove_bound


@pytest.mark.parametrize("threads", [1, 2])
@settings(max_examples=250)
@given(case=bounded(9))
def test_no_recoding_is_better_than_the_bound_and_none_is_broken(
    case: tuple[Prepared, ForcedSize], threads: int
) -> None:
    prepared, size = case
    size = dataclasses.replace(size, attribute=None, least_values=1)
    problem, table = problem_of(prepared, size), tiny_table(prepared, size)
    least = least_loss(table)
    losses: list[float] = []
    try:
        solution = solve(
            problem, seconds=0.02, threads=threads, progress=lambda loss, bound: losses.append(loss)
        )
    except ImpossibleError:
        assert least == math.inf
        return
    recoding = solution.recoding
    cost = exact_cost(table, recoding.levels.tolist(), recoding.suppressed.tolist())
    assert is_rounded(solution.cost, cost, table)
    assert least <= cost
    assert solution.bound is not None
    assert solution.prices is not None
    assert solution.bound <= least * UNIT
    proof = prove_bound(prepared, solution.prices, solution.suppression_price)
    assert isinstance(proof, LowerBound)
    assert solution.bound <= proof.bound <= least_loss(tiny_table(*case)) * UNIT
    assert losses == sorted(losses, reverse=True)
    assert [each for _, each, _ in solution.curve] == sorted(
        (each for _, each, _ in solution.curve), reverse=True
    )


@settings(max_examples=150)
@given(bounded(9))
def test_it_is_no_worse_than_its_start(case: tuple[Prepared, ForcedSize]) -> None:
    prepared, size = case
    problem = problem_of(prepared, size)
    try:
        best = solve(problem, seconds=0.02, threads=1)
    except ImpossibleError:
        return
    again = solve(problem, seconds=0, threads=1, start=best.recoding)
    assert again.cost <= best.cost
    top = CellRecoding(
        np.tile(np.array(problem.maximum, np.uint8), (len(problem.codes), 1)),
        np.zeros(len(problem.codes), np.bool_),
    )
    if all(
        size >= problem.smallest for size in np.unique(problem.cost_of(top.levels), return_counts=True)[1]
    ):
        assert solve(problem, seconds=0, threads=1, start=top).cost <= problem.cost_of(top.levels).sum()


@settings(max_examples=200)
@given(bounded(9), st.data())
def test_rows_of_many_records_stay_together(case: tuple[Prepared, ForcedSize], data: st.DataObject) -> None:
    prepared, size = case
    number = len(prepared.codes[0])
    counts = data.draw(st.lists(st.sampled_from([1, 1, 2, 3, 50]), min_size=number, max_size=number))
    allowed = data.draw(st.integers(0, sum(counts)))
    problem = dataclasses.replace(
        problem_of(prepared, size), counts=np.array(counts, np.int64), allowed=allowed, smallest=3
    )
    levels = np.tile(np.array(problem.maximum, np.uint8), (number, 1))
    suppressed = np.array([size < 3 for size in class_sizes(problem, levels)], np.bool_)
    assume(counts @ suppressed <= allowed)
    solution = solve(problem, seconds=0.02, threads=1, start=CellRecoding(levels, suppressed))
    kept = ~solution.recoding.suppressed
    assert counts @ ~kept <= allowed
    assert all(size >= 3 for size in class_sizes(problem, solution.recoding.levels, kept))
    costs = np.where(kept, problem.cost_of(solution.recoding.levels), UNIT)
    assert solution.cost == costs @ problem.counts
    assert solution.bound is not None
    assert solution.bound <= solution.cost


def class_sizes(problem: CellProblem, levels: np.ndarray, kept: np.ndarray | None = None) -> list[int]:
    """Return the number of records of the class of each row that is kept."""
    sizes: Counter[tuple[int, ...]] = Counter()
    labels = [
        tuple(
            int(number)
            for level, hierarchy, code in zip(row, problem.hierarchies, codes, strict=True)
            for number in (level, hierarchy.label_map(level)[code])
        )
        for row, codes in zip(levels.tolist(), problem.codes, strict=True)
    ]
    rows = range(len(labels)) if kept is None else np.flatnonzero(kept).tolist()
    for i in rows:
        sizes[labels[i]] += int(problem.counts[i])
    return [sizes[labels[i]] for i in rows]


@settings(max_examples=25)
@given(bounded(9))
def test_it_is_cancelled_at_any_moment(case: tuple[Prepared, ForcedSize]) -> None:
    prepared, size = case
    size = dataclasses.replace(size, attribute=None, least_values=1)
    problem, table = problem_of(prepared, size), tiny_table(prepared, size)
    for looks in (0, 1, 2, 3, 5, 8):
        left = iter(range(looks))
        try:
            solution = solve(problem, seconds=60, threads=1, cancel=lambda: next(left, None) is None)  # noqa: B023
        except ImpossibleError:
            return
        recoding = solution.recoding
        cost = exact_cost(table, recoding.levels.tolist(), recoding.suppressed.tolist())
        assert is_rounded(solution.cost, cost, table)
        assert solution.bound is not None
        assert solution.bound <= least_loss(table) * UNIT
