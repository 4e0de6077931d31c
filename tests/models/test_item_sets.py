"""k^m-anonymity: engine, verifier and oracle agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.judging import (
    agrees_with_the_oracle,
    often,
    problem_of,
    refused,
    rejected_classes,
    strongest_is_the_boundary,
    table_of,
)
from support.samples import attribute_of, sample_of
from veil.classes.sample import Sample, SampleAttribute
from veil.models import item_sets
from veil.models.item_sets import KMAnonymity
from veil.published.table import Published
from veil.tables.rows import Owners, Rows

BASKETS = {"bread,milk": 2, "bread,milk,wine": 1, "bread,wine": 1, "milk": 1, "": 1}
"""Of six records four hold bread, four milk, two wine; three bread and milk, one milk and wine."""


def rejected(k: int, m: int, *classes: dict[str, int], level: int = 0) -> list[bool]:
    return rejected_classes(KMAnonymity("S", k, m), sample_of(problem_of(*classes)), (level,))


def least(m: int, *classes: dict[str, int]) -> str:
    return KMAnonymity("S", 1, m).verify(table_of(*classes)).measured


# --- worked values --------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "k"), [(1, 2), (2, 1), (3, 1)])
def test_baskets(m: int, k: int) -> None:
    """Wine is held twice, milk and wine together once."""
    assert rejected(k, m, BASKETS) == [False]
    assert rejected(k + 1, m, BASKETS) == [True]
    assert least(m, BASKETS) == f"k = {k}"


def test_knowing_no_item_leaves_the_class() -> None:
    assert rejected(3, 1, {"": 2}, {"a": 3}, {"a": 1}) == [True, False, True]
    assert KMAnonymity("S", 3, 1).minimal_class_size(sample_of(problem_of({"": 2}))) == 3


def test_the_criterion_needs_no_help_with_small_classes() -> None:
    sample = sample_of(problem_of({"": 2}, {"": 3}))
    criterion = KMAnonymity("S", 3, 1).bind(sample)
    assert criterion is not None
    marks = np.zeros(2, np.uint8)
    criterion.reject(sample.table, marks)
    assert marks.tolist() == [1, 0]


def test_a_smaller_set_is_shared_by_those_who_hold_more() -> None:
    """Terrovitis et al.: what counts is who holds the items, not who holds nothing else."""
    assert rejected(3, 2, {"a": 1, "a,b": 3}) == [False]
    assert rejected(3, 2, {"a": 3, "a,b": 2}) == [True]
    assert rejected(3, 1, {"a": 3, "a,b": 2}) == [True]
    assert rejected(3, 2, {"a,b,c": 1, "a,b": 1, "b,c,a": 1}) == [True]  # c, with anything, is held twice
    assert rejected(3, 5, {"a,b": 1, "b,a": 1, "a,b,a": 1}) == [False]  # no order, no repetition


def test_hopeless_sets_spoil_others() -> None:
    """The rare item x spoils a set; who holds it does not protect b; without b, nobody protects c."""
    first = {"x,b": 1, "b,c": 2, "c": 1, "a": 3}
    assert rejected(3, 1, first, {"a": 4}) == [True, False]
    assert rejected(3, 1, first, {"a": 4, "c": 2}) == [True, True]
    assert rejected(3, 1, first, {"a": 4, "c": 3}) == [True, False]


def test_merging_classes_helps_and_splitting_them_may_too() -> None:
    """The reason why it is monotone under generalization and not under suppression."""
    assert rejected(2, 1, {"a": 1}, {"a": 1}) == [True, True]
    assert rejected(2, 1, {"a": 1}, {"a": 1}, level=1) == [False]
    assert rejected(2, 1, {"a": 2}, {"a": 1, "b": 1}, level=1) == [True]
    assert rejected(2, 1, {"a": 2}, {"a": 1, "b": 1}) == [False, True]
    assert KMAnonymity.monotone_generalization
    assert not KMAnonymity.monotone_suppression


def test_one_record_always_shares_its_items_with_itself() -> None:
    assert KMAnonymity("S", 1, 2).bind(sample_of(problem_of(BASKETS))) is None


# --- against the oracle ---------------------------------------------------------------------------


def test_agrees_with_the_oracle() -> None:
    agrees_with_the_oracle(
        lambda problem: st.tuples(st.integers(1, 5), st.integers(1, 4)).map(
            lambda km: (oracle.KMAnonymity("I", *km), KMAnonymity("I", *km))
        )
    )


@settings(often, max_examples=300)
@given(st.data())
def test_larger_sets_agree_with_the_oracle(data: st.DataObject) -> None:
    """More items in more different sets, and another separator."""
    items = st.lists(st.sampled_from("abcdef"), max_size=6)
    sets = data.draw(st.lists(items.map("; ".join), min_size=1, max_size=8))
    cell = st.tuples(st.sampled_from("012"), st.sampled_from(sets))
    rows = data.draw(st.lists(cell, min_size=1, max_size=30))
    chosen = data.draw(st.none() | st.sets(st.integers(0, len(rows) - 1), min_size=1))
    hierarchy = [[v, "x" if v == "2" else "y", "*"] for v in "012"]
    problem = oracle.Problem([(q,) for q, _ in rows], [hierarchy], {"I": [s for _, s in rows]}, chosen)
    k, m = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    asked, model = oracle.KMAnonymity("I", k, m, "; "), KMAnonymity("I", k, m, "; ")
    sample = sample_of(problem)
    for level in range(3):
        found = oracle.classes(problem, (level,))
        truth = [oracle.rejects(asked, problem, (level,), cls) for cls in found]
        assert rejected_classes(model, sample, (level,)) == truth


@settings(often, max_examples=150)
@given(st.data())
def test_monotone_under_generalization(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True))
    model = KMAnonymity("I", data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3)))
    upper = data.draw(strategies.nodes(problem))
    lower = tuple(data.draw(st.integers(0, level)) for level in upper)
    sample = sample_of(problem)
    if not any(rejected_classes(model, sample, lower)):
        assert not any(rejected_classes(model, sample, upper))


def test_strongest_is_the_boundary() -> None:
    strongest_is_the_boundary(
        KMAnonymity,
        "I",
        lambda strength, k: oracle.KMAnonymity("I", int(k), int(strength.parameter[-2])),
        lambda k: k + 1,
        lambda problem, levels: not any("," in (text or "") for text in problem.sensitive["I"]),
    )


def test_strongest_of_each_number_of_items() -> None:
    found = KMAnonymity.strongest(table_of(BASKETS), ["S"])
    assert [(each.parameter, each.value) for each in found] == [
        ("k (m = 1)", 2),
        ("k (m = 2)", 1),
        ("k (m = 3)", 1),
    ]
    assert KMAnonymity.strongest(table_of({"a": 3, "b": 1}), ["S"]) == []
    assert KMAnonymity.strongest(Published(Rows.of(pa.table({"Q": ["*"], "S": ["*"]})), ["Q"]), ["S"]) == []


# --- lists, and what else a column may hold -------------------------------------------------------


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.large_list(pa.string())])
def test_lists_are_sets(kind: pa.DataType) -> None:
    texts = [text for text, n in BASKETS.items() for _ in range(n)]
    lists = pa.array([text.split(",") if text else None for text in texts], kind)
    published = Published(Rows.of(pa.table({"Q": ["q"] * len(texts), "S": lists})), ["Q"])
    for m in (1, 2, 3):
        assert KMAnonymity("S", 1, m).verify(published).measured == least(m, BASKETS)
    assert [each.value for each in KMAnonymity.strongest(published, ["S"])] == [2, 1, 1]


def test_the_engine_takes_lists() -> None:
    problem = problem_of({"a,b": 2, "b,a": 1, "": 1}, {"a": 2, "b": 1})
    column = problem.sensitive["S"]
    coded = attribute_of("S", column)
    values = tuple(str(text).split(",") if text else None for text in coded.values)
    texts = sample_of(problem)
    lists = Sample(
        texts.encoding,
        [np.array([int(row[0]) for row in problem.rows], np.int32)],
        (SampleAttribute("S", coded.codes, values),),
    )
    for k, m in ((2, 1), (3, 2), (4, 2)):
        model = KMAnonymity("S", k, m)
        assert rejected_classes(model, lists, (0,)) == rejected_classes(model, texts, (0,))


def test_items_of_lists_may_be_numbers_or_missing() -> None:
    lists = pa.array([[1, 2], [2, 1], [1, 2, 2], [None, 2]])
    published = Published(Rows.of(pa.table({"Q": ["q"] * 4, "S": lists})), ["Q"])
    assert KMAnonymity("S", 2, 1).verify(published).measured == "k = 1"
    shorter = Published(Rows.of(published.table.slice(0, 3)), ["Q"])
    assert KMAnonymity("S", 3, 2).verify(shorter).holds


def test_numbers_are_no_sets() -> None:
    published = Published(Rows.of(pa.table({"Q": ["q"], "S": [12]})), ["Q"])
    with refused("`attribute` of KMAnonymity should be a column of lists or text, but 'S' holds 12"):
        KMAnonymity("S", 2, 1).verify(published)
    assert KMAnonymity.strongest(published, ["S"]) == []


# --- verification ---------------------------------------------------------------------------------


def test_verify_says_what_it_found() -> None:
    finding = KMAnonymity("S", 2, 2).verify(table_of(BASKETS))
    assert not finding.holds
    assert (finding.promise, finding.measured) == ("2^2-anonymity of 'S'", "k = 1")
    nothing = Published(Rows.of(pa.table({"Q": ["*"], "S": ["*"]})), ["Q"])
    assert KMAnonymity("S", 2, 2).verify(nothing).holds
    items = Published(Rows.of(pa.table({"Q": ["*"], "S": ["a"]})), ["Q"])
    assert not KMAnonymity("S", 2, 2).verify(items).holds


def test_a_changed_item_is_noticed() -> None:
    assert KMAnonymity("S", 3, 2).verify(table_of({"a,b": 3}, {"a": 2, "a,b": 4})).holds
    assert not KMAnonymity("S", 3, 2).verify(table_of({"a,b": 3}, {"a": 2, "a,b": 3, "a,c": 1})).holds
    assert not KMAnonymity("S", 3, 2).verify(table_of({"a,b": 2}, {"a": 2, "a,b": 4})).holds


@pytest.mark.parametrize("many", [4, 40, 64, 100, 1 << 20])
def test_counting_in_parts_finds_the_same(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if a part holds one class only."""
    monkeypatch.setattr(item_sets, "_MANY", many)
    sets = [",".join(three) for three in combinations("abcd", 3)]
    classes = [dict.fromkeys(sets, 2 + i % 3) for i in range(7)]
    assert least(2, *classes) == "k = 4"  # every pair is in two of the sets


# --- parameters -----------------------------------------------------------------------------------


def test_impossible_parameters_are_refused() -> None:
    with refused("`k` of KMAnonymity should be greater than or equal to 1, not 0"):
        KMAnonymity("S", 0, 1)
    with refused("`m` of KMAnonymity should be greater than or equal to 1, not 0"):
        KMAnonymity("S", 2, 0)
    with refused("`separator` of KMAnonymity"):
        KMAnonymity("S", 2, 1, "")


def test_too_many_combinations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(item_sets, "_MANY", 50)
    sample = sample_of(problem_of({",".join("abcdefgh"): 5}))
    assert KMAnonymity("S", 2, 2).bind(sample) is not None
    with refused(
        "`m` of KMAnonymity should be at most 2 for column 'S', .* 56 combinations of 3 items, not 4"
    ):
        KMAnonymity("S", 2, 4).bind(sample)


@pytest.mark.parametrize("names", [["items"], ["ward", "items"], ["ward"]])
def test_the_verifier_counts_people_whether_or_not_the_items_are_known(names: list[str]) -> None:
    table = pa.table({"ward": ["x"] * 4, "items": ["a", "a", "b", "b"]})
    owners = Owners.coded(np.array([0, 0, 1, 2], np.int32))  # both rows with item a are one person's
    for rows, k in ((Rows.of(table), 2), (Rows.of(table, owners=owners), 1)):
        found = KMAnonymity("items", 2, 1).verify(Published(rows, names, suppressed="none"))
        assert (found.holds, found.measured) == (k == 2, f"k = {k}")
