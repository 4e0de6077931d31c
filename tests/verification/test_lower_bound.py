"""The bound that prices prove: the same by trying everything, and never above the best recoding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.oracle import Problem
from support.recoding_bound import UNIT, bound_of, good_prices, least_loss, tiny_table
from support.strategies import problems
from veil import hierarchies as h
from veil import models as m
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.quality import Loss
from veil.verification.lower_bound import recompute_bound


def prepared_of(problem: Problem, **options: Any) -> Prepared:
    """The problem of the oracle as a table and a plan."""
    names = [f"q{j}" for j in range(problem.width)]
    table = pa.table(
        {name: pa.array([row[j] for row in problem.rows], pa.string()) for j, name in enumerate(names)}
        | {"T": problem.sensitive["T"]}
    )
    builders = {name: h.table(rows) for name, rows in zip(names, problem.hierarchies, strict=True)}
    return prepare(table, Plan(builders, sensitive=["T"], others="keep", **options))


def recomputed(prepared: Prepared, size: ForcedSize, prices: list[int], suppression_price: int = 0) -> int:
    large = max(map(abs, prices)) >= 2**63
    hierarchies = dict(zip(prepared.encoding.names, prepared.encoding.hierarchies, strict=True))
    return recompute_bound(
        prepared.rows,
        prepared.plan,
        hierarchies,
        size,
        np.array(prices, object if large else np.int64),
        suppression_price,
    )


@st.composite
def bounded(draw: st.DrawFn, max_rows: int) -> tuple[Prepared, ForcedSize]:
    """Draw a plan for a few records that forces some of them into every class."""
    problem = draw(problems(max_rows=max_rows, max_width=3, max_height=3, sensitive=True, subset=False))
    number = len(problem.rows)
    assume(number > 1)
    models: list[Any] = [m.KAnonymity(draw(st.integers(1, min(4, number))))]
    if len(set(problem.sensitive["T"])) == 2 and draw(st.booleans()):
        models.append(m.DistinctLDiversity("T", 2))
    levels = {
        f"q{j}": sorted(draw(st.tuples(*[st.integers(0, len(table[0]) - 1)] * 2)))
        for j, table in enumerate(problem.hierarchies)
        if draw(st.integers(0, 3)) == 0
    }
    prepared = prepared_of(
        problem,
        models=models,
        suppression_limit=draw(st.integers(0, number)) / number if draw(st.booleans()) else 0,
        minimum_levels={name: low for name, (low, _) in levels.items()},
        maximum_levels={name: high for name, (_, high) in levels.items()},
        quality=Loss(weights={"q0": draw(st.sampled_from([1, 0.25, 3]))}),
    )
    size = forced_size(prepared)
    assume(isinstance(size, ForcedSize))
    return prepared, size


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
