"""Proofs: the bound of prices, the best price of suppression, and that the verifier finds the same."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cells import problem_of
from support.recoding_bound import UNIT, bounded, least_loss, tiny_table
from veil.outcome.lower_bound import LowerBound
from veil.plan.class_size import ForcedSize
from veil.plan.prepare import Prepared
from veil.recoding.cells.bound import Prover, prove
from veil.recoding.cells.labels import DistinctRows, cheapest_labels, fallbacks
from veil.recoding.problem import CellProblem
from veil.verification.lower_bound import prove_bound


@settings(max_examples=300)
@given(bounded(12), st.data())
def test_the_price_of_suppression_is_the_best_one(
    case: tuple[Prepared, ForcedSize], data: st.DataObject
) -> None:
    problem = problem_of(*case)
    rows = DistinctRows.of(problem)
    prices = np.array([data.draw(st.integers(0, 2 * UNIT)) for _ in range(len(rows))], np.int64)
    proof = prove(rows, problem, prices)

    def bound(suppression_price: int) -> int:
        paid = np.minimum(prices, UNIT + suppression_price) if problem.allowed else prices
        return int(paid @ rows.records) - suppression_price * problem.allowed

    others = [max(0, price - UNIT) for price in prices.tolist()] if problem.allowed else []
    assert proof.bound == bound(proof.suppression_price) == max(bound(each) for each in [0, *others])
    cut = UNIT + proof.suppression_price if problem.allowed else 2 * UNIT
    assert proof.prices.tolist() == np.minimum(prices, cut).tolist()


def prover_of(problem: CellProblem, keep: Callable[[], bool] = lambda: True) -> tuple[Prover, DistinctRows]:
    rows = DistinctRows.of(problem)
    cheapest = np.full(len(rows), UNIT if problem.allowed else 2 * UNIT, np.int64)
    cheapest_labels(rows, problem.smallest, cheapest, lambda: True)
    further = fallbacks(rows, problem.smallest, problem.maximum)
    return Prover(problem, rows, cheapest, further, keep), rows


@settings(max_examples=100)
@given(case=bounded(10))
@pytest.mark.parametrize("most", [3, 30])
def test_with_little_memory_a_bound_still_rises(case: tuple[Prepared, ForcedSize], most: int) -> None:
    """Caps come so close to prices that the labels in between fit; what is proven is what they prove."""
    prepared, size = case
    looks = iter(range(2000))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("veil.recoding.cells.bound.MOST_PAIRS", most)
        prover, rows = prover_of(problem_of(prepared, size), lambda: next(looks, None) is not None)
        bounds = [prover.proof.bound, *(prover.proof.bound for _ in prover.pieces())]
    assert bounds == sorted(bounds)
    again = prove_bound(prepared, prover.proof.prices[rows.of_row], prover.proof.suppression_price)
    assert isinstance(again, LowerBound)
    assert prover.proof.bound <= again.bound <= least_loss(tiny_table(prepared, size)) * UNIT


@settings(max_examples=300)
@given(bounded(8))
def test_a_proof_is_what_the_verifier_finds_and_never_above_the_best_recoding(
    case: tuple[Prepared, ForcedSize],
) -> None:
    prepared, size = case
    prover, rows = prover_of(problem_of(prepared, size))
    bounds = [prover.proof.bound]
    for _ in prover.pieces():
        bounds.append(prover.proof.bound)
    assert bounds == sorted(bounds)
    proof = prover.proof
    again = prove_bound(prepared, proof.prices[rows.of_row], proof.suppression_price)
    assert isinstance(again, LowerBound)
    # No price violates a label, so nothing is to be returned.
    assert again.bound >= proof.bound if size.least_values > 1 else again.bound == proof.bound
    assert again.bound <= least_loss(tiny_table(prepared, size)) * UNIT
