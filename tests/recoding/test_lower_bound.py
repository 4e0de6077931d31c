"""The loss of any release of a plan, and a bound of every recoding, against all recodings of a few records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import veil
from support.cells import exact_cost
from support.recoding_bound import (
    UNIT,
    TinyPeople,
    TinyTable,
    bounded,
    bounded_people,
    least_loss,
    tiny_table,
)
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.base.progress import Progress
from veil.errors import NoSolutionError, PlanError
from veil.masking import Rounding
from veil.outcome.cell_trace import CellTrace
from veil.outcome.lower_bound import NO_TIME, LowerBound
from veil.outcome.outcome import Outcome
from veil.outcome.price_table import price_table, proof_of_table
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.plan.recoding import Cells, FromTheStart, FullDomain, Recoding, Subtree
from veil.quality import Loss
from veil.recoding.lower_bound import cost_of, search_bound, trace_loss
from veil.recoding.recode import carry_out_recoding
from veil.tables.source import Source
from veil.verification.lower_bound import verify_lower_bound


def outcome_of(prepared: Prepared, recoding: Recoding, **options: Any) -> Outcome:
    changes: dict[str, Any] = {"recoding": recoding, "time_limit": 0.05} | options
    plan = recoding.first(dataclasses.replace(prepared.plan, **changes))
    again = prepare(prepared.table, plan)
    return carry_out_recoding(Source(again.table, "pyarrow"), again, threads=1, progress=Progress())


def traced(outcome: Outcome, seconds: float = 60.0, cancel: Callable[[], bool] = lambda: False) -> CellTrace:
    return trace_loss(outcome, seconds=seconds, cancel=cancel, progress=Progress())


def check(prepared: Prepared, table: TinyTable) -> None:
    """Compare the bound of a full-domain release with the best recoding, and with releases of other ways."""
    try:
        outcome = outcome_of(prepared, FullDomain())
    except NoSolutionError:
        return
    trace, records = traced(outcome), len(prepared.codes[0])
    cost = exact_cost(table, outcome.cell_levels.of_rows.tolist(), outcome.suppressed_mask.tolist())
    assert abs(trace.score * records - cost) * UNIT <= records * len(prepared.codes)
    proof = trace.proof
    assert proof is not None
    assert trace.full_domain
    assert proof.score * records <= least_loss(table) <= cost
    assert verify_lower_bound(outcome.searched, proof).holds
    ways: list[tuple[Recoding, dict[str, Any]]] = [
        (Cells(), {}),
        (Subtree(), {}),
        (FromTheStart(5), {"suppression_limit": 0}),
    ]
    for recoding, options in ways:
        try:
            other = outcome_of(prepared, recoding, **options)
        except NoSolutionError:
            continue
        found = traced(other)
        assert found.proof is not None
        if table.allows(np.flatnonzero(other.suppressed_mask).tolist()):
            assert proof.score <= found.score
            assert found.proof.score <= found.score
    size = forced_size(prepared)
    assert isinstance(size, ForcedSize)
    names = outcome.searched.encoding.names
    prices = price_table(proof, prepared.table, names).table
    assert verify_lower_bound(prepared, proof_of_table(prices, prepared.rows, names, size)).holds


@settings(max_examples=100)
@given(bounded(8))
def test_no_release_of_a_plan_is_below_the_bound_of_its_full_domain_release(
    case: tuple[Prepared, ForcedSize],
) -> None:
    prepared = by_loss(case[0])
    check(prepared, tiny_table(prepared, case[1]))


@settings(max_examples=30)
@given(bounded(8))
def test_loss_and_bound_are_those_of_loss_whatever_a_plan_minimizes(
    case: tuple[Prepared, ForcedSize],
) -> None:
    prepared = by_loss(case[0])
    for recoding in (FullDomain(), Cells()):
        try:
            outcome = outcome_of(case[0], recoding)
        except NoSolutionError:
            continue
        trace, table = traced(outcome), tiny_table(prepared, case[1])
        cost = exact_cost(table, outcome.cell_levels.of_rows.tolist(), outcome.suppressed_mask.tolist())
        assert not trace.measure
        assert abs(trace.score * table_records(prepared) - cost) * UNIT <= table_records(prepared) * len(
            prepared.codes
        )
        assert trace.proof is None or trace.proof.score * table_records(prepared) <= least_loss(table)


def by_loss(prepared: Prepared) -> Prepared:
    """The same plan with loss as its quality model."""
    loss = Loss(weights=prepared.plan.quality.weights)  # type: ignore[attr-defined]
    return dataclasses.replace(prepared, plan=dataclasses.replace(prepared.plan, quality=loss))


def table_records(prepared: Prepared) -> int:
    """The number of records of a tiny table."""
    return len(prepared.codes[0])


@settings(max_examples=50)
@given(bounded_people(7))
def test_nor_is_one_of_people_with_several_rows(case: tuple[Prepared, TinyPeople]) -> None:
    check(*case)


RNG = np.random.default_rng(5)
PEOPLE = pa.table(
    {
        "age": 20 + RNG.geometric(0.1, 300),
        "zip": [str(530 + n) for n in RNG.geometric(0.1, 300)],
        "ill": ["flu", "gout"] * 150,
    }
)
PLAN = Plan(
    {"age": h.intervals(5, 10, 20), "zip": h.redaction()}, m.KAnonymity(4), sensitive="ill", person=None
)


def released(**changes: Any) -> Outcome:
    return veil.anonymize(PEOPLE, dataclasses.replace(PLAN, **changes)).outcome


def test_a_search_for_cells_has_its_bound_already() -> None:
    outcome = released(recoding="cells", time_limit=1)
    assert traced(outcome, 0) is outcome.trace(CellTrace)


def test_values_are_compared_with_any_recoding_too() -> None:
    outcome = released(recoding="subtree", time_limit=1, suppression_limit=0.2)
    own, trace = outcome.trace(CellTrace), traced(outcome)
    assert own is not None
    assert own.proof is None
    assert trace.cost == own.cost == cost_of(outcome)
    assert trace.proof is not None
    assert not trace.full_domain


def test_suppressed_records_that_are_recoded_again_are_no_full_domain_release() -> None:
    outcome = released(suppression_limit=0.2, quality=veil.quality.Loss(factor=0))
    recoded = veil.Release(outcome).local_recoding(progress=False).outcome
    assert traced(outcome).full_domain
    assert not traced(recoded).full_domain
    assert traced(recoded).cost <= traced(outcome).cost


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"models": m.TCloseness("ill", 0.5)}, "TCloseness"),
        (
            {"microaggregated": {"age": "mean"}, "quasi_identifiers": {"zip": h.redaction()}},
            "microaggregated",
        ),
        ({"models": m.KAnonymity(1)}, "KAnonymity"),
    ],
)
def test_plans_without_a_bound_say_why(changes: dict[str, Any], reason: str) -> None:
    trace = traced(released(**changes))
    assert trace.proof is None
    assert reason in trace.why_no_bound
    assert trace.why_no_bound in trace.sentence


def test_a_release_beyond_its_limit_has_no_bound() -> None:
    release = veil.anonymize(PEOPLE, PLAN)
    worse = release.search.apply({"age": 0, "zip": 0})  # type: ignore[union-attr]
    assert not worse.within_limit
    assert "more records are suppressed" in traced(worse.outcome).why_no_bound


def test_what_has_no_labels_of_one_table_is_refused() -> None:
    masked = veil.mask(PEOPLE, Rounding("age", 5)).outcome
    with refused(PlanError, "masking methods"):
        traced(masked)
    visits = PEOPLE.append_column("who", pa.array([n % 60 for n in range(300)]))
    several = veil.anonymize(
        {"a": visits.select(["who", "age"]), "b": visits.select(["who", "zip"])},
        quasi_identifiers={"age": h.intervals(20), "zip": h.redaction()}, models=m.KAnonymity(2), person="who",
        suppression_limit=1,
    )  # fmt: skip
    with refused(PlanError, "several"):
        traced(several.outcome)
    private = veil.anonymize(
        PEOPLE.select(["age"]), models=veil.SafePub(1.0, 1e-4), person=None,
        quasi_identifiers={"age": h.intervals(20, 40).build(pa.array(range(200)), [1] * 200, "age")},
    )  # fmt: skip
    with refused(PlanError, "differential privacy"):
        traced(private.outcome)


def test_nothing_is_claimed_that_there_was_no_time_for() -> None:
    prepared = prepare(PEOPLE, PLAN)
    for options in ({"seconds": 0.0}, {"seconds": 60.0, "cancel": lambda: True}):
        found = search_bound(prepared, **options)  # type: ignore[arg-type]
        assert found == NO_TIME


def test_a_search_stops_wherever_it_is_cancelled() -> None:
    """Counted in looks at the clock: none goes on after the one that says no, but for the one of the proof."""
    prepared = prepare(PEOPLE, PLAN)
    whole = 0

    def count() -> bool:
        nonlocal whole
        whole += 1
        return False

    proof = search_bound(prepared, seconds=60.0, cancel=count)
    assert isinstance(proof, LowerBound)
    for stop in [*range(0, whole, max(1, whole // 40)), whole - 1]:
        looks = 0

        def cancel(stop: int = stop) -> bool:
            nonlocal looks
            looks += 1
            return looks > stop

        assert search_bound(prepared, seconds=60.0, cancel=cancel) == NO_TIME
        assert looks <= stop + 100  # each branch of the proof looks once more


def test_the_bound_rises_while_it_is_watched() -> None:
    class Watch(Progress):
        def __init__(self) -> None:
            self.bounds: list[float] = []
            self.shares: list[int] = []

        def better(self, best: float | None, bound: float | None) -> None:
            assert bound is not None
            self.bounds.append(bound)

        def advance(self, done: int, total: int, note: str = "") -> None:
            self.shares.append(done)

    watch, prepared = Watch(), prepare(PEOPLE, PLAN)
    found = search_bound(prepared, seconds=60.0, progress=watch)
    assert isinstance(found, LowerBound)
    assert watch.bounds == sorted(watch.bounds)
    assert watch.bounds[-1] == pytest.approx(float(found.score))
    assert watch.shares == sorted(watch.shares)
