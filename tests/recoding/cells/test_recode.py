"""Recoding cell by cell under the models of a plan, against the best of all recodings of a few records."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import event, given, settings

from support.cells import exact_cost, is_rounded, recoded
from support.recoding_bound import UNIT, TinyPeople, bounded, bounded_people, least_loss, tiny_table
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.base.progress import Progress
from veil.errors import ImpossibleError, NoSolutionError, PlanError
from veil.outcome.generalize import search_best
from veil.outcome.lower_bound import LowerBound
from veil.plan.class_size import ForcedSize
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import Loss
from veil.recoding.passes import Recoder
from veil.recoding.problem import CellProblem
from veil.verification.lower_bound import prove_bound


@settings(max_examples=500)
@given(bounded(9))
def test_a_release_lies_between_its_bound_and_the_best_recoding(case: tuple[Prepared, ForcedSize]) -> None:
    prepared, size = case
    table = tiny_table(prepared, size)
    least = least_loss(table)
    solution, message = None, ""
    try:
        solution = recoded(prepared, 0.02)
    except (NoSolutionError, ImpossibleError) as error:
        message = str(error)
    if solution is None:  # a busy machine looks at nothing in so short a time
        assert least == math.inf or "time limit" in message
        return
    cost = exact_cost(table, solution.levels.tolist(), solution.suppressed.tolist())
    assert is_rounded(solution.cost, cost, table)
    assert least <= cost
    assert solution.prices is not None
    proof = prove_bound(prepared, solution.prices, solution.suppression_price)
    assert isinstance(proof, LowerBound)
    assert proof.bound <= least * UNIT
    # How often it is the best one: --hypothesis-show-statistics.
    event("the best recoding" if cost == least else "another recoding")


@settings(max_examples=200)
@given(bounded_people(8))
def test_a_release_of_people_lies_there_as_well(case: tuple[Prepared, TinyPeople]) -> None:
    prepared, table = case
    try:
        solution = recoded(prepared, 0.05)
    except NoSolutionError:
        return
    cost, least = exact_cost(table, solution.levels.tolist(), solution.suppressed.tolist()), least_loss(table)
    assert is_rounded(solution.cost, cost, table)
    assert least <= cost
    assert solution.prices is not None
    proof = prove_bound(prepared, solution.prices, solution.suppression_price)
    assert isinstance(proof, LowerBound)
    assert proof.bound <= least * UNIT


@settings(max_examples=300)
@given(bounded(12))
def test_it_loses_no_more_than_the_best_transformation_of_all_records(
    case: tuple[Prepared, ForcedSize],
) -> None:
    prepared, _ = case
    quality = dataclasses.replace(prepared.plan.quality, aggregate="arithmetic_mean")  # type: ignore[type-var]
    alike = dataclasses.replace(prepared, plan=dataclasses.replace(prepared.plan, quality=quality))
    try:
        choice = search_best(alike, progress=Progress())
    except NoSolutionError:
        return
    problem = CellProblem.of(prepared, 1)
    recoder = Recoder.of_choice(prepared, choice)
    costs = problem.cost_of(np.tile(np.array(choice.levels, np.uint8), (len(recoder.hidden), 1)))
    assert recoded(prepared, 0.1).cost <= np.where(recoder.hidden, UNIT, costs).sum()


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


@pytest.mark.parametrize("further", [(), (m.DistinctLDiversity("disease", 2),)])
def test_whoever_cancels_waits_for_no_phase(further: tuple[m.PrivacyModel, ...]) -> None:
    """Each phase looks whether it was cancelled, and none does so more than a few times after that."""
    random = np.random.default_rng(5)
    numbers = {"a": 100, "b": 40, "c": 12}
    table = pa.table({name: random.integers(0, size, 3000) for name, size in numbers.items()})
    table = table.append_column("disease", pa.array(random.choice(["flu", "cold", "gout"], 3000)))
    trees = {name: h.intervals(2, 4, 20) for name in numbers}
    models = [m.KAnonymity(4), *further]
    plan = Plan(trees, models, sensitive=["disease"], quality=Loss(), recoding="cells", person=None)
    prepared = prepare(table, plan)
    for after in (0, 1, 10, 100, 300, 1000, 3000):
        looks = iter(range(after))
        late = 0

        def cancel() -> bool:
            nonlocal late
            over = next(looks, None) is None  # noqa: B023
            late += over
            return over

        try:
            recoding = recoded(prepared, seconds=300, cancel=cancel)
        except NoSolutionError:
            assert after <= 10  # before any transformation was looked at
            continue
        finally:
            assert late <= 40
        assert recoding.ending == "cancelled"
        problem = CellProblem.of(prepared, 4)
        costs = np.where(recoding.suppressed, UNIT, problem.cost_of(recoding.levels))
        assert recoding.cost == costs @ problem.counts


class Losses(Progress):
    """The losses that a search reports, with their bounds."""

    def __init__(self) -> None:
        self.seen: list[tuple[float, float | None]] = []

    def better(self, best: float | None, bound: float | None) -> None:
        assert best is not None
        self.seen.append((best, bound))


@pytest.mark.parametrize("further", [(), (m.DistinctLDiversity("S", 2),)])
@pytest.mark.parametrize("quality", [Loss(), Loss(factor=0.1, weights={"q": 0.2, "r": 1})])
def test_what_it_reports_are_losses_of_cells_from_the_start_on(
    further: tuple[m.PrivacyModel, ...], quality: Loss
) -> None:
    """Searches for a start score nodes otherwise, and prove bounds of nodes only."""
    random = np.random.default_rng(3)
    table = pa.table({name: random.integers(0, 30, 500) for name in "qrS"})
    trees = {name: h.intervals(5, 10) for name in "qr"}
    plan = Plan(trees, [m.KAnonymity(4), *further], sensitive="S", quality=quality, person=None)
    losses = Losses()
    solution = recoded(prepare(table, plan), 0.5, progress=losses)
    seen = [loss for loss, _ in losses.seen]
    assert seen[0] == max(seen) <= 1
    assert min(seen) == pytest.approx(solution.cost / (UNIT * 500))
    assert all(bound is None or bound <= loss for loss, bound in losses.seen)
