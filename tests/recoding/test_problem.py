"""Costs of labels in whole units: the definition, rounded down, and sums over the cells of a record."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.oracle import Problem
from support.recoding_bound import prepared_of
from support.strategies import problems
from veil import hierarchies as h
from veil import models as m
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.quality import Loss
from veil.recoding.costs import UNIT
from veil.recoding.problem import CellProblem


@settings(max_examples=200)
@given(problems(max_rows=6, sensitive=True, subset=False), st.sampled_from([0, 0.25, 1, 3]))
def test_costs_are_shares_of_other_values_by_the_weight_of_the_column(
    problem: Problem, weight: float
) -> None:
    prepared = prepared_of(problem, models=m.KAnonymity(1), quality=Loss(weights={"q0": weight}))
    cells = CellProblem.of(prepared, 1)
    weights = [Fraction(weight), *[Fraction(1, 2)] * (problem.width - 1)]
    total = sum(weights) or Fraction(1)
    if not sum(weights):
        weights = [Fraction(1)]
    levels = np.array([[hierarchy.height for hierarchy in cells.hierarchies]] * len(problem.rows))
    expected = [0] * len(problem.rows)
    for j, hierarchy in enumerate(cells.hierarchies):
        table = hierarchy.to_rows()
        for level in range(hierarchy.height + 1):
            for line in table:
                values = sum(other[level] == line[level] for other in table)
                share = Fraction(values - 1, len(table) - 1) if len(table) > 1 else Fraction(0)
                code = hierarchy.labels[level].index(line[level])
                assert cells.costs[j][level][code] == math.floor(share * weights[j] / total * UNIT)
        for i, record in enumerate(problem.rows):
            (line,) = [line for line in table if line[0] == record[j]]
            expected[i] += int(cells.costs[j][-1][hierarchy.labels[-1].index(line[-1])])
    assert cells.cost_of(levels).tolist() == expected
    assert cells.cost_of(levels[:1], np.array([len(expected) - 1])).tolist() == expected[-1:]


@pytest.mark.parametrize(("limit", "allowed"), [(0, 0), (0.29, 29), (0.3, 30), (1, 100)])
def test_limits_are_whole_numbers_of_records(limit: float, allowed: int) -> None:
    table = pa.table({"q": ["a", "b"] * 50})
    plan = Plan({"q": h.suppression()}, m.KAnonymity(2), suppression_limit=limit, person=None)
    cells = CellProblem.of(prepare(table, plan), 2)
    assert (cells.allowed, cells.records, cells.smallest) == (allowed, 100, 2)
