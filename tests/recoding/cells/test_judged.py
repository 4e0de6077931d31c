"""Recoding cell by cell under any model that judges classes: promises and costs, recomputed from the definitions."""

from __future__ import annotations

import os
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import veil
from support import local_recoding as twin
from support import longitudinal, oracle, strategies
from support.models import ours
from support.oracle.people import Longitudinal, breaches
from support.plans import table_of
from support.samples import hierarchy_of, names_of
from veil.api.release import Release
from veil.errors import NoSolutionError, PlanError
from veil.lattice import Optimal
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared
from veil.quality import Loss
from veil.recoding.cells.judged import improve, why_not
from veil.recoding.cells.recoding import CellRecoding

CASES = int(os.environ.get("VEIL_FUZZ", "0")) or 150


class Steps:
    """A clock that counts how often it is read, so that a search makes as many rounds on any machine."""

    def __init__(self) -> None:
        self.time = 0

    def __call__(self) -> float:
        self.time += 1
        return float(self.time)


def improved(prepared: Prepared, start: CellRecoding, seed: int, rounds: int = 60) -> CellRecoding:
    models = list(prepared.plan.searched_models)
    return improve(prepared, models, start, seconds=2 * rounds, seed=seed, clock=Steps())


def recoding_of(release: Release) -> tuple[Prepared, CellRecoding]:
    """The levels of each row of a release."""
    outcome = release.outcome
    assert outcome.prepared is not None
    levels = np.zeros((outcome.suppressed_mask.size, len(outcome.prepared.codes)), np.uint8)
    for part in outcome.parts:
        levels[part.rows] = part.levels
    return outcome.prepared, CellRecoding(levels, outcome.suppressed_mask)


def texts(prepared: Prepared, recoding: CellRecoding) -> list[tuple[str | None, ...]]:
    """The labels of each row, as a reader sees them."""
    hierarchies = prepared.encoding.hierarchies
    return [
        tuple(
            hierarchy.labels[level][hierarchy.label_map(level)[codes[i]]]
            for hierarchy, codes, level in zip(hierarchies, prepared.codes, levels.tolist(), strict=True)
        )
        for i, levels in enumerate(recoding.levels)
    ]


def cost(prepared: Prepared, recoding: CellRecoding) -> Fraction:
    """The mean over cells of (leaves under the label - 1) / (leaves - 1), from the definition."""
    hierarchies, total = prepared.encoding.hierarchies, Fraction(0)
    for i, levels in enumerate(recoding.levels.tolist()):
        for hierarchy, codes, level in zip(hierarchies, prepared.codes, levels, strict=True):
            if recoding.suppressed[i]:
                total += 1
            elif hierarchy.size > 1:
                map_ = hierarchy.label_map(level)
                under = int((map_ == map_[codes[i]]).sum())
                total += Fraction(under - 1, hierarchy.size - 1)
    return total / (len(hierarchies) * len(recoding.levels))


@st.composite
def plans(draw: st.DrawFn) -> tuple[oracle.Problem, list[oracle.AnyModel], Plan]:
    problem = draw(strategies.problems(max_rows=40, sensitive=True, subset=False))
    kinds = st.one_of(
        strategies.monotone_models(problem),
        strategies.class_models(st.sampled_from(["S", "T"])),
        st.builds(oracle.DistinctLDiversity, st.sampled_from(["S", "T"]), st.just(2)),
        st.builds(oracle.TCloseness, st.just("T"), st.sampled_from([0.3, 0.5])),
        st.just(oracle.Profitability(100, 300, 300, 4)),
    )
    models: list[Any] = [oracle.KAnonymity(draw(st.integers(1, 4))), *draw(st.lists(kinds, max_size=2))]
    found = [ours(model) for model in models]
    assume(all(model is not None for model in found) and len({type(model) for model in found}) == len(found))
    low, high = draw(strategies.level_ranges(problem))
    names = names_of(problem)
    try:
        plan = Plan(
            {name: hierarchy_of(problem, j) for j, name in enumerate(names)},
            found,
            sensitive=tuple(problem.sensitive),
            quality=Loss(),
            suppression_limit=draw(strategies.limits()),
            strategy=Optimal(),
            minimum_levels=dict(zip(names, low, strict=True)),
            maximum_levels=dict(zip(names, high, strict=True)),
            order="input",
        )
    except PlanError:
        assume(False)
        raise
    return problem, models, plan


@settings(max_examples=CASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans(), st.integers(0, 10**6))
def test_every_promise_holds_and_nothing_is_lost(
    case: tuple[oracle.Problem, list[oracle.AnyModel], Plan], seed: int
) -> None:
    problem, models, plan = case
    try:
        release = veil.anonymize(table_of(problem), plan, progress=False, threads=1)
    except (NoSolutionError, PlanError):
        assume(False)
        raise
    prepared, start = recoding_of(release)
    assume(why_not(prepared, list(plan.searched_models)) is None)
    result = improved(prepared, start, seed)
    check(problem, models, prepared, start, result)


def check(
    problem: oracle.Problem,
    models: list[Any],
    prepared: Prepared,
    start: CellRecoding,
    result: CellRecoding,
) -> None:
    assert cost(prepared, result) <= cost(prepared, start)
    shown = [i for i, gone in enumerate(result.suppressed.tolist()) if not gone]
    assert int(result.suppressed.sum()) <= oracle.exact(prepared.plan.suppression_limit) * len(problem.rows)
    levels = {i: tuple(result.levels[i].tolist()) for i in shown}
    for level in levels.values():
        assert all(
            low <= each <= high
            for low, each, high in zip(prepared.minimum, level, prepared.maximum, strict=True)
        )
    labels = {i: twin.labels_of(problem, i, levels[i]) for i in shown}
    assert twin.holds(problem, models, labels, levels)


@pytest.mark.parametrize("seed", range(max(10, CASES // 3)))
def test_people_with_several_rows(seed: int) -> None:
    case = longitudinal.draw(seed)
    options = case.options | {"recoding": "full-domain", "quality": "loss", "order": "input"}
    try:
        release = veil.anonymize(case.table, **options, progress=False)
    except (NoSolutionError, PlanError):
        return
    prepared, start = recoding_of(release)
    if why_not(prepared, list(prepared.plan.searched_models)):
        return
    result = improved(prepared, start, seed)
    if case.all_rows and not prepared.sample.persons.are_records:
        assert result is start
    assert cost(prepared, result) <= cost(prepared, start)
    known = list(prepared.encoding.names)
    rows, whose = case.table.to_pylist(), case.table["who"].to_pylist()
    labels = texts(prepared, result)
    kept = np.flatnonzero(~result.suppressed).tolist()
    table = Longitudinal(
        [dict(zip(known, labels[i], strict=True)) | {"dx": rows[i]["dx"]} for i in kept],
        [whose[i] for i in kept],
        known,
    )
    everybody = [(row["who"], row) for row in rows]
    assert not [
        each for model in case.models for each in breaches(model, table, everybody, all_rows=case.all_rows)
    ]
    lost = {whose[i] for i in np.flatnonzero(result.suppressed)}
    assert len(lost) <= case.options["suppression_limit"] * len(set(whose)) + 1e-9


def crowd(seed: int, rows: int = 300) -> tuple[oracle.Problem, list[list[list[Any]]]]:
    chance = random.Random(seed)
    tree = [[f"{i:02}", f"{i // 2}.", f"{i // 6}..", "*"] for i in range(18)]
    cells = [(chance.choice(tree)[0], chance.choice(tree)[0]) for _ in range(rows)]
    further = {"S": [chance.choice("abcd") for _ in cells]}
    return oracle.Problem(cells, [tree, tree], further), [tree, tree]


@pytest.mark.parametrize(
    "models",
    [
        [oracle.KAnonymity(3)],
        [oracle.KAnonymity(3), oracle.DistinctLDiversity("S", 3)],
        [oracle.KAnonymity(2), oracle.EntropyLDiversity("S", 2)],
        [oracle.KAnonymity(2), oracle.RecursiveCLDiversity("S", 2, 2)],
        [oracle.AlphaKAnonymity("S", 0.5, 3)],
        [oracle.KAnonymity(3), oracle.TCloseness("S", 0.3)],
        [oracle.KAnonymity(3), oracle.BetaLikeness("S", 1.0)],
        [oracle.KAnonymity(3), oracle.DeltaDisclosure("S", 2)],
        [oracle.KAnonymity(2), oracle.Profitability(100, 300, 300, 4)],
    ],
    ids=lambda models: type(models[-1]).__name__,
)
def test_much_less_is_lost_than_by_one_level_for_all(models: list[Any]) -> None:
    problem, _ = crowd(1)
    plan = Plan(
        {name: hierarchy_of(problem, j) for j, name in enumerate(names_of(problem))},
        [ours(model) for model in models],
        sensitive=("S",),
        quality=Loss(aggregate="arithmetic_mean"),
        strategy=Optimal(),
        order="input",
    )
    release = veil.anonymize(table_of(problem), plan, progress=False, threads=1)
    prepared, start = recoding_of(release)
    result = improved(prepared, start, seed=3, rounds=300)
    check(problem, models, prepared, start, result)
    assert cost(prepared, result) < Fraction(2, 3) * cost(prepared, start)


def test_it_is_refused_with_the_reason_and_a_way_out() -> None:
    problem, _ = crowd(2, 40)
    names = names_of(problem)
    hierarchies = {name: hierarchy_of(problem, j) for j, name in enumerate(names)}

    def reason(*models: Any, quality: Any = None) -> str | None:
        plan = Plan(hierarchies, models, sensitive=("S",), quality=quality or Loss())
        prepared = veil.anonymize(table_of(problem), plan, progress=False).outcome.prepared
        assert prepared is not None
        return why_not(prepared, list(plan.searched_models))

    assert reason(veil.KAnonymity(2)) is None
    assert "judges all classes together" in str(reason(veil.models.AverageReidentificationRisk(0.5)))
    assert "judges all classes together" in str(reason(veil.models.SubsetKAnonymity(2, 1)))
    subset = veil.models.KMap(2, subset=veil.models.subset.Where("S = 'a' or S = 'b'"))
    assert "Anonymize only the rows of the subset" in str(reason(subset))


def test_it_ends_when_cancelled() -> None:
    problem, _ = crowd(3)
    plan = Plan(
        {name: hierarchy_of(problem, j) for j, name in enumerate(names_of(problem))}, veil.KAnonymity(3)
    )
    prepared, start = recoding_of(
        veil.anonymize(table_of(problem).select(names_of(problem)), plan, progress=False)
    )
    calls = []

    def cancel() -> bool:
        calls.append(1)
        return len(calls) > 3

    result = improve(prepared, list(plan.searched_models), start, seconds=3600, cancel=cancel)
    assert len(calls) == 4
    assert cost(prepared, result) <= cost(prepared, start)
