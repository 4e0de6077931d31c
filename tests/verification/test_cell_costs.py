"""What cells cost, by the code of the verifier: the same as what the search counts, and never more than the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.oracle import Problem
from support.recoding_bound import prepared_of
from support.strategies import problems
from veil import models as m
from veil.plan.recoding import COSTS_OF_CELLS
from veil.quality import QualityModel
from veil.recoding.problem import CellProblem
from veil.verification.cell_costs import cell_costs, log2

QUALITIES = st.sampled_from(COSTS_OF_CELLS)


@settings(max_examples=300)
@given(problems(max_rows=6, sensitive=True, subset=False), QUALITIES, st.sampled_from([0, 0.25, 1, 3]))
def test_costs_are_those_that_the_search_counts(
    problem: Problem, quality: type[QualityModel], weight: float
) -> None:
    chosen = quality(weights={"q0": weight})  # type: ignore[call-arg]
    prepared = prepared_of(problem, models=m.KAnonymity(1), quality=chosen)
    searched = CellProblem.of(prepared, 1)
    hierarchies = dict(zip(prepared.encoding.names, prepared.encoding.hierarchies, strict=True))
    found = cell_costs(prepared.plan, hierarchies, prepared.codes, searched.counts)
    assert [[each.tolist() for each in by_level] for by_level in found.by_label] == [
        [each.tolist() for each in by_level] for by_level in searched.costs
    ]
    assert found.base == searched.base


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 30_162, 2**31 - 1, 2**40 + 1])
def test_logarithms_are_below_the_true_ones(count: int) -> None:
    low, step = log2(count), Fraction(1, 2**128)
    assert float(low) == pytest.approx(math.log2(count), abs=1e-15)
    # The power of 2 with the first digits of the logarithm is at most the count, and no longer with one more.
    digits = math.floor(low * 1024)
    assert 2**digits <= count**1024 < 2 ** (digits + 1)
    assert low % step == 0
