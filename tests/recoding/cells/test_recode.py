"""Recoding cell by cell under the models of a plan, against the best of all recodings of a few records."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings

from support.cells import exact_cost, is_rounded, recoded
from support.recoding_bound import UNIT, bounded, least_loss, tiny_table
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.errors import ImpossibleError, NoSolutionError, PlanError
from veil.outcome.lower_bound import LowerBound
from veil.plan.class_size import ForcedSize
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import Loss
from veil.verification.lower_bound import prove_bound


@settings(max_examples=500)
@given(bounded(9))
def test_a_release_lies_between_its_bound_and_the_best_recoding(case: tuple[Prepared, ForcedSize]) -> None:
    prepared, size = case
    table = tiny_table(prepared, size)
    least = least_loss(table)
    try:
        solution = recoded(prepared, 0.02)
    except (NoSolutionError, ImpossibleError):
        assert least == math.inf
        return
    cost = exact_cost(table, solution.levels.tolist(), solution.suppressed.tolist())
    assert is_rounded(solution.cost, cost, table)
    assert least <= cost
    assert solution.prices is not None
    proof = prove_bound(prepared, solution.prices, solution.suppression_price)
    assert isinstance(proof, LowerBound)
    assert proof.bound <= least * UNIT


@settings(max_examples=25)
@given(bounded(9))
def test_it_ends_at_any_moment(case: tuple[Prepared, ForcedSize]) -> None:
    prepared, size = case
    table = tiny_table(prepared, size)
    for looks, seconds in ((0, 60), (1, 60), (3, 60), (10, 60), (math.inf, 0.0001)):
        count = iter(range(10**6 if looks == math.inf else int(looks)))
        try:
            solution = recoded(prepared, seconds, cancel=lambda: next(count, None) is None)  # noqa: B023
        except (NoSolutionError, ImpossibleError):
            continue  # not even one recoding was looked at
        exact_cost(table, solution.levels.tolist(), solution.suppressed.tolist())
        if solution.prices is not None:
            proof = prove_bound(prepared, solution.prices, solution.suppression_price)
            assert isinstance(proof, LowerBound)
            assert proof.bound <= least_loss(table) * UNIT


TABLE = pa.table({"q": ["a", "a", "b", "b", "b"], "S": ["x", "y", "x", "y", "z"]})
TREE = h.table([["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]])


def prepared(*models: Any, **options: Any) -> Prepared:
    return prepare(TABLE, Plan({"q": TREE}, models, sensitive="S", person=None, **options))


@pytest.mark.parametrize("models", [[m.KAnonymity(2)], [m.KAnonymity(2), m.DistinctLDiversity("S", 2)]])
def test_nothing_is_lost_where_nothing_need_be(models: list[Any]) -> None:
    solution = recoded(prepared(*models))
    assert (solution.cost, solution.levels.tolist()) == (0, [[0]] * 5)
    assert not solution.suppressed.any()


def test_more_than_there_is_has_no_solution() -> None:
    with refused(NoSolutionError):
        recoded(prepared(m.KAnonymity(3), m.DistinctLDiversity("S", 3), maximum_levels={"q": 0}))
    # b has three records with three values, a has two.
    some = [m.KAnonymity(3), m.DistinctLDiversity("S", 3)]
    solution = recoded(prepared(*some, maximum_levels={"q": 0}, suppression_limit=0.4))
    assert solution.suppressed.tolist() == [True, True, False, False, False]
    assert solution.cost == 2 * UNIT


def test_models_that_judge_all_classes_together_are_refused() -> None:
    with refused(PlanError, "AverageReidentificationRisk", "KAnonymity"):
        recoded(prepared(m.AverageReidentificationRisk(0.5)))


def test_the_loss_is_the_arithmetic_mean_whatever_the_plan_says() -> None:
    """a and b become A, which costs half of a record each."""
    for aggregate in ("arithmetic_mean", "geometric_mean"):
        assert recoded(prepared(m.KAnonymity(3), quality=Loss(aggregate=aggregate))).cost == UNIT // 2 * 5
