"""Carrying out a recoding: what its outcome says of loss and bound, and what is kept apart."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import veil
from support.cells import exact_cost
from support.recoding_bound import UNIT, bounded, least_loss, tiny_table
from veil import hierarchies as h
from veil import models as m
from veil.base.progress import Progress
from veil.errors import NoSolutionError, VerificationError
from veil.outcome.cell_trace import CellTrace
from veil.outcome.lower_bound import LowerBound
from veil.outcome.outcome import Outcome
from veil.outcome.price_table import NUMBERS
from veil.plan.class_size import ForcedSize
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.plan.recoding import Cells, FastIterative, FullDomain, Recoding, Subtree
from veil.recoding.recode import SOLVERS, carry_out_recoding
from veil.recoding.solution import RowRecoding
from veil.tables.source import Source
from veil.verification.lower_bound import verify_lower_bound


def outcome_of(prepared: Prepared, recoding: Recoding, **options: Any) -> Outcome:
    changes: dict[str, Any] = {"recoding": recoding, "time_limit": 0.05} | options
    plan = Plan(**{name: getattr(prepared.plan, name) for name in Plan.__dataclass_fields__} | changes)
    again = prepare(prepared.table, plan)
    return carry_out_recoding(Source(again.table, "pyarrow"), again, threads=1, progress=Progress())


@pytest.mark.parametrize("recoding", [Cells(), Subtree()])
@settings(max_examples=100)
@given(case=bounded(8))
def test_loss_and_bound_are_those_of_the_rows_that_are_released(
    case: tuple[Prepared, ForcedSize], recoding: Recoding
) -> None:
    prepared, size = case
    try:
        outcome = outcome_of(prepared, recoding)
    except NoSolutionError:
        return
    (trace,) = [each for each in outcome.last.traces if isinstance(each, CellTrace)]
    table, records = tiny_table(prepared, size), len(prepared.codes[0])
    cost = exact_cost(table, outcome.cell_levels.of_rows.tolist(), outcome.suppressed_mask.tolist())
    assert abs(trace.score - table.score(cost)) * UNIT <= 2 * records * len(prepared.codes)
    assert trace.records == records
    assert [loss for _, loss in trace.curve] == sorted((loss for _, loss in trace.curve), reverse=True)
    proofs = [each for each in outcome.last.traces if isinstance(each, LowerBound)]
    assert proofs == ([] if trace.proof is None else [trace.proof])
    names = [each.name for each in outcome.last.apart if each.is_secret]
    assert ("lower bound" in names) == bool(proofs)
    if isinstance(recoding, Subtree):
        assert not proofs
        return
    (proof,) = proofs
    assert verify_lower_bound(outcome.searched, proof).holds
    assert proof.bound <= least_loss(table) * UNIT <= cost * UNIT
    assert proof.score <= table.score(least_loss(table)) <= table.score(cost)
    assert trace.least == proof.score
    assert trace.gap is not None


def test_prices_are_kept_apart_by_the_cells_that_they_are_of() -> None:
    table = pa.table({"q": ["a", "a", "b", "c"], "S": ["x", "y", "x", "y"]})
    tree = h.table([["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"], ["d", "C", "*"]])
    plan = Plan({"q": tree}, m.KAnonymity(2), sensitive="S", person=None)
    outcome = outcome_of(prepare(table, plan), Cells())
    (apart,) = [each for each in outcome.last.apart if each.name == "lower bound"]
    assert apart.is_secret
    assert apart.table.column_names == ["q", *NUMBERS]
    assert sorted(apart.table["q"].to_pylist()) == ["a", "b", "c"]


@pytest.mark.parametrize("recoding", [FullDomain(), FastIterative()])
def test_other_ways_search_the_lattice(recoding: Recoding) -> None:
    table = pa.table({"q": list("aabbc")})
    plan = Plan({"q": h.suppression()}, m.KAnonymity(2), person=None, suppression_limit=0.2)
    outcome = outcome_of(prepare(table, plan), recoding)
    assert not [each for each in outcome.last.traces if isinstance(each, CellTrace)]
    assert outcome.suppressed_mask.tolist() == [False] * 4 + [True]


@pytest.mark.parametrize("order", ["input", "random"])
@pytest.mark.parametrize("recoding", [Cells(), Subtree()])
def test_rows_are_shuffled_unless_their_order_is_kept(recoding: Recoding, order: str) -> None:
    table = pa.table({"q": [str(each) for each in range(40)]})
    plan = Plan({"q": h.suppression()}, m.KAnonymity(2), person=None)
    outcome = outcome_of(prepare(table, plan), recoding, order=order)
    ascending = all(a < b for a, b in itertools.pairwise(outcome.origins.tolist()))
    assert ascending == (order == "input")
    assert np.array_equal(np.sort(outcome.origins), np.arange(40))


TABLE = pa.table({"q": ["a", "a", "b", "c", "c"]})
TREE = h.table([["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"]])
FAULTS: dict[str, Callable[[RowRecoding], dict[str, Any]]] = {
    "a class of one": lambda solution: {"levels": solution.levels * 0},
    "too many are suppressed": lambda solution: {"suppressed": np.ones_like(solution.suppressed)},
    "a level that the plan does not allow": lambda solution: {"levels": solution.levels * 0 + 2},
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("way", [Cells, Subtree])
def test_the_verifier_believes_no_solver(
    way: type[Recoding], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    solver = SOLVERS[way]

    def faulty(*args: Any, **options: Any) -> RowRecoding:
        solution = solver(*args, **options)
        return dataclasses.replace(solution, **FAULTS[fault](solution))

    options: dict[str, Any] = {"models": m.KAnonymity(2), "maximum_levels": {"q": 1}, "time_limit": 0.1}
    options |= {"quasi_identifiers": {"q": TREE}, "recoding": way(), "person": None, "progress": False}
    veil.anonymize(TABLE, **options)
    monkeypatch.setitem(SOLVERS, way, faulty)
    with pytest.raises(VerificationError):
        veil.anonymize(TABLE, **options)


def test_prices_that_prove_nothing_are_no_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a solver says of its prices, the verifier counts what they prove."""
    prepared = prepare(TABLE, Plan({"q": TREE}, m.KAnonymity(2), person=None))
    solution = SOLVERS[Cells](
        prepared,
        prepared.plan.searched_models,
        seconds=0.1,
        threads=1,
        cancel=lambda: False,
        progress=Progress(),
    )
    for prices in (np.full(5, 9 * UNIT), np.zeros(5, np.int64), np.full(5, -UNIT)):
        boasting = dataclasses.replace(solution, prices=prices, bound=None)
        monkeypatch.setitem(SOLVERS, Cells, lambda *args, boasting=boasting, **options: boasting)
        outcome = outcome_of(prepared, Cells())
        (proof,) = [each for each in outcome.last.traces if isinstance(each, LowerBound)]
        assert proof.score * 5 <= least_loss(tiny_table(prepared, ForcedSize(2, 0)))
