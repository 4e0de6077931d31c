"""The bound that prices prove: the same by trying everything, and never above the best recoding."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.oracle import Problem
from support.realdata import hierarchies, needs_data, source
from support.recoding_bound import UNIT, bound_of, bounded, good_prices, least_loss, prepared_of, tiny_table
from veil import models as m
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.recoding.costs import loss_costs
from veil.verification.lower_bound import column_labels, recompute_bound
from veil.verification.surplus import PricedRows, total_surplus


def recomputed(prepared: Prepared, size: ForcedSize, prices: list[int], suppression_price: int = 0) -> int:
    large = max(map(abs, prices)) >= 2**63
    hierarchies = dict(zip(prepared.encoding.names, prepared.encoding.hierarchies, strict=True))
    bound, _ = recompute_bound(
        prepared.rows,
        prepared.plan,
        hierarchies,
        size,
        np.array(prices, object if large else np.int64),
        suppression_price,
    )
    return bound


@settings(max_examples=300)
@given(bounded(6), st.data())
def test_the_bound_is_that_of_trying_every_choice_under_every_label(
    case: tuple[Prepared, ForcedSize], data: st.DataObject
) -> None:
    prepared, size = case
    table = tiny_table(prepared, size)
    several = st.lists(
        st.integers(-10, 40).map(lambda price: price * UNIT // 20 + price), min_size=6, max_size=6
    )
    # Records with the same cells may have different prices, also of another size.
    prices = data.draw(several)[: len(table.rows)]
    if data.draw(st.booleans()):
        prices = [price << 40 for price in prices]
    suppression_price = data.draw(st.integers(0, UNIT))
    expected, _ = bound_of(table, prices, suppression_price)
    assert recomputed(prepared, size, prices, suppression_price) == expected


@settings(max_examples=500)
@given(bounded(9), st.data())
def test_no_recoding_of_a_few_records_beats_the_bound(
    case: tuple[Prepared, ForcedSize], data: st.DataObject
) -> None:
    prepared, size = case
    table = tiny_table(prepared, size)
    number = len(table.rows)
    least = least_loss(table)
    prices = st.integers(0, UNIT)
    random = data.draw(st.lists(prices, min_size=number, max_size=number))
    for chosen, suppression_price in [(random, data.draw(prices)), (good_prices(table, 4), 0)]:
        assert recomputed(prepared, size, chosen, suppression_price) <= least * UNIT


def simple(hierarchies: list[list[list[str]]], rows: list[tuple[str, ...]], **options: Any) -> Prepared:
    problem = Problem(rows, hierarchies, {"T": ["x"] * len(rows)})
    return prepared_of(problem, **({"models": m.KAnonymity(2)} | options))


PAIRS = [[["a", "ab", "*"], ["b", "ab", "*"], ["c", "cd", "*"], ["d", "cd", "*"]]]


def test_a_bound_worked_out_by_hand() -> None:
    """Two values of four, at a third of the loss each, for everybody: ab costs 1/3, * costs 1."""
    prepared = simple(PAIRS, [("a",), ("b",), ("c",)])
    size = forced_size(prepared)
    assert isinstance(size, ForcedSize)
    third = UNIT // 3
    # a and b at the cost of ab, c at that of *: three records under *, of which none would pay more than it costs.
    assert recomputed(prepared, size, [third, third, UNIT]) == 2 * third + UNIT
    # A price above the costs of ab by 5 for both is returned to them.
    assert recomputed(prepared, size, [third + 5, third + 5, UNIT]) == 2 * third + UNIT
    # c would pay 9 more than * costs, but needs another record there, whose loss is larger.
    assert recomputed(prepared, size, [third, third, UNIT + 9]) == 2 * third + UNIT + 9
    # If one record may be suppressed, it is c, at the price of 1 for suppression or of 7 more for its record.
    allowed = ForcedSize(2, 1)
    assert recomputed(prepared, allowed, [third, third, UNIT + 9], 2) == 2 * third + UNIT + 9 - 7 - 2


def test_labels_that_keep_the_records_of_a_lower_one_do_not_count_again() -> None:
    """Nobody has c or d: ab and * hold the same records, and two labels would return the surplus twice."""
    prepared = simple(PAIRS, [("a",), ("b",)])
    size = forced_size(prepared)
    assert isinstance(size, ForcedSize)
    assert recomputed(prepared, size, [UNIT, UNIT]) == 2 * (UNIT // 3)


@needs_data
@pytest.mark.realdata
@pytest.mark.parametrize(("smallest", "least_values"), [(3, 1), (2, 4)])
def test_the_surplus_of_a_real_table_is_that_of_group_by(smallest: int, least_values: int) -> None:
    names = ["age", "education", "race", "salary-class"]
    draw = np.random.default_rng(7)
    rows = draw.choice(30_162, 1500, replace=False)
    table = source("adult").table.take(pa.array(rows))
    plan = Plan(hierarchies("adult", names), m.KAnonymity(smallest), others="keep", person=None)
    prepared = prepare(table, plan)
    occupations = table["occupation"].combine_chunks().dictionary_encode().indices.to_numpy()
    prices = draw.integers(0, UNIT // 3, rows.size)
    codes = np.stack(prepared.codes)
    labels = [
        column_labels(each, loss_costs(each, Fraction(1, 4)), 0, None, column)
        for each, column in zip(prepared.encoding.hierarchies, codes, strict=True)
    ]
    costs: dict[bytes, int] = {}  # of the cheapest label, by the records under it
    for levels in product(*(range(len(each.labels)) for each in labels)):
        cells = np.stack(
            [each.labels[i][column] for each, i, column in zip(labels, levels, codes, strict=True)]
        )
        paid = sum(each.costs[i][column] for each, i, column in zip(labels, levels, codes, strict=True))
        _, groups = np.unique(cells, axis=1, return_inverse=True)
        order = np.argsort(groups, kind="stable")
        for records in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
            key, cost = records.tobytes(), int(paid[records[0]])
            costs[key] = min(cost, costs.get(key, cost))
    expected = 0
    for key, cost in costs.items():
        records = np.frombuffer(key, np.int64)
        gains = sorted(
            zip((prices[records] - cost).tolist(), occupations[records].tolist(), strict=True), reverse=True
        )
        best = {value: gain for gain, value in reversed(gains)}
        if len(records) < smallest or len(best) < least_values:
            continue
        chosen = sorted(best.items(), key=lambda item: item[1], reverse=True)[:least_values]
        for value, gain in chosen:
            gains.remove((gain, value))
        others = [gain for gain, _ in gains]
        lacking = max(smallest - least_values, 0)
        total = (
            sum(gain for _, gain in chosen)
            + sum(others[:lacking])
            + sum(max(0, each) for each in others[lacking:])
        )
        expected += max(0, total)
    rows_with_prices = PricedRows(
        list(codes), np.ones(rows.size, np.int64), prices, occupations.astype(np.int32)
    )
    assert total_surplus(rows_with_prices, labels, smallest, least_values) == expected > 0
