"""A count of one's own: the true count, and what a release answers."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import ParameterError
from veil.utility import Comparison, count_query

DECADES = h.table([[str(age), f"{age // 10}x", "*"] for age in range(20, 50)])


@given(
    st.lists(st.tuples(st.integers(20, 49), st.sampled_from("fm")), min_size=1, max_size=20),
    st.integers(15, 55),
    st.integers(15, 55),
    st.sets(st.sampled_from("fm"), min_size=1),
)
def test_counts_are_those_of_the_table_and_answers_spread_over_what_labels_cover(rows, first, last, sexes):
    before = pa.table({"age": [age for age, _ in rows], "sex": [sex for _, sex in rows]})
    after = pa.table({"age": [f"{age // 10}x" for age, _ in rows], "sex": before["sex"]})
    found = count_query(
        Comparison(before, after, {"age": DECADES, "sex": None}), {"age": (first, last), "sex": sorted(sexes)}
    )
    assert found.count == sum(first <= age <= last and sex in sexes for age, sex in rows)
    expected = sum(
        sum(first <= each <= last for each in range(age // 10 * 10, age // 10 * 10 + 10)) / 10
        for age, sex in rows
        if sex in sexes
    )
    assert found.answer == pytest.approx(expected)
    if found.count:
        assert found.error == pytest.approx(abs(expected - found.count) / found.count)
    else:
        assert found.error is None


def test_dates_and_texts_as_a_person_types_them():
    days = [datetime.date(2024, 1, each) for each in (1, 5, 9)]
    table = pa.table({"day": days, "number": ["007", "08", "9"]})
    compared = Comparison(table, table, ["day", "number"])
    assert count_query(compared, {"day": ("2024-01-02", "2024-01-09")}).count == 2
    assert count_query(compared, {"number": ["007"]}).count == 1
    for name, condition, said in (
        ("day", ("soon", "later"), "'day' has dates, and 'soon' is none"),
        ("ward", ["A"], "'ward' is not compared; these are: 'day', 'number'"),
    ):
        with pytest.raises(ParameterError, match=said):
            count_query(compared, {name: condition})
    with refused(ParameterError, "a condition"):
        count_query(compared, {})
    ages = pa.table({"age": [1, 2]})
    compared = Comparison(ages, ages, ["age"])
    with refused(ParameterError, "'age'", "'x'", "not a number"):
        count_query(compared, {"age": ("x", 2)})
