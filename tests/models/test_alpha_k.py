"""(α, k)-anonymity: the oracle, chosen values, parameters."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
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
from veil.classes.encoding import Encoding
from veil.classes.sample import Sample, SampleAttribute
from veil.hierarchies import Hierarchy
from veil.models.alpha_k import AlphaKAnonymity
from veil.published.table import Published
from veil.tables.rows import Rows


def test_the_example():
    """The classes hold 2 flu, 2 gout, 1 cold; 1 flu; 2 cold, 1 gout, 1 flu."""
    assert suppressed_rows(AlphaKAnonymity("S", 0.5, 2)) == {3}
    assert suppressed_rows(AlphaKAnonymity("S", 0.4, 2)) == {3, 4, 5, 6, 8}
    assert suppressed_rows(AlphaKAnonymity("S", 0.39, 1)) == set(range(10))
    assert suppressed_rows(AlphaKAnonymity("S", 0.25, 1, ["cold"])) == {4, 5, 6, 8}
    assert suppressed_rows(AlphaKAnonymity("S", 0.25, 5, ["cold"])) == {3, 4, 5, 6, 8}


def test_agrees():
    alphas = st.sampled_from([0.2, 0.25, 0.34, 0.5, 0.6, 0.75, 1, 1 / 3, 1e-9])
    asked = st.builds(oracle.AlphaKAnonymity, st.sampled_from(["S", "T"]), alphas, st.integers(1, 5))
    agrees_with_the_oracle(
        lambda problem: asked.map(lambda m: (m, AlphaKAnonymity(m.attribute, m.alpha, m.k)))
    )


def test_agrees_with_chosen_values():
    def pairs(problem):
        values = sorted(set(problem.sensitive["S"]), key=str)
        visible = [value for value in values if oracle.is_value(value)] or ["a"]
        alphas = st.sampled_from([0.1, 0.25, 0.5, 0.75])
        asked = st.one_of(
            st.builds(
                oracle.AlphaKAnonymity,
                st.just("S"),
                alphas,
                st.integers(1, 3),
                st.lists(st.sampled_from(there), min_size=1, unique=True),
                missing=st.just(missing),
            )
            for missing, there in (("left out", visible), ("a value", values))
        )
        return asked.map(
            lambda m: (m, AlphaKAnonymity(m.attribute, m.alpha, m.k, m.values, missing=m.missing))
        )

    agrees_with_the_oracle(pairs)


def test_strongest():
    def at(strength, alpha):
        return oracle.AlphaKAnonymity(
            "S", alpha, int(strength.parameter.removeprefix("alpha (k = ").rstrip(")"))
        )

    strongest_is_the_boundary(AlphaKAnonymity, "S", at, lambda alpha: alpha * (1 - 1e-12))


def test_a_share_that_equals_alpha_is_allowed():
    sample = sample_of(problem_of({"a": 3, "b": 7}))
    assert rejected_classes(AlphaKAnonymity("S", 0.7, 1), sample, (0,)) == [False]
    assert rejected_classes(AlphaKAnonymity("S", 0.6999999999999999, 1), sample, (0,)) == [True]


def test_it_is_monotone_under_generalization_only():
    problem = problem_of({"a": 9, "b": 1}, {"a": 1, "b": 9})
    model = AlphaKAnonymity("S", 0.5, 2)
    assert rejected_classes(model, sample_of(problem), (0,)) == [True, True]
    assert rejected_classes(model, sample_of(problem), (1,)) == [False]
    assert model.monotone_generalization
    # The first six records of a rejected class would be fine by themselves.
    problem = problem_of({"a": 1, "b": 1}, {"a": 7, "b": 1})
    assert rejected_classes(model, sample_of(problem), (0,)) == [False, True]
    assert rejected_classes(model, sample_of(problem), (1,)) == [True]
    assert not model.monotone_suppression


def test_minimal_class_size():
    sample = sample_of(E1)
    assert AlphaKAnonymity("S", 0.4, 2).minimal_class_size(sample) == 3
    assert AlphaKAnonymity("S", 0.4, 4).minimal_class_size(sample) == 4
    assert AlphaKAnonymity("S", 0.4, 2, ["flu"]).minimal_class_size(sample) == 2


DAYS = [datetime.date(2020, 1, 31), datetime.date(2020, 2, 1)]


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        (DAYS, [DAYS[0]]),
        (DAYS, ["2020-01-31"]),
        ([1, 2], [1]),
        ([1, 2], ["1"]),
        ([1.0, 2.5], [1]),
        ([True, False], [True]),
        ([None, "x"], [None]),
    ],
)
def test_values_are_named_as_they_are_or_by_their_text(values, asked):
    column = [values[0], values[0], values[1]]
    codes = np.array([0, 0, 1], np.int32)
    encoding = Encoding(["Q"], [Hierarchy.from_rows([["a"]])])
    sample = Sample(encoding, [np.zeros(3, np.int32)], (SampleAttribute("S", codes, tuple(values)),))
    published = Published(Rows.of(pa.table({"Q": ["a"] * 3, "S": column})), ["Q"])
    for alpha, fine in ((0.5, False), (0.7, True)):
        model = AlphaKAnonymity("S", alpha, 1, asked, missing="a value")
        assert rejected_classes(model, sample, (0,)) == [not fine]
        assert model.verify(published).holds == fine
    assert AlphaKAnonymity("S", 0.34, 1, [values[1]], missing="a value").verify(published).holds


def test_a_tampered_table_is_noticed():
    model = AlphaKAnonymity("S", 0.5, 2)
    assert model.verify(publish(E1, (1, 1, 1), {3})).holds
    assert not model.verify(publish(E1, (1, 1, 1))).holds
    assert not model.verify(publish(E1, (1, 1, 1), {3}, S=["flu"] * 10)).holds
    finding = AlphaKAnonymity("S", 1, 5).verify(publish(E1, (1, 1, 1), {3}))
    assert not finding.holds
    assert finding.measured == "alpha = 0.5, k = 4"


def test_nothing_published_breaks_nothing():
    published = publish(E1, (0, 0, 0), range(10))
    assert AlphaKAnonymity("S", 0.1, 99, ["flu"]).verify(published).holds
    assert AlphaKAnonymity.strongest(published, ["S"]) == []
    assert AlphaKAnonymity.strongest(table_of({"a": 1, "b": 2}), ["S"])[0].value >= 2 / 3


def test_parameters_out_of_range():
    with refused(r"`alpha` of AlphaKAnonymity should be more than 0 and at most 1, not 0"):
        AlphaKAnonymity("S", 0, 2)
    with refused(r"`alpha` of AlphaKAnonymity should be more than 0 and at most 1, not 1.5"):
        AlphaKAnonymity("S", 1.5, 2)
    with refused(r"`k` of AlphaKAnonymity should be greater than or equal to 1, not 0"):
        AlphaKAnonymity("S", 0.5, 0)
    with refused(r"`values` of AlphaKAnonymity .*should have at least 1 item.*"):
        AlphaKAnonymity("S", 0.5, 2, [])


def test_parameters_that_do_not_fit_the_data():
    sample = sample_of(E1)
    with refused(r"`alpha` of AlphaKAnonymity should be from 1/3 to 1, as column 'S' has 3 .*, not 0.3$"):
        AlphaKAnonymity("S", 0.3, 2).bind(sample)
    with refused(r"`alpha` of AlphaKAnonymity should be from 1/3 to 1"):
        AlphaKAnonymity("S", 0.3, 2, ["flu", "cold", "gout"]).minimal_class_size(sample)
    AlphaKAnonymity("S", 0.3, 2, ["flu", "cold"]).bind(sample)
    with refused(
        r"`values` of AlphaKAnonymity should be values of column 'S', not 'flue'. Did you mean 'flu'\?"
    ):
        AlphaKAnonymity("S", 0.5, 2, ["flue"]).bind(sample)
