"""How promises stand before a search: what is said to be kept is kept, and what is implied need not be asked for."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from veil import (
    AverageReidentificationRisk,
    BetaLikeness,
    DistinctLDiversity,
    KAnonymity,
    KMap,
    Plan,
    SampleUniqueness,
    TCloseness,
)
from veil import hierarchies as h
from veil.errors import PlanError


def plan(*models, **fields):
    return Plan({"age": h.suppression()}, models, sensitive=["ill"], **{"person": None, **fields})


@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from("xyz")), min_size=2, max_size=12),
    st.integers(1, 4),
    st.integers(1, 3),
)
def test_a_promise_is_kept_already_exactly_if_the_table_may_leave_as_it_is(rows, k, l):
    table = pa.table({"age": [age for age, _ in rows], "ill": [ill for _, ill in rows]})
    told = veil.promises(table, plan(KAnonymity(k), DistinctLDiversity("ill", l)))
    sizes = [sum(age == other for other, _ in rows) for age, _ in rows]
    values = [len({ill for other, ill in rows if other == age}) for age, _ in rows]
    assert [each.finding.holds for each in told] == [min(sizes) >= k, min(values) >= l]
    assert [each.impossible is not None for each in told] == [
        k > len(rows),
        l > len({ill for _, ill in rows}),
    ]


def test_what_follows_from_others_is_told_with_why_and_of_two_alike_the_later_one_follows():
    table = pa.table({"age": [1, 1, 2, 2], "ill": ["x", "y", "x", "y"]})
    models = [
        BetaLikeness("ill", 1.0),
        TCloseness("ill", 0.5),
        KAnonymity(5),
        SampleUniqueness(0.1),
        AverageReidentificationRisk(0.2),
        KAnonymity(5),
    ]
    told = veil.promises(table, plan(*models))
    assert [bool(each.follows) for each in told] == [False, True, False, True, True, True]
    assert told[1].follows[0].premises == (BetaLikeness("ill", 1.0),)
    assert "kept already" in str(told[0])
    assert "follows" in str(told[1])
    assert all(fact in str(told[2]) for fact in ("impossible", "4 records", "groups of 5"))


def test_people_are_counted_where_the_plan_says_who_they_are():
    table = pa.table({"who": [1, 1, 2, 3], "age": [1, 1, 1, 2], "ill": ["x", "x", "y", "x"]})
    told = veil.promises(table, plan(KAnonymity(4), person="who"))[0]
    assert told.finding.measured.startswith("k = 1")
    assert "3 people" in told.impossible
    assert "groups of 4" in told.impossible


def test_what_needs_a_population_is_not_checked_and_a_column_that_is_not_there_is_named():
    table = pa.table({"age": [1, 1], "ill": ["x", "y"]})
    told = veil.promises(table, plan(KMap(5, subset="age = 1")))[0]
    assert not told.finding.checked or not told.finding.holds
    with pytest.raises(PlanError, match="'ill'"):
        veil.promises(table.drop_columns("ill"), plan(KAnonymity(2)))
