"""l-diversity: worked values, the oracle, and close calls."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import oracle, refusals
from support.judging import (
    agrees_with_the_oracle,
    often,
    problem_of,
    publish,
    refused,
    strongest_is_the_boundary,
    suppressed_rows,
    table_of,
)
from support.samples import E1, E1_SUBSET, sample_of
from veil.base.exact import decimal_fraction
from veil.errors import PlanError
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.models.diversity import (
    DistinctLDiversity,
    RecursiveCLDiversity,
    _Recursive,
    _reject_dominated,
)
from veil.models.entropy_diversity import EntropyLDiversity
from veil.quality import Loss

ALL = set(range(10))
BIG = {3, 4, 5, 6, 8}


# --- worked values --------------------------------------------------------------------------------


@pytest.mark.parametrize("l", [2, 3])
def test_distinct_on_the_example(l):
    assert suppressed_rows(DistinctLDiversity("S", l)) == {3}


@pytest.mark.parametrize(("c", "rows"), [(0.66, ALL), (0.67, BIG), (1.0, BIG), (1.01, {3})])
def test_recursive_on_the_example(c, rows):
    assert suppressed_rows(RecursiveCLDiversity("S", c, 2)) == rows


PATIENTS = [
    ("1305*", ["Heart Disease", "Viral Infection", "Cancer", "Cancer"]),
    ("1485*", ["Cancer", "Heart Disease", "Viral Infection", "Viral Infection"]),
    ("1306*", ["Heart Disease", "Viral Infection", "Cancer", "Cancer"]),
]


def test_the_3_diverse_table_of_machanavajjhala_is_2_8_entropy_diverse():
    published = table_of(*[{v: values.count(v) for v in values} for _, values in PATIENTS])
    assert DistinctLDiversity("S", 3).verify(published).holds
    assert not DistinctLDiversity("S", 4).verify(published).holds
    assert EntropyLDiversity("S", 2.8).verify(published).holds
    assert not EntropyLDiversity("S", 2.83).verify(published).holds
    assert EntropyLDiversity.strongest(published, ["S"])[0].value == pytest.approx(2**1.5)


def test_the_3_diverse_table_of_the_lecture():
    classes = [("HIV", "Heart disease", "Cancer"), ("Cancer", "Lung oedema", "Pelvic fracture")]
    classes += [("HIV", "Hepatitis", "Common cold")]
    published = table_of(*[dict.fromkeys(each, 1) for each in classes])
    assert [each.value for each in DistinctLDiversity.strongest(published, ["S"])] == [3]
    assert EntropyLDiversity("S", 3).verify(published).holds
    assert not EntropyLDiversity("S", 3.0000000000000004).verify(published).holds


def test_ten_patients_eight_with_flu_are_3_diverse_and_still_guessed():
    published = table_of({"Cancer": 1, "Heart Disease": 1, "Flu": 8})
    assert DistinctLDiversity("S", 3).verify(published).holds
    assert not EntropyLDiversity("S", 2).verify(published).holds
    assert not RecursiveCLDiversity("S", 4, 2).verify(published).holds


def test_recursive_means_less_than_and_not_more():
    """Printed reversed in places; then nine of ten equal values would do for c < 9, which is the counterexample."""
    published = table_of({"flu": 9, "gout": 1})
    assert not RecursiveCLDiversity("S", 8.99, 2).verify(published).holds
    assert not RecursiveCLDiversity("S", 9, 2).verify(published).holds
    assert RecursiveCLDiversity("S", 9.01, 2).verify(published).holds


# --- monotone or not ------------------------------------------------------------------------------

FIGURE_1 = oracle.Problem(
    [("20",)] * 3 + [("40",)] * 2 + [("60",)] * 10,
    [[["20", "20-79"], ["40", "20-79"], ["60", "20-79"]]],
    {"S": ["colon cancer", "stroke", "colon cancer", "colon cancer", "stroke"] + ["stroke"] * 10},
)


@pytest.mark.parametrize("model", [RecursiveCLDiversity("S", 3, 2), EntropyLDiversity("S", 1.8)])
def test_suppression_makes_diversity_lose_its_monotony(model):
    """Lightning paper, appendix A, figure 1: fulfilled by suppressing ten records, not after generalizing."""
    assert suppressed_rows(model, FIGURE_1, (0,)) == set(range(5, 15))
    assert suppressed_rows(model, FIGURE_1, (1,)) == set(range(15))
    assert not model.monotone_suppression
    evaluator = Evaluator(sample_of(FIGURE_1), [model], Loss(), 0.67)  # ten records
    found = Search(evaluator, (0,), (1,)).run(Optimal())
    assert found.best is not None
    assert found.best.levels == (0,)
    assert found.best.tally.suppressed == 10


counts = st.lists(st.integers(0, 6), min_size=4, max_size=4)


@often
@given(
    counts,
    counts,
    st.integers(1, 4),
    st.sampled_from([0.3, 0.5, 1, 1.5, 4]),
    st.sampled_from([1.2, 2, 2.5, 3.1]),
)
def test_unions_of_acceptable_classes_are_acceptable(first, second, l, c, entropy):
    problem = problem_of(dict(zip("abcd", first, strict=True)), dict(zip("abcd", second, strict=True)))
    if len(oracle.classes(problem, (0,)) if problem.rows else []) < 2:
        return
    asked = [
        oracle.DistinctLDiversity("S", l),
        oracle.RecursiveCLDiversity("S", c, l),
        oracle.EntropyLDiversity("S", entropy),
    ]
    for model in asked:
        parts = [oracle.rejects(model, problem, (0,), cls) for cls in oracle.classes(problem, (0,))]
        if not any(parts):
            assert not oracle.rejects(model, problem, (1,), list(range(len(problem.rows))))


# --- against the oracle ---------------------------------------------------------------------------

columns = st.sampled_from(["S", "T"])


def test_distinct_agrees():
    asked = st.builds(oracle.DistinctLDiversity, columns, st.integers(1, 5))
    agrees_with_the_oracle(lambda problem: asked.map(lambda m: (m, DistinctLDiversity(m.attribute, m.l))))


def test_recursive_agrees():
    factors = st.sampled_from([0.21, 0.25, 0.5, 0.6, 1, 1.5, 2, 3, 4, 1e-9, 1e300, 1 / 3, 2 / 3])
    asked = st.builds(oracle.RecursiveCLDiversity, columns, factors, st.integers(1, 5))
    agrees_with_the_oracle(
        lambda problem: asked.map(lambda m: (m, RecursiveCLDiversity(m.attribute, m.c, m.l)))
    )


def test_strongest_distinct():
    strongest_is_the_boundary(
        DistinctLDiversity, "S", lambda s, l: oracle.DistinctLDiversity("S", l), lambda l: l + 1
    )


def test_strongest_recursive():
    def at(strength, c):
        return oracle.RecursiveCLDiversity(
            "S", c, int(strength.parameter.removeprefix("c (l = ").rstrip(")"))
        )

    def uniform(problem, levels):
        found = (problem.count("S", cls) for cls in oracle.classes(problem, levels))
        return any(sum(map(oracle.is_value, counts)) == 1 for counts in found)

    strongest_is_the_boundary(RecursiveCLDiversity, "S", at, lambda c: c * (1 - 1e-12), uniform)


@often
@given(st.integers(1, 10**9), st.data())
def test_recursive_decides_in_integers(records, data):
    first, rest = (data.draw(st.integers(1, records)) for _ in range(2))
    ratio = Fraction(first, rest)
    near = [float(ratio), math.nextafter(float(ratio), 0), math.nextafter(float(ratio), 1e99), 0.3, 1.0, 1e17]
    c = data.draw(st.sampled_from(near))
    criterion = _Recursive(SimpleNamespace(records=records), RecursiveCLDiversity("S", c, 2))
    left, right = first * criterion.left + criterion.gap, rest * criterion.right
    assert max(left, right) < 2**63
    assert (left <= right) == (first < decimal_fraction(c) * rest)


def test_the_largest_counts_are_found_in_any_order():
    for order in itertools.permutations([7, 5, 3, 2]):
        for frequent, rest in enumerate([17, 10, 5, 2]):
            for bound in (rest, rest - 1):  # 7 + 0 <= 1 * rest, scaled so that only the right rest passes
                rejected = np.zeros(2, np.uint8)
                sizes = np.array([17, 0])
                entries = np.arange(5), np.zeros(4, np.int32), np.array(order)
                _reject_dominated(entries, sizes, frequent, bound, 7, 0, rejected)
                assert rejected.tolist() == [int(7 * bound > 7 * rest), 0]


# --- parameters -----------------------------------------------------------------------------------


def test_parameters_out_of_range():
    with refused(r"`l` of DistinctLDiversity should be greater than or equal to 1, not 0"):
        DistinctLDiversity("S", 0)
    with refused(r"`l` of EntropyLDiversity should be greater than or equal to 1, not 0.5"):
        EntropyLDiversity("S", 0.5)
    with refused(r"`l` of EntropyLDiversity should be a finite number, not inf"):
        EntropyLDiversity("S", math.inf)
    with refused(r"`estimator` of EntropyLDiversity should be 'shannon' or 'grassberger', not 'renyi'"):
        EntropyLDiversity("S", 2, "renyi")
    with refused(r"`c` of RecursiveCLDiversity should be greater than 0, not 0"):
        RecursiveCLDiversity("S", 0, 2)


@pytest.mark.parametrize(
    "model", [DistinctLDiversity("S", 4), EntropyLDiversity("S", 3.5), RecursiveCLDiversity("S", 2, 4)]
)
def test_more_values_asked_for_than_there_are(model):
    sample = sample_of(E1)
    for ask in (model.minimal_class_size, model.bind):
        with refused(
            rf"`l` of {type(model).__name__} should be between 1 and 3, the number of distinct values of column "
            rf"'S', not {model.l:g}"
        ):
            ask(sample)


def test_values_outside_the_subset_do_not_count():
    sample = sample_of(oracle.Problem([("a",), ("a",)], [[["a"]]], {"S": ["x", "y"]}, {0}))
    with refused("`l` of DistinctLDiversity should be 1, the number"):
        DistinctLDiversity("S", 2).bind(sample)
    assert DistinctLDiversity("S", 3).minimal_class_size(sample_of(E1_SUBSET)) == 3


def test_a_dominance_that_no_class_can_avoid():
    with refused(
        r"`c` of RecursiveCLDiversity should be greater than 1/2 for l = 2, as column 'S' has 3 .*not 0.5"
    ):
        RecursiveCLDiversity("S", 0.5, 2).bind(sample_of(E1))
    assert RecursiveCLDiversity("S", 0.51, 2).minimal_class_size(sample_of(E1)) == 3


def test_an_unknown_attribute():
    with refusals.refused(PlanError, "'X'", "sensitive attribute"):
        DistinctLDiversity("X", 2).bind(sample_of(E1))


def test_nothing_published_breaks_nothing():
    published = publish(E1, (0, 0, 0), range(10))
    for model in (DistinctLDiversity("S", 3), EntropyLDiversity("S", 3), RecursiveCLDiversity("S", 1, 3)):
        assert model.verify(published).holds
        assert model.strongest(published, ["S"]) == []
