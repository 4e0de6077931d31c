"""δ-disclosure privacy: worked values, the oracle, and close calls."""

from __future__ import annotations

import math

import pytest
from hypothesis import strategies as st

from support import oracle
from support.judging import (
    agrees_with_the_oracle,
    problem_of,
    publish,
    refused,
    rejected_classes,
    strongest_is_the_boundary,
    suppressed_rows,
    table_of,
)
from support.samples import E1, sample_of
from veil.lattice.evaluator import Evaluator
from veil.lattice.optimal import Optimal
from veil.lattice.search import Search
from veil.models.disclosure import DeltaDisclosure
from veil.quality import Loss


@pytest.mark.parametrize(("delta", "rows"), [(0.6, {3, 4, 5, 6, 8}), (0.74, {3}), (1.33, set())])
def test_the_example(delta, rows):
    assert suppressed_rows(DeltaDisclosure("S", delta)) == rows


def test_agrees():
    deltas = st.sampled_from([0.1, 0.5, 0.6, 1, 1.33, 2, 3, 1e-9, 64, 1e9, 1e300, 1 / 3])
    asked = st.builds(oracle.DeltaDisclosure, st.sampled_from(["S", "T"]), deltas)
    agrees_with_the_oracle(lambda problem: asked.map(lambda m: (m, DeltaDisclosure(m.attribute, m.delta))))


def test_strongest():
    def beyond(delta):
        return delta * (1 - 1e-12) if delta > 1e-300 else None

    strongest_is_the_boundary(DeltaDisclosure, "S", lambda s, d: oracle.DeltaDisclosure("S", d), beyond)


def test_a_distance_that_equals_delta_is_too_much():
    """In {a: 1, b: 3} and {a: 3, b: 1} the shares 1/4 are half of 1/2: one bit exactly."""
    sample = sample_of(problem_of({"a": 1, "b": 3}, {"a": 3, "b": 1}))
    assert rejected_classes(DeltaDisclosure("S", 1), sample, (0,)) == [True, True]
    assert rejected_classes(DeltaDisclosure("S", 1.0000000000000002), sample, (0,)) == [False, False]
    sample = sample_of(problem_of({"a": 4}, {"b": 4}))
    assert rejected_classes(DeltaDisclosure("S", 1), sample, (0,)) == [True, True]
    assert rejected_classes(DeltaDisclosure("S", 1.01), sample, (0,)) == [False, False]


def test_close_to_a_root():
    """A share of 0.5 may shrink by a factor of the root of 2 to 0.35355...: told apart in the sixth digit."""
    n = 10**5
    f = math.ceil(n / 2 / math.sqrt(2))
    for count, rejected in ((f, False), (f - 1, True)):
        sample = sample_of(problem_of({"a": count, "b": n - count}, {"a": n - count, "b": count}))
        assert rejected_classes(DeltaDisclosure("S", 0.5), sample, (0,)) == [rejected] * 2


def test_it_is_not_monotone():
    """All classes are as they should be, but c is too rare in the union of the first two."""
    problem = problem_of({"a": 12}, {"a": 2, "c": 2}, {"a": 4, "c": 8})
    problem = oracle.Problem(problem.rows, [[["0", "01"], ["1", "01"], ["2", "2"]]], problem.sensitive)
    model = DeltaDisclosure("S", 1)
    assert rejected_classes(model, sample_of(problem), (0,)) == [False, False, False]
    assert rejected_classes(model, sample_of(problem), (1,)) == [True, False]
    assert not model.monotone_generalization
    assert not model.monotone_suppression
    found = Search(Evaluator(sample_of(problem), [model], Loss(), 0), (0,), (1,)).run(Optimal())
    assert found.best is not None
    assert found.best.levels == (0,)


def test_limits_that_add_up_to_one_but_for_rounding_leave_no_bound():
    """Shares of 1/6 and 1/3 that a class must have exactly: their sum in floats is less than 1."""
    problem = oracle.Problem(
        [(place,) for place in "aabbcc"],
        [[[place, "abc", "*"] for place in "abc"] + [["d", "d", "*"]]],
        {"S": ["b", "a", None, "a", "c", "d"]},
    )
    evaluator = Evaluator(sample_of(problem), [DeltaDisclosure("S", 0.1)], Loss(), 0.9)
    assert evaluator.judge((2,), evaluator.sample.table, high=True).least == 0
    best = Search(evaluator, (0,), (2,)).run(Optimal()).best
    assert best is not None
    assert best.levels == (1,)


def test_minimal_class_size():
    sample = sample_of(problem_of(dict.fromkeys("abcdefgh", 1)))
    assert DeltaDisclosure("S", 1).minimal_class_size(sample) == 5  # a share below 2/8
    assert DeltaDisclosure("S", 2).minimal_class_size(sample) == 3
    assert DeltaDisclosure("S", 99).minimal_class_size(sample) == 1


def test_a_tampered_table_is_noticed():
    assert DeltaDisclosure("S", 0.74).verify(publish(E1, (1, 1, 1), {3})).holds
    finding = DeltaDisclosure("S", 0.74).verify(publish(E1, (1, 1, 1)))
    assert not finding.holds
    assert finding.measured == "delta = 1.32193"
    swapped = ["gout" if each == "cold" else each for each in E1.sensitive["S"]]
    assert not DeltaDisclosure("S", 0.74).verify(publish(E1, (1, 1, 1), {3}, S=swapped)).holds


def test_a_value_from_nowhere_breaks_the_promise():
    published = table_of({"a": 1, "b": 2}, baseline={"a": 3})
    assert not DeltaDisclosure("S", 9).verify(published).holds
    assert DeltaDisclosure.strongest(published, ["S"]) == []


def test_nothing_published_breaks_nothing():
    published = publish(E1, (0, 0, 0), range(10))
    assert DeltaDisclosure("S", 1).verify(published).holds
    assert DeltaDisclosure.strongest(published, ["S"]) == []


def test_parameters_out_of_range():
    with refused(r"`delta` of DeltaDisclosure should be greater than 0, not 0"):
        DeltaDisclosure("S", 0)
