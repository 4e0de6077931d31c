"""The example E1 of the reference, scored at fixed levels: 2-anonymity, everything may be suppressed.

The reference prints ten digits, some of them cut off; its own rule is to compare to about 1e-9.
"""

from __future__ import annotations

import pytest

from support.samples import E1, sample_of
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity
from veil.quality import QualityModel, Score
from veil.quality.vector import VectorMeasure

NAMES = ["A", "G", "Z"]


FACTORS = (0.5, 0.25, 0.75)


STANDARD = (1, 0, 1)  # row 3 is suppressed


def near(value):
    return pytest.approx(value, rel=1e-9, abs=1e-9)


def evaluator(model, problem=E1, k=2):
    return Evaluator(sample_of(problem, NAMES), [KAnonymity(k)], model, 1.0)


def score(model: QualityModel, levels=STANDARD, problem=E1) -> Score:
    made = evaluator(model, problem)
    found = made.evaluate(levels, made.sample.table, score=True)[0].score
    assert found is not None
    return found


def vector(model: QualityModel, levels=STANDARD, problem=E1) -> list[float]:
    made = evaluator(model, problem)
    assert isinstance(made.measure, VectorMeasure)
    return list(made.measure.vector(made.judge(levels, made.sample.table)[0]))
