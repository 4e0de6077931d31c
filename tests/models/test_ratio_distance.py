"""The ratio distance: worked values, the oracle, what it has in common with δ-disclosure, and its label."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support import oracle, strategies
from support.judging import (
    agrees_with_the_oracle,
    often,
    problem_of,
    publish,
    refused,
    rejected_classes,
    strongest_is_the_boundary,
    table_of,
)
from support.samples import E1, sample_of
from veil import hierarchies as h
from veil.masking.ties.buckets import fitting_counts
from veil.models.ratio_distance import LABEL, RatioDistance

RATIOS = [1, 1.5, 2, 2.5, 3, 10, 1 / 0.3, 1e9]


@pytest.mark.parametrize(("t", "rejected"), [(1.5, False), (1.4999999, True)])
def test_soria_comas_table_7_5_twelve_records_in_three_groups(t, rejected):
    """N = 12, t = 2: groups with 2, 1 and 1 records of the buckets have the distance 1.5 (figure 7.5)."""
    groups = [dict(zip("abc", counts, strict=True)) for counts in fitting_counts(12, 2, 1).tolist()]
    assert sorted(sorted(group.values()) for group in groups) == [[1, 1, 2]] * 3
    sample = sample_of(problem_of(*groups))
    assert rejected_classes(RatioDistance("S", t), sample, (0,)) == [rejected] * 3
    assert RatioDistance("S", t).verify(table_of(*groups)).holds is not rejected


def test_the_distance_itself_is_allowed_and_no_more():
    """Groups of 8, 2 and 2 of 36 records have the distance 2 exactly."""
    groups = ({"a": 8, "b": 2, "c": 2}, {"a": 2, "b": 8, "c": 2}, {"a": 2, "b": 2, "c": 8})
    sample = sample_of(problem_of(*groups))
    assert rejected_classes(RatioDistance("S", 2), sample, (0,)) == [False] * 3
    below = math.nextafter(2, 0)
    assert rejected_classes(RatioDistance("S", below), sample, (0,)) == [True] * 3
    assert RatioDistance("S", 2).verify(table_of(*groups)).measured == "t = 2"
    assert not RatioDistance("S", below).verify(table_of(*groups)).holds
    assert [each.value for each in RatioDistance.strongest(table_of(*groups), ["S"])] == [2]


def test_agrees():
    asked = st.builds(oracle.RatioDistance, st.sampled_from(["S", "T"]), st.sampled_from(RATIOS))
    agrees_with_the_oracle(lambda problem: asked.map(lambda m: (m, RatioDistance(m.attribute, m.t))))


def test_strongest():
    def some_class_lacks_a_value(problem, levels):
        return any(
            oracle.rejects(oracle.RatioDistance("S", 10**9), problem, levels, cls)
            for cls in oracle.classes(problem, levels)
        )

    strongest_is_the_boundary(
        RatioDistance,
        "S",
        lambda strength, t: oracle.RatioDistance("S", t),
        lambda t: t * (1 - 1e-12) if t > 1 else None,
        some_class_lacks_a_value,
    )


@often
@given(st.data())
def test_it_is_disclosure_privacy_for_the_logarithm_where_no_value_is_lacking(data):
    """By the oracle: δ = log2 t, with <= for <, and a class that lacks a value is rejected by this one alone."""
    problem = data.draw(strategies.problems(sensitive=True))
    bits = data.draw(st.sampled_from([1, 2, 3]))
    levels = data.draw(strategies.nodes(problem))
    for cls in oracle.classes(problem, levels):
        if not oracle.members(problem, cls):
            continue
        by_ratio = oracle.rejects(oracle.RatioDistance("S", 2**bits, missing="a value"), problem, levels, cls)
        lacks = len(problem.count("S", cls)) < len(+problem.baselines["S"])
        close = oracle.rejects(
            oracle.DeltaDisclosure("S", bits + 1e-12, missing="a value"), problem, levels, cls
        )
        assert by_ratio == (lacks or close)


@often
@given(st.data())
def test_a_union_of_acceptable_classes_is_acceptable(data):
    problem = data.draw(strategies.problems(sensitive=True))
    model = oracle.RatioDistance("S", data.draw(st.sampled_from(RATIOS)))
    levels = data.draw(strategies.nodes(problem))
    good = [cls for cls in oracle.classes(problem, levels) if not oracle.rejects(model, problem, levels, cls)]
    union = [row for cls in good for row in cls]
    assert not oracle.members(problem, union) or not oracle.rejects(model, problem, levels, union)
    assert RatioDistance.monotone_generalization


def test_a_part_of_a_rejected_class_may_be_fine():
    model = RatioDistance("S", 1.2)
    sample = sample_of(problem_of({"a": 2, "b": 2}, {"a": 1, "b": 2}, {"a": 1}))
    assert rejected_classes(model, sample, (0,)) == [False, True, True]
    assert not model.monotone_suppression


def test_every_class_has_every_value():
    sample = sample_of(problem_of(dict.fromkeys("abcdefgh", 1)))
    assert RatioDistance("S", 1e9).minimal_class_size(sample) == 8
    assert not RatioDistance("S", 1e9).verify(table_of({"a": 3, "b": 1}, {"a": 5})).holds


def test_a_value_from_nowhere_breaks_the_promise():
    published = table_of({"a": 1, "b": 2}, baseline={"a": 3})
    assert not RatioDistance("S", 9).verify(published).holds
    assert RatioDistance.strongest(published, ["S"]) == []


def test_nothing_published_breaks_nothing():
    published = publish(E1, (0, 0, 0), range(10))
    assert RatioDistance("S", 1).verify(published).holds
    assert RatioDistance.strongest(published, ["S"]) == []


def test_what_a_person_receives_keeps_the_ratio_and_carries_the_label(tmp_path):
    patients = pa.table({"age": [20, 21, 22, 23, 40, 41, 42, 43] * 3, "ill": list("aabbabab") * 3})
    release = veil.anonymize(
        patients,
        quasi_identifiers={"age": h.intervals(2, 10, 20)},
        sensitive=["ill"],
        models=[RatioDistance("ill", 1.5)],
    )
    groups = release.table.group_by(["age", "ill"]).aggregate([([], "count_all")]).to_pylist()
    sizes: dict[object, int] = {}
    for each in groups:
        sizes[each["age"]] = sizes.get(each["age"], 0) + each["count_all"]
    assert len(groups) == 2 * len(sizes)
    shares = [each["count_all"] / sizes[each["age"]] for each in groups]
    assert max(max(share / 0.5, 0.5 / share) for share in shares) <= 1.5
    release.report(tmp_path / "report.html")
    assert LABEL in (tmp_path / "report.html").read_text()
    release.certificate(tmp_path / "certificate.json")
    assert LABEL in (tmp_path / "certificate.json").read_text()
    assert LABEL in str(release.verification)


def test_parameters_out_of_range():
    with refused(r"`t` of RatioDistance should be greater than or equal to 1, not 0.5"):
        RatioDistance("S", 0.5)
