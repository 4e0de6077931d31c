"""Worked values of the reference on its example E1: 2-anonymity, everything may be suppressed, levels fixed.

The reference prints ten digits, some of them cut off; its own rule is to compare to about 1e-9.
"""

from __future__ import annotations

import pytest

from support import oracle
from support.quality import near, score, vector
from support.samples import E1, E1_SUBSET, judged, sample_of
from veil import quality as q
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity

ORIGINAL = (0, 0, 0)  # eight rows are suppressed


def test_original_levels():
    assert score(q.AverageClassSize(), ORIGINAL) == near((5,))
    assert score(q.Discernibility(), ORIGINAL) == (84,)
    assert vector(q.NonUniformEntropy(), ORIGINAL) == near([15.2451124978, 7.6354720233, 16.0])
    assert score(q.KullbackLeibler(), ORIGINAL) == near((1.857542475910,))
    assert score(q.Ambiguity(), ORIGINAL) == (322,)


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        ("geometric_mean", (0.152389486569,)),
        ("arithmetic_mean", (0.1583333333,)),
        ("rank", (0.3249999999, 0.1, 0.05)),
    ],
)
def test_weights(aggregate, expected):
    weights = {"A": 0.8, "G": 0.4, "Z": 0.2}
    assert score(q.Loss(aggregate=aggregate, weights=weights)) == near(expected)


def test_research_subset():
    assert vector(q.NonUniformEntropy(), problem=E1_SUBSET) == near([6.0, 2.7548875021, 6.0])
    expected = [0.455349869170, 0.277386948786, 0.455349869170]
    assert vector(q.NormalizedNonUniformEntropy(), problem=E1_SUBSET) == near(expected)
    assert vector(q.Loss(), problem=E1_SUBSET) == near([0.625, 0.5, 0.6666666666])
    assert score(q.Discernibility(), problem=E1_SUBSET) == (27,)
    assert score(q.AverageClassSize(), problem=E1_SUBSET) == near((3,))
    assert score(q.KullbackLeibler(), problem=E1_SUBSET) == near((2.881014046482,))


def test_worked_value_5_a_microaggregated_attribute():
    """A microaggregated, G on level 0, Z on level 1, 3-anonymity: four records are suppressed."""
    problem = oracle.Problem(
        [row[1:] for row in E1.rows], E1.hierarchies[1:], {"M": [row[0] for row in E1.rows]}, None, ("M",)
    )
    for model, expected in (
        (q.Loss(), 0.584219879010),
        (q.Precision(), 0.591666666667),
        (q.EntropyBased(), 6.750977500433),
    ):
        made = Evaluator(sample_of(problem), [KAnonymity(3)], model, 1.0)
        node = judged(made, (0, 1))
        assert node.tally.suppressed == 4
        assert made.measure.score(node) == near((expected,))
        if isinstance(model, q.Loss):
            assert made.measure.vector(node) == near([0.4, 0.6, 0.775])
