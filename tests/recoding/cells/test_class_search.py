"""Recoding for quality models that judge classes: costs are counted as defined, and no start is better."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.cells import exact_cost
from support.oracle import Problem
from support.recoding_bound import TinyTable, prepared_of, scattered, tiny_table
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.base.progress import Progress
from veil.errors import PlanError, Say
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import AverageClassSize, Classification, Discernibility, QualityModel
from veil.quality.factors import exact_factors
from veil.recoding.cells.class_search import (
    SHARE_OF_LOSS,
    ClassMeasure,
    ClassSearch,
    check_classes,
    improve_classes,
    one_of_each,
)
from veil.recoding.cells.labels import CellLabels, DistinctRows, fallbacks, walk
from veil.recoding.cells.recoding import CellRecoding
from veil.recoding.problem import UNIT, CellProblem
from veil.recoding.score import score_of_classes
from veil.verification.lower_bound import bound_by_size

QUALITIES = [Discernibility(), AverageClassSize(), Classification(["T"]), Classification(["T"], 0.3)]


@st.composite
def cases(draw: st.DrawFn, max_rows: int) -> tuple[Prepared, ForcedSize]:
    """Draw a plan whose quality model judges classes."""
    problem: Problem = draw(scattered(max_rows))
    number = len(problem.rows)
    prepared = prepared_of(
        problem,
        models=m.KAnonymity(draw(st.integers(2, 3))),
        quality=draw(st.sampled_from(QUALITIES)),
        suppression_limit=draw(st.integers(0, number)) / number if draw(st.booleans()) else 0,
    )
    size = forced_size(prepared)
    assume(isinstance(size, ForcedSize))
    assert isinstance(size, ForcedSize)
    return prepared, size


def labels_of(problem: CellProblem, rows: DistinctRows) -> CellLabels:
    caps = np.full(len(rows), UNIT, np.int64)
    further = fallbacks(rows, problem.smallest, problem.maximum)
    return one_of_each(problem, rows, CellLabels.of([*walk(rows, problem.smallest, caps), *further]))


def classes_of(table: TinyTable, found: CellRecoding) -> Iterator[list[int]]:
    labels: dict[tuple[Any, ...], list[int]] = {}
    for i in np.flatnonzero(~found.suppressed).tolist():
        label = tuple(table.label(j, i, int(level)) for j, level in enumerate(found.levels[i]))
        labels.setdefault(label, []).append(i)
    yield from labels.values()


def objective(prepared: Prepared, table: TinyTable, found: CellRecoding) -> float:
    """Return the objective by its definition."""
    quality, suppressed = prepared.plan.quality, int(found.suppressed.sum())
    values = prepared.table["T"].to_pylist()
    total = SHARE_OF_LOSS * suppressed + sum(
        SHARE_OF_LOSS * float(table.cost(j, i, int(found.levels[i, j])))
        for i in np.flatnonzero(~found.suppressed).tolist()
        for j in range(len(table.hierarchies))
    )
    for members in classes_of(table, found):
        counts = sorted((([values[i] for i in members].count(value)) for value in set(values)), reverse=True)
        if isinstance(quality, Discernibility):
            total += len(members) ** 2 / table.smallest
        elif isinstance(quality, AverageClassSize):
            total -= table.smallest
        else:
            assert isinstance(quality, Classification)
            s, g = map(float, exact_factors(quality.factor))
            total += len(members) * s if counts[:1] == counts[1:2] else (len(members) - counts[0]) * g
    if isinstance(quality, Discernibility):
        total += suppressed * len(table.rows) / table.smallest
    return total + (suppressed * quality.factor if isinstance(quality, Classification) else 0)


def root(problem: CellProblem) -> CellRecoding:
    levels = np.tile(np.array(problem.maximum, np.uint8), (len(problem.codes), 1))
    return CellRecoding(levels, np.zeros(len(levels), np.bool_))


@settings(max_examples=150)
@given(cases(10), st.integers(0, 5))
def test_costs_are_followed_from_move_to_move(case: tuple[Prepared, ForcedSize], seed: int) -> None:
    prepared, size = case
    problem = CellProblem.of(prepared, size.smallest)
    rows, table = DistinctRows.of(problem), tiny_table(*case)
    search = ClassSearch(problem, rows, labels_of(problem, rows), ClassMeasure.of(prepared, problem), seed)
    search.start_at(root(problem))
    for temperature in (1.0, 0.1, 0.0):
        search.run(30, temperature)
        found = search.recoding(search.state.label.copy(), search.labels)
        exact_cost(
            table, found.levels.tolist(), found.suppressed.tolist()
        )  # looks at classes, levels and limit
        assert search.objective == pytest.approx(objective(prepared, table, found), abs=1e-6)


@settings(max_examples=60)
@given(cases(9))
def test_no_start_is_better_and_no_score_is_below_its_bound(case: tuple[Prepared, ForcedSize]) -> None:
    prepared, size = case
    problem, table = CellProblem.of(prepared, size.smallest), tiny_table(*case)
    start = root(problem)
    found, ending = improve_classes(
        problem, ClassMeasure.of(prepared, problem), [start], seconds=0.03, cancel=lambda: False, progress=Progress()
    )  # fmt: skip
    assert ending == "time limit"
    exact_cost(table, found.levels.tolist(), found.suppressed.tolist())
    assert objective(prepared, table, found) <= objective(prepared, table, start) + 1e-6
    bound = bound_by_size(prepared)
    score = score_of_classes(prepared, found.levels, found.suppressed)
    assert isinstance(bound, str) == isinstance(prepared.plan.quality, Classification)
    if not isinstance(bound, str):
        assert bound <= score


def prepared_pairs(quality: QualityModel, *models: Any) -> Prepared:
    """Return sixteen records of two values each that could make eight pairs, or four of one target each."""
    table = pa.table({"q": [f"{i // 2:02}" for i in range(16)], "T": ["x", "y"] * 8})
    rows = [[f"{i:02}", f"{i // 2}.", "*"] for i in range(8)]
    plan = Plan(
        {"q": h.table(rows)}, [m.KAnonymity(2), *models], sensitive=["T"], quality=quality, person=None
    )
    return prepare(table, plan)


@pytest.mark.parametrize(("quality", "score"), [(QUALITIES[0], 32), (QUALITIES[1], 2), (QUALITIES[2], 0)])
def test_the_best_classes_of_a_small_table(quality: QualityModel, score: int) -> None:
    prepared = prepared_pairs(quality)
    problem = CellProblem.of(prepared, 2)
    found, _ = improve_classes(
        problem, ClassMeasure.of(prepared, problem), [root(problem)], seconds=1, cancel=lambda: False, progress=Progress()
    )  # fmt: skip
    assert score_of_classes(prepared, found.levels, found.suppressed) == score


def test_records_that_a_vote_gets_wrong_are_suppressed_as_far_as_that_is_allowed() -> None:
    table = pa.table({"q": ["a"] * 12, "T": ["x"] * 8 + ["y"] * 4})
    quality = Classification(["T"], 0.1)
    plan = Plan(
        {"q": "suppression"},
        m.KAnonymity(6),
        sensitive=["T"],
        quality=quality,
        person=None,
        suppression_limit=0.25,
        minimum_levels={"q": 1},
    )
    prepared = prepare(table, plan)
    problem = CellProblem.of(prepared, 6)
    found, _ = improve_classes(
        problem, ClassMeasure.of(prepared, problem), [root(problem)], seconds=0.5, cancel=lambda: False, progress=Progress()
    )  # fmt: skip
    assert np.flatnonzero(found.suppressed).size == 3
    assert found.suppressed[:8].sum() == 0


def test_cancelled_at_once_the_best_start_is_returned() -> None:
    prepared = prepared_pairs(Discernibility())
    problem = CellProblem.of(prepared, 2)
    start, finer = root(problem), CellRecoding(np.ones((16, 1), np.uint8), np.zeros(16, np.bool_))
    found, ending = improve_classes(
        problem, ClassMeasure.of(prepared, problem), [start, finer], seconds=1, cancel=lambda: True, progress=Progress()
    )  # fmt: skip
    assert ending == "cancelled"
    assert found.levels.tolist() == finer.levels.tolist()


def test_more_than_sizes_and_long_targets_are_refused() -> None:
    prepared = prepared_pairs(Discernibility())
    check_classes(prepared, True)
    with refused(
        PlanError, "Discernibility", "KAnonymity", Say("quality", "loss"), Say("recoding", "full-domain")
    ):
        check_classes(prepared, False)
    many = pa.table({"q": ["a"] * 300, "T": [str(i) for i in range(300)]})
    plan = Plan(
        {"q": "suppression"}, m.KAnonymity(2), sensitive=["T"], quality=Classification(["T"]), person=None
    )
    with refused(PlanError, "'T'", "300", Say("quality")):
        check_classes(prepare(many, plan), True)
