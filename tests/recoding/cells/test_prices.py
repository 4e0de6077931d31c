"""Prices: whatever they were, no label is violated after they have settled."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from support.cells import highest, label_costs, members_of, problem_of
from support.recoding_bound import UNIT, bounded
from veil.plan.class_size import ForcedSize
from veil.plan.prepare import Prepared
from veil.recoding.cells.labels import CellLabels, DistinctRows, fallbacks, walk
from veil.recoding.cells.prices import Ascent, settle_exactly


def all_labels(case: tuple[Prepared, ForcedSize]) -> tuple[CellLabels, DistinctRows, int]:
    problem = problem_of(*case)
    rows = DistinctRows.of(problem)
    caps = np.full(len(rows), 2 * UNIT, np.int64)
    found = [*walk(rows, problem.smallest, caps), *fallbacks(rows, problem.smallest, problem.maximum)]
    labels = CellLabels.of(found)
    assert set(members_of(labels)) == set(label_costs(problem, rows))
    return labels, rows, problem.smallest


def is_violated(labels: CellLabels, rows: DistinctRows, prices: np.ndarray, smallest: int) -> bool:
    pairs = zip(members_of(labels), labels.costs.tolist(), strict=True)
    return any(highest(prices, members, rows, smallest) > cost * smallest for members, cost in pairs)


@settings(max_examples=300)
@given(bounded(12), st.data())
def test_whole_prices_settle_exactly(case: tuple[Prepared, ForcedSize], data: st.DataObject) -> None:
    labels, rows, smallest = all_labels(case)
    drawn = st.integers(0, 2 * UNIT) | st.integers(0, 8).map(lambda part: part * UNIT // 8)
    before = np.array([data.draw(drawn) for _ in range(len(rows))], np.int64)
    prices = before.copy()
    settle_exactly(prices, labels.starts, labels.rows, labels.costs, rows.records, smallest)
    assert (prices >= 0).all()
    assert (prices <= before).all()
    assert not is_violated(labels, rows, prices, smallest)
    if not is_violated(labels, rows, before, smallest):
        assert (prices == before).all()


@settings(max_examples=200)
@given(bounded(12))
def test_prices_rise_to_a_bound_and_violate_no_label(case: tuple[Prepared, ForcedSize]) -> None:
    labels, rows, smallest = all_labels(case)
    caps = np.full(len(rows), 2 * UNIT, np.int64)
    ascent = Ascent(labels, rows, np.zeros(len(rows)), caps, smallest)
    totals = [ascent.total]
    for step in (0.1, 0.1, 0.01):
        ascent.run(step, 5)
        totals.append(ascent.total)
    assert totals == sorted(totals)
    prices = ascent.whole()
    assert not is_violated(labels, rows, prices, smallest)
    assert (prices <= caps).all()
    # Rounding to whole units costs next to nothing.
    assert int(prices @ rows.records) >= totals[-1] * UNIT - 1e-6 * UNIT * rows.records.sum()
