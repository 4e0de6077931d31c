"""Scores of recodings by quality models that judge classes: for one node, that which a search gives it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from support.oracle import Problem
from support.recoding_bound import prepared_of
from support.strategies import problems
from veil import models as m
from veil.lattice.evaluator import Evaluator
from veil.quality import AverageClassSize, Classification, Discernibility
from veil.recoding.score import score_of_classes

QUALITIES = st.sampled_from([Discernibility(), AverageClassSize(), Classification(["T"], 0.3)])


@settings(max_examples=200)
@given(problems(max_rows=8, sensitive=True, subset=False), QUALITIES, st.data())
def test_a_node_has_the_score_of_its_search(problem: Problem, quality: Any, data: st.DataObject) -> None:
    assume(len(problem.rows) > 1)
    prepared = prepared_of(problem, models=m.KAnonymity(2), quality=quality, suppression_limit=1)
    evaluator = Evaluator(prepared.sample, prepared.plan.models, quality, 1)
    heights = [hierarchy.height for hierarchy in prepared.encoding.hierarchies]
    levels = tuple(data.draw(st.integers(0, height)) for height in heights)
    verdict = evaluator.judge(levels, evaluator.table)
    labels = [
        tuple(
            hierarchy.label_map(level)[codes][i]
            for hierarchy, level, codes in zip(
                prepared.encoding.hierarchies, levels, prepared.codes, strict=True
            )
        )
        for i in range(len(problem.rows))
    ]
    suppressed = np.array([labels.count(label) < 2 for label in labels])
    expected = evaluator.measure.score(verdict.node)[0]
    if expected == float("inf"):
        return
    found = score_of_classes(prepared, np.array([levels] * len(labels), np.uint8), suppressed)
    assert float(found) == pytest.approx(expected, rel=1e-12)


def test_labels_with_the_same_text_are_one_class() -> None:
    problem = Problem(
        [("a",), ("a",), ("b",), ("b",)], [[["a", "a", "*"], ["b", "b", "*"]]], {"T": list("xyxy")}
    )
    prepared = prepared_of(problem, models=m.KAnonymity(1), quality=Discernibility())
    levels = np.array([[0], [1], [2], [2]], np.uint8)
    assert score_of_classes(prepared, levels, np.zeros(4, np.bool_)) == Fraction(8)
    assert score_of_classes(prepared, levels, np.array([False, False, True, True])) == Fraction(12)
