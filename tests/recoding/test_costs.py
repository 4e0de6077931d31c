"""Costs of cells by each quality model: the scores that the model itself gives to nodes where nothing is suppressed."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.oracle import Problem
from support.recoding_bound import prepared_of
from support.strategies import problems
from veil import hierarchies as h
from veil import models as m
from veil.lattice.evaluator import Evaluator
from veil.plan.recoding import COSTS_OF_CELLS
from veil.quality import Loss, NonUniformEntropy, NormalizedNonUniformEntropy
from veil.recoding.costs import UNIT, loss_costs, of_cells
from veil.recoding.problem import CellProblem


def score(prepared: Any, quality: Any, levels: tuple[int, ...]) -> float:
    evaluator = Evaluator(prepared.sample, [], quality, 0)
    return evaluator.measure.score(evaluator.judge(levels, evaluator.table).node)[0]


@settings(max_examples=200)
@given(problems(max_rows=8, sensitive=True, subset=False), st.sampled_from(COSTS_OF_CELLS), st.data())
def test_costs_of_a_node_are_its_score(problem: Problem, kind: type[Any], data: st.DataObject) -> None:
    quality = kind(weights={"q0": data.draw(st.sampled_from([1, 0.25, 3]))})
    prepared = prepared_of(problem, models=m.KAnonymity(1), quality=quality)
    cells = CellProblem.of(prepared, 1)
    heights = [hierarchy.height for hierarchy in cells.hierarchies]
    levels = tuple(data.draw(st.integers(0, height)) for height in heights)
    cost = int(cells.cost_of(np.array([levels] * len(problem.rows))) @ cells.counts)
    given_score = score(prepared, of_cells(quality), levels)
    weights = [quality.weights.get(name, 0.5) for name in prepared.encoding.names]
    scale = len(weights) * max(weights) / sum(weights)  # weights of an aggregate are divided by the largest
    columns = list(zip(*problem.rows, strict=True))
    bits = [-sum(math.log2(column.count(cell) / len(column)) for cell in column) for column in columns]
    if isinstance(quality, NormalizedNonUniformEntropy):  # columns without any entropy have no share
        whole = sum(weight for weight, each in zip(weights, bits, strict=True) if each)
        scale = len(weights) * max(weights) / whole if whole else 0.0
    elif isinstance(quality, NonUniformEntropy):
        whole = sum(weight * each for weight, each in zip(weights, bits, strict=True))
        scale = len(weights) * max(weights) / whole if whole else 0.0
    assert cells.share(cost) == pytest.approx(given_score * scale, abs=1e-8)


def test_shares_that_no_count_of_values_has_are_taken_as_they_are() -> None:
    hierarchy = h.Hierarchy.from_rows(
        [["a", "x"], ["b", "x"], ["c", "y"]], shares=[[0.25, 0.25, 0.25], [0.6, 0.1]], domain_size=4
    )
    low, high = loss_costs(hierarchy, Fraction(1))
    assert low.tolist() == [0, 0, 0]
    # A label that covers less than one value loses nothing.
    assert high.tolist() == [math.floor((Fraction(0.6) - Fraction(1, 4)) / Fraction(3, 4) * UNIT), 0]


def test_the_mean_takes_the_place_of_any_aggregate() -> None:
    assert of_cells(Loss(factor=0.2, weights={"a": 1})) == Loss("arithmetic_mean", 0.5, {"a": 1})
