"""β-likeness: worked values, the oracle, and close calls."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import oracle, strategies
from support.judging import (
    agrees_with_the_oracle,
    often,
    problem_of,
    publish,
    refused,
    rejected_classes,
    strongest_is_the_boundary,
    suppressed_rows,
    table_of,
)
from support.samples import E1, sample_of
from veil.models.likeness import BetaLikeness
from veil.models.shares import shares


@pytest.mark.parametrize(
    ("beta", "enhanced", "rows"),
    [(0.34, False, {3, 4, 5, 6, 8}), (0.67, False, {3}), (1.5, False, set()), (1.5, True, {3})],
)
def test_the_example(beta, enhanced, rows):
    assert suppressed_rows(BetaLikeness("S", beta, enhanced)) == rows


@pytest.mark.parametrize("enhanced", [False, True])
def test_agrees(enhanced):
    betas = st.sampled_from([0, 0.1, 0.3, 0.5, 1, 1.5, 2, 5, 1e-9, 1e9, 1 / 3])
    asked = st.builds(oracle.BetaLikeness, st.sampled_from(["S", "T"]), betas, st.just(enhanced))
    agrees_with_the_oracle(
        lambda problem: asked.map(lambda m: (m, BetaLikeness(m.attribute, m.beta, m.enhanced)))
    )


def test_strongest():
    def at(strength, beta):
        return oracle.BetaLikeness("S", beta, strength.parameter == "beta (enhanced)")

    strongest_is_the_boundary(BetaLikeness, "S", at, lambda b: b * (1 - 1e-12) if b > 0 else None)


def test_no_beta_helps_where_a_frequent_value_gains_too_much():
    """One of two classes is all flu: its gain is 1, above -ln 1/2."""
    published = table_of({"flu": 2}, {"gout": 2})
    assert [each.parameter for each in BetaLikeness.strongest(published, ["S"])] == ["beta"]
    finding = BetaLikeness("S", 5, enhanced=True).verify(published)
    assert not finding.holds
    assert finding.measured == "beta = 1, and a gain above -ln p"


@often
@given(st.data())
def test_unions_of_acceptable_classes_are_acceptable(data):
    problem = data.draw(strategies.problems(sensitive=True))
    model = oracle.BetaLikeness("S", data.draw(st.sampled_from([0.2, 0.5, 1, 2])), data.draw(st.booleans()))
    low = data.draw(strategies.nodes(problem))
    if not any(oracle.rejects(model, problem, low, cls) for cls in oracle.classes(problem, low)):
        top = problem.heights
        assert not any(oracle.rejects(model, problem, top, cls) for cls in oracle.classes(problem, top))


def test_a_gain_that_equals_beta_is_allowed():
    sample = sample_of(problem_of({"a": 13, "b": 7}, {"a": 7, "b": 13}))  # 13/20 is 1.3 times a half
    assert rejected_classes(BetaLikeness("S", 0.3), sample, (0,)) == [False, False]
    assert rejected_classes(BetaLikeness("S", 0.2999999999999999), sample, (0,)) == [True, True]


def test_close_to_the_logarithm():
    """p = 1/2 may gain ln 2 = 0.69314718...: shares that differ from there in the eighth digit are told apart."""
    share = (1 + math.log(2)) / 2
    n = 10**5
    f = math.floor(n * share)
    sample = sample_of(problem_of({"a": f, "b": n - f}, {"a": n - f, "b": f}))
    assert rejected_classes(BetaLikeness("S", 9, enhanced=True), sample, (0,)) == [False, False]
    assert rejected_classes(BetaLikeness("S", 9, enhanced=True), sample, (1,)) == [False]
    f += 1
    sample = sample_of(problem_of({"a": f, "b": n - f}, {"a": n - f, "b": f}))
    assert rejected_classes(BetaLikeness("S", 9, enhanced=True), sample, (0,)) == [True, True]


def test_minimal_class_size_looks_at_all_values_together():
    sample = sample_of(problem_of(dict.fromkeys("abcdefghij", 1)))
    # 10 values of share 0.1 may have a share of 0.15: none of them fits in classes of fewer than 7 records.
    assert BetaLikeness("S", 0.5).minimal_class_size(sample) == 7
    assert BetaLikeness("S", 0).minimal_class_size(sample) == 10
    # Nor do classes of 3 hold half of the records of a value with share 0.4 if p = 0.4, 0.6 and beta = 0.1.
    two = sample_of(problem_of({"a": 40, "b": 60}))
    assert BetaLikeness("S", 0.1).minimal_class_size(two) == 5


def test_shares_seen_from_outside():
    published = table_of({"a": 1, "b": 2}, {"a": 3, "b": 1}, baseline={"a": 5, "c": 5})
    found = {each.value.as_py(): (each.p, each.largest, each.smallest) for each in shares(published, "S")}
    assert found == {
        "a": (Fraction(1, 2), Fraction(3, 4), Fraction(1, 3)),
        "b": (0, Fraction(2, 3), Fraction(1, 4)),
    }


def test_a_value_from_nowhere_breaks_the_promise():
    published = table_of({"a": 1, "b": 2}, baseline={"a": 3})
    for enhanced in (False, True):
        assert not BetaLikeness("S", 9, enhanced).verify(published).holds
    assert BetaLikeness.strongest(published, ["S"]) == []


def test_a_tampered_table_is_noticed():
    assert BetaLikeness("S", 0.67).verify(publish(E1, (1, 1, 1), {3})).holds
    assert not BetaLikeness("S", 0.67).verify(publish(E1, (1, 1, 1))).holds
    assert not BetaLikeness("S", 0.67).verify(publish(E1, (1, 1, 1), {3}, S=["flu"] * 10)).holds


def test_nothing_published_breaks_nothing():
    published = publish(E1, (0, 0, 0), range(10))
    assert BetaLikeness("S", 1, enhanced=True).verify(published).holds
    assert BetaLikeness.strongest(published, ["S"]) == []


def test_parameters_out_of_range():
    with refused(r"`beta` of BetaLikeness should be greater than or equal to 0, not -1"):
        BetaLikeness("S", -1)
    with refused(r"`beta` of BetaLikeness should be a finite number, not nan"):
        BetaLikeness("S", math.nan)
