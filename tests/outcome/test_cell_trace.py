"""The loss of cells, its bound and its distance, as numbers and in words."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import numpy as np
import pytest

from veil.outcome.cell_trace import CellTrace
from veil.outcome.lower_bound import UNIT, LowerBound


def trace(cost: float, bound: float | None = None, proof: float | None = None) -> CellTrace:
    """Return the trace of ten records that lose so much together."""
    proven = None
    if proof is not None:
        proven = LowerBound(int(proof * UNIT), 10, 2, 0, np.zeros(10, np.int64))
    of_kind = None if bound is None else int(bound * UNIT)
    return CellTrace(int(cost * UNIT), 10, of_kind, proven, "nobody looked", ())


@pytest.mark.parametrize(
    ("made", "least", "gap"),
    [
        (trace(1), None, None),
        (trace(1, bound=0.5), Fraction(1, 20), 0.5),
        (trace(1, bound=0.5, proof=0.75), Fraction(3, 40), 0.25),
        (trace(1, bound=0.75, proof=0.5), Fraction(3, 40), 0.25),
        (trace(1, bound=-3), 0, 1.0),
        (trace(1, proof=1), Fraction(1, 10), 0.0),
        (trace(0, bound=0), 0, 0.0),
    ],
)
def test_the_higher_of_two_bounds_counts(made: CellTrace, least: Fraction | None, gap: float | None) -> None:
    assert made.least == least
    assert made.gap == (None if gap is None else pytest.approx(gap))


def test_what_is_known_in_words() -> None:
    assert trace(1).sentence == "this recoding loses 0.1; no bound: nobody looked"
    assert "one label for each value loses less than 0.05; this one loses 0.1" in trace(1, bound=0.5).sentence
    assert trace(1, proof=0.75).sentence.endswith("loses less than 0.075; this one loses 0.1, 34 % above")
    assert trace(1, proof=1).sentence.endswith("loses less than this one: 0.1")
    assert trace(1, bound=1).sentence.endswith("one label for each value loses less than this one: 0.1")
    alike = dataclasses.replace(trace(1, proof=0.25), full_domain=True)
    assert "recoding cell by cell might lose" in alike.sentence
    near = dataclasses.replace(trace(1, proof=0.75), full_domain=True)
    assert near.sentence == trace(1, proof=0.75).sentence


def test_words_never_claim_more_than_is_proven() -> None:
    made = CellTrace(UNIT, 3, UNIT - 1, None, "", ())
    assert made.sentence.endswith("loses less than 0.333; this one loses 0.334")
    assert made.gap == pytest.approx(1 / UNIT)
