"""Worked values of the reference on its example E1: 2-anonymity, everything may be suppressed, levels fixed.

The reference prints ten digits, some of them cut off; its own rule is to compare to about 1e-9.
"""

from __future__ import annotations

import dataclasses

import pytest

from support import oracle
from support.samples import E1, E1_SUBSET, judged, sample_of
from veil import quality as q
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity
from veil.quality import QualityModel, Score
from veil.quality.vector import VectorMeasure

NAMES = ["A", "G", "Z"]
FACTORS = (0.5, 0.25, 0.75)
STANDARD = (1, 0, 1)  # row 3 is suppressed
ORIGINAL = (0, 0, 0)  # eight rows are suppressed


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


@pytest.mark.parametrize(
    ("factor", "expected"), list(zip(FACTORS, (2.0, 3.3333333333333, 2.2222222222222), strict=True))
)
def test_average_class_size(factor, expected):
    assert score(q.AverageClassSize(factor)) == near((expected,))


def test_discernibility_is_a_whole_number():
    assert score(q.Discernibility()) == (31,)
    assert score(q.Discernibility(monotone=True)) == (22,)
    assert isinstance(score(q.Discernibility())[0], int)


@pytest.mark.parametrize(
    ("factor", "expected", "geometric"),
    [
        (0.5, (0.3249999999, 0.1, 0.4), 0.268368749014),
        (0.25, (0.2875, 0.05, 0.3666666666), 0.227061640111),
        (0.75, (0.1999999999, 0.1, 0.2285714285), 0.174874417962),
    ],
)
def test_loss(factor, expected, geometric):
    assert vector(q.Loss(factor=factor)) == near(list(expected))
    assert score(q.Loss(factor=factor)) == near((geometric,))


@pytest.mark.parametrize(
    ("factor", "expected"),
    [(0.5, [0.55, 0.1, 0.4]), (0.25, [0.5, 0.05, 0.35]), (0.75, [0.325, 0.1, 0.25])],
)
def test_precision(factor, expected):
    assert vector(q.Precision(factor=factor)) == near(expected)


@pytest.mark.parametrize(
    ("factor", "expected"), list(zip(FACTORS, (4.382232844764, 3.882232844764, 2.691116422382), strict=True))
)
def test_entropy_based(factor, expected):
    assert score(q.EntropyBased(factor)) == near((expected,))


@pytest.mark.parametrize(
    ("factor", "expected"),
    [
        (0.5, [9.7095059445, 0, 9.5097750043]),
        (0.25, [9.7095059445, 0, 9.5097750043]),
        (0.75, [4.8547529722, 0, 4.7548875021]),
    ],
)
def test_non_uniform_entropy(factor, expected):
    assert vector(q.NonUniformEntropy(factor=factor)) == near(expected)


def test_ambiguity_and_its_maximum():
    assert score(q.Ambiguity()) == (76,)
    assert evaluator(q.Ambiguity()).measure.extremes() == ((10,), (400,))


def test_kullback_leibler_and_its_maximum():
    assert score(q.KullbackLeibler()) == near((1.739711559128,))
    low, high = evaluator(q.KullbackLeibler()).measure.extremes()
    assert low == (0.0,)
    assert high == near((2.8,))


def test_normalized_non_uniform_entropy():
    expected = [0.492630610419, 0, 0.494803891448]
    assert vector(q.NormalizedNonUniformEntropy()) == near(expected)


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


@pytest.mark.parametrize(
    ("factor", "expected"), list(zip(FACTORS, (678.223284476, 628.223284476, 389.111642238), strict=True))
)
def test_publisher_payout(factor, expected):
    model = q.PublisherPayout(benefit=100, publisher_loss=80, adversary_gain=60, cost=21, factor=factor)
    assert score(model) == near((expected,))


@pytest.mark.parametrize(
    ("factor", "expected"), [(0.5, 0.75), (0.25, 0.425), (0.75, 0.725), (0, 0.1), (1, 0.7)]
)
def test_classification_of_a_further_column(factor, expected):
    assert score(q.Classification(["S"], factor), (1, 0, 2)) == near((expected,))


def test_classification_of_a_quasi_identifier_as_well():
    assert score(q.Classification(["S", "G"])) == near((1.4,))


def test_research_subset():
    assert vector(q.NonUniformEntropy(), problem=E1_SUBSET) == near([6.0, 2.7548875021, 6.0])
    expected = [0.455349869170, 0.277386948786, 0.455349869170]
    assert vector(q.NormalizedNonUniformEntropy(), problem=E1_SUBSET) == near(expected)
    assert vector(q.Loss(), problem=E1_SUBSET) == near([0.625, 0.5, 0.6666666666])
    assert score(q.Discernibility(), problem=E1_SUBSET) == (27,)
    assert score(q.AverageClassSize(), problem=E1_SUBSET) == near((3,))
    assert score(q.KullbackLeibler(), problem=E1_SUBSET) == near((2.881014046482,))


def test_journalist_counts_people_outside_the_subset():
    # At the original levels the only class of two in the subset is {0, 9}; at (2, 1, 3) everyone is one class.
    prosecutor = q.PublisherPayout(False, 100, 80, 60, 8)
    journalist = q.PublisherPayout(True, 100, 80, 60, 8)
    top = (2, 1, 3)
    assert score(prosecutor, top, E1_SUBSET) == near((600 + 80,))  # 60/6 > 8: six records at 80/6 each
    assert score(journalist, top, E1_SUBSET) == near((600,))  # 60/10 < 8: nobody attacks
    assert score(prosecutor, top) == score(journalist, top) == near((1000,))


def test_constant_column_has_no_entropy_to_lose():
    problem = dataclasses.replace(E1, rows=[("21", "f", row[2]) for row in E1.rows])
    assert vector(q.NormalizedNonUniformEntropy(), (2, 1, 3), problem) == near([0, 0, 1])


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
