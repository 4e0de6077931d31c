"""Frequencies and contingency tables: order, suppressed records, compression."""

from __future__ import annotations

import math
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from support.utility.cases import Case, cases
from support.utility.example import e1
from veil import hierarchies as h
from veil.errors import ParameterError
from veil.utility import Comparison, contingency, distribution


def test_labels_come_in_the_order_of_the_values_below_them_and_suppressed_records_last():
    comparison = e1((1, 0, 1))
    ages = distribution(comparison, "A")
    assert ages.before.values == ("21", "23", "35", "38")
    assert ages.before.counts == (3, 2, 3, 2)
    assert ages.after.values == ("20-29", "30-39", "*")
    assert ages.after.shares == (0.5, 0.4, 0.1)
    assert distribution(comparison, "Z").after.values == ("11*", "24*", "*")


def test_the_order_is_that_of_numbers_not_of_texts():
    table = [["9", "below 10", "*"], ["10", "above", "*"], ["100", "above", "*"]]
    before = pa.table({"x": [100, 9, 10, None]})
    mixed = pa.table({"x": ["above", "9", "10", None]})
    found = distribution(Comparison(before, mixed, {"x": h.table(table)}), "x")
    assert found.before.values == ("9", "10", "100", None)
    assert found.after.values == ("9", "10", "above", None)
    strange = pa.table({"x": ["below 10", "zz", "aa", "*"]})
    found = distribution(Comparison(before, strange, {"x": h.table(table)}), "x")
    assert found.after.values == ("below 10", "aa", "zz", "*")


def test_a_label_of_several_levels_comes_where_its_most_specific_one_does():
    """On level 0, "a" comes first; on level 1, which spells another value so, it would come after "c"."""
    reused = h.table([["b", "a", "*"], ["a", "c", "*"]])
    found = distribution(
        Comparison(pa.table({"x": ["a", "b"]}), pa.table({"x": ["c", "a"]}), {"x": reused}), "x"
    )
    assert found.after.values == ("a", "c")


def test_suppressed_cells_of_typed_columns_are_called_by_the_marker():
    before = pa.table({"x": [1, 2, None]})
    after = pa.table({"x": pa.array([1, None, None], pa.int64())})
    found = distribution(Comparison(before, after, "x"), "x")
    assert dict(zip(found.after.values, found.after.counts, strict=True)) == {"1": 1, None: 1, "*": 1}


def test_ordered_categories_keep_their_order():
    column = pa.DictionaryArray.from_arrays(
        pa.array([2, 0, 1, None]), pa.array(["low", "mid", "high"]), ordered=True
    )
    table = pa.table({"x": column})
    found = distribution(Comparison(table, table, "x"), "x")
    assert found.before.values == found.after.values == ("low", "mid", "high", None)


@given(cases())
@settings(max_examples=60)
def test_counts_agree_with_the_slow_twin(case: Case):
    comparison = case.comparison
    for name, twin in zip(comparison.columns, case.attributes, strict=True):
        found = distribution(comparison, name)
        assert dict(zip(found.before.values, found.before.counts, strict=True)) == Counter(twin.keys)
        shown = Counter(
            "*" if twin.gone[i] else twin.shown[i] for i in twin.records if comparison.place[i] >= 0
        )
        assert dict(zip(found.after.values, found.after.counts, strict=True)) == shown
        if "*" in found.after.values:
            assert found.after.values[-1] == "*"
        before = [value for value in found.before.values if value is not None]
        assert before == sorted(before, key=int if twin.numeric else str)


@given(cases(), st.integers(1, 4) | st.none())
@settings(max_examples=60)
def test_contingency_agrees_with_the_slow_twin(case: Case, at_most):
    comparison = case.comparison
    names = list(comparison.columns)
    first, second = names[0], names[-1]
    for found, table in zip(contingency(comparison, first, second, at_most=at_most), (0, 1), strict=True):
        margins = [distribution(comparison, name) for name in (first, second)]
        if table and any(each.estimate is not None for each in margins):
            continue  # see the test of labels of several levels
        values = [(each.before, each.after)[table].values for each in margins]
        for names_of, listed in ((found.rows, values[0]), (found.columns, values[1])):
            length, limit = len(listed), at_most or max(1, len(listed))
            places = [
                i if length <= limit else min(math.floor(i * limit / length + 0.5), limit - 1)
                for i in range(length)
            ]
            for place, names_here in enumerate(names_of):
                assert names_here == tuple(v for v, p in zip(listed, places, strict=True) if p == place)
        records = [i for i in range(comparison.records) if table == 0 or comparison.place[i] >= 0]
        pairs = Counter()
        for i in records:
            cells = []
            for attribute in (case.attributes[0], case.attributes[-1]):
                shown = "*" if attribute.gone[i] else attribute.shown[i]
                cells.append(attribute.keys[i] if table == 0 else shown)
            pairs[tuple(cells)] += 1
        for i, row in enumerate(found.rows):
            for j, column in enumerate(found.columns):
                count = sum(pairs[a, b] for a in row for b in column)
                assert found.shares[i][j] == pytest.approx(count / max(1, len(records)))


def test_bad_parameters_are_refused():
    with refused(ParameterError, "`at_most`", "1 or more", "not 0"):
        contingency(e1((1, 0, 1)), "A", "G", at_most=0)


def test_values_before_are_counted_by_the_labels_of_the_release():
    ages = distribution(e1((1, 0, 1)), "A", coarsened=True)
    assert ages.before.values == ("20-29", "30-39")
    assert ages.before.shares == (0.5, 0.5)  # one of ten is suppressed
    assert ages.after.shares == (0.5, 0.4, 0.1)
    assert ages.distance == pytest.approx(0.1)


def test_each_record_is_counted_at_its_own_level_and_a_suppressed_one_at_the_highest_of_its_value():
    table = h.table([["1", "1-2", "1-4", "*"], ["2", "1-2", "1-4", "*"], ["3", "3-4", "1-4", "*"]])
    before = pa.table({"x": [1, 1, 1, 2, 3, None]})
    after = pa.table({"x": ["1", "1-2", "*", "1-2", "*", None]})
    flag = {"suppressed": [False, False, True, False, True, False]}
    after = after.append_column("suppressed", [flag["suppressed"]])
    found = distribution(Comparison(before, after, {"x": table}), "x", coarsened=True)
    # The third 1 counts at level 1, as another 1 does; no 3 is released, and level 1 is the highest of all.
    assert dict(zip(found.before.values, found.before.counts, strict=True)) == {"1": 1, "1-2": 3, "3-4": 1, None: 1}  # fmt: skip


def test_what_no_hierarchy_made_coarser_stays_as_it_is():
    before = pa.table({"x": [1, 2, 3, 4], "kept": ["a", "b", "a", "a"]})
    means = pa.table({"x": [1.5, 1.5, 3.5, 3.5], "kept": ["a", "b", "a", "a"]})
    comparison = Comparison(before, means, "x")
    assert distribution(comparison, "x", coarsened=True).before.values == ("1", "2", "3", "4")
    kept = distribution(comparison, "kept", coarsened=True)
    assert kept == distribution(comparison, "kept")
    assert kept.distance == 0
    gone = Comparison(before, pa.table({"x": ["*"] * 4}), {"x": h.suppression()})
    assert distribution(gone, "x", coarsened=True).before.values == ("*",)


@given(cases())
def test_coarsened_counts_are_complete(case: Case):
    comparison = case.comparison
    for name in comparison.columns:
        found = distribution(comparison, name, coarsened=True)
        assert sum(found.before.counts) == comparison.records
        assert 0 <= found.distance <= 1 + 1e-9


@given(
    st.lists(
        st.tuples(st.sampled_from(["21", "23", "35"]), st.integers(0, 2), st.sampled_from("fm")),
        min_size=1,
        max_size=12,
    )
)
def test_labels_of_several_levels_count_as_shares_of_the_values_they_cover(rows):
    """Level 0, 1 or 2 of each record, as local recoding might choose."""
    paths = {"21": ["21", "20s", "*"], "23": ["23", "20s", "*"], "35": ["35", "30s", "*"]}
    before = pa.table({"age": [int(age) for age, _, _ in rows], "sex": [sex for _, _, sex in rows]})
    after = pa.table({"age": [paths[age][level] for age, level, _ in rows], "sex": before["sex"]})
    compared = Comparison(before, after, {"age": h.table(list(paths.values())), "sex": None})
    found = distribution(compared, "age")
    table = contingency(compared, "age", "sex")[1]
    if found.estimate is None:  # labels do not overlap
        assert table.rows == tuple((label,) for label in found.after.values)
        return
    values = sorted({age for age, _, _ in rows})
    expected = dict.fromkeys([*values, "*"], 0.0)
    pairs: dict[tuple[str, str], float] = {}
    for age, level, sex in rows:
        covered = [each for each, path in paths.items() if paths[age][level] in path]
        covered = ["*"] if set(covered) >= set(values) else covered
        for each in covered:
            if each in expected:
                expected[each] += 1 / len(covered) / len(rows)
                pairs[each, sex] = pairs.get((each, sex), 0.0) + 1 / len(covered) / len(rows)
    if sum(expected.values()) == pytest.approx(1.0):  # a value that no record has may be below a label
        assert dict(zip((*found.before.values, "*"), found.estimate, strict=True)) == pytest.approx(expected)
        shown = {
            (row[0], column[0]): share
            for row, shares in zip(table.rows, table.shares, strict=True)
            for column, share in zip(table.columns, shares, strict=True)
            if share
        }
        assert shown == pytest.approx(pairs)
