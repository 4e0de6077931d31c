"""Bounds of counts and means: against every way in which the cells could be completed, and on real releases."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import veil
from support import realdata
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import PRAM, Mondrian
from veil.recoding import FastIterative
from veil.utility import count_bounds, mean_bounds

AGES = h.table([["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"]])
JOBS = h.table([["a", "ab", "*"], ["b", "ab", "*"], ["c", "c", "*"]])
COVERS = {
    "age": {"21": [21], "23": [23], "35": [35], "20s": [21, 23], "30s": [35], "*": [21, 23, 35]},
    "job": {"a": ["a"], "b": ["b"], "c": ["c"], "ab": ["a", "b"], "*": ["a", "b", "c"]},
}
CELLS = st.tuples(st.sampled_from(sorted(COVERS["age"])), st.sampled_from(sorted(COVERS["job"])))


def completions(rows):
    """Every table that a release could be of, cell by cell."""
    cells = [COVERS[name][text] for row in rows for name, text in zip(COVERS, row, strict=True)]
    for values in itertools.product(*cells):
        yield list(zip(values[::2], values[1::2], strict=True))


@given(
    st.lists(CELLS, min_size=1, max_size=4),
    st.sets(st.sampled_from([21, 23, 35])),
    st.sets(st.sampled_from("abc")),
)
@settings(max_examples=150)
def test_bounds_are_the_extremes_of_all_completions_and_the_estimate_is_their_mean(rows, ages, jobs):
    assume(any(row != ("*", "*") for row in rows))
    release = pa.table({"age": [row[0] for row in rows], "job": [row[1] for row in rows]})
    bounds = count_bounds(
        release, {"age": sorted(ages), "job": sorted(jobs)}, hierarchies={"age": AGES, "job": JOBS}
    )
    counts = [sum(a in ages and j in jobs for a, j in table) for table in completions(rows)]
    assert bounds.lower == min(counts)
    assert bounds.upper == max(counts)
    if ("*", "*") not in rows:
        assert bounds.estimate == pytest.approx(sum(counts) / len(counts))
    assert bounds.lower <= bounds.estimate + 1e-9
    assert bounds.estimate <= bounds.upper + 1e-9


@given(st.lists(st.sampled_from(sorted(COVERS["age"])), min_size=1, max_size=5))
def test_means_lie_between_those_of_all_completions(rows):
    assume(set(rows) != {"*"})
    bounds = mean_bounds(pa.table({"age": rows}), "age", hierarchies={"age": AGES})
    means = [
        sum(values) / len(values) for values in itertools.product(*(COVERS["age"][text] for text in rows))
    ]
    assert bounds.lower == pytest.approx(min(means))
    assert bounds.upper == pytest.approx(max(means))
    assert bounds.lower - 1e-9 <= bounds.estimate <= bounds.upper + 1e-9


@given(st.lists(st.sampled_from(["1", "3", "?", "1-3", "all"]), min_size=1, max_size=5))
def test_records_that_may_have_no_number_count_where_that_moves_a_bound(rows):
    """`?` stands for no number, or 9."""
    covers = {"1": [1], "3": [3], "?": [None, 9], "1-3": [1, 3], "all": [1, 3, 9, None]}
    numbers = h.table([["1", "1-3", "all"], ["3", "1-3", "all"], ["9", "?", "all"], [None, "?", "all"]])
    bounds = mean_bounds(pa.table({"x": rows}), "x", hierarchies={"x": numbers})
    means = []
    for values in itertools.product(*(covers[text] for text in rows)):
        there = [value for value in values if value is not None]
        means += [sum(there) / len(there)] if there else []
    assert bounds.lower == pytest.approx(min(means))
    assert bounds.upper == pytest.approx(max(means))


def test_suppressed_records_are_as_likely_to_match_as_others_by_the_marginals():
    table = pa.table({"age": [21, 21, 23, 35], "sex": ["f", "f", "f", "m"]})
    release = veil.anonymize(
        table,
        quasi_identifiers={"age": AGES, "sex": h.suppression()},
        models=KAnonymity(2),
        suppression_limit=0.5,
        person=None,
    )
    assert release.suppressed == 1
    bounds = count_bounds(release, {"sex": ["f"]})
    assert (bounds.lower, bounds.estimate, bounds.upper) == (3, 4, 4)
    bounds = count_bounds(release, {"age": (21, 22)})
    assert bounds.lower <= 2 <= bounds.upper
    dropped = veil.anonymize(
        table,
        quasi_identifiers={"age": AGES, "sex": h.suppression()},
        models=KAnonymity(2),
        suppression_limit=0.5,
        suppressed_rows="drop",
        person=None,
    )
    assert len(dropped.table) == 3
    assert count_bounds(dropped, {"sex": ["f"]}) == count_bounds(release, {"sex": ["f"]})


def test_weights_are_added_up_and_unknown_where_they_are_suppressed():
    ages = pa.table({"age": ["20s", "23", "35"], "weight": [10.0, 5.0, 2.5]})
    bounds = count_bounds(ages, {"age": [23]}, hierarchies={"age": AGES}, weights="weight")
    assert (bounds.lower, bounds.estimate, bounds.upper) == (5, 10, 15)
    gone = pa.table({"age": ["20s", "*"], "weight": [10.0, None]})
    assert count_bounds(gone, {"age": [23]}, hierarchies={"age": AGES}, weights="weight").upper == math.inf
    for name, error, words in (("age", InputError, "no numbers"), ("wait", ParameterError, "'wait'")):
        with refused(error, words):
            count_bounds(ages, {"age": [23]}, hierarchies={"age": AGES}, weights=name)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from([21, 23, 35])), min_size=2, max_size=12))
@settings(max_examples=60)
def test_people_match_if_one_of_their_rows_does(rows):
    table = pa.table({"who": [who for who, _ in rows], "age": [age for _, age in rows]})
    try:
        release = veil.anonymize(
            table, quasi_identifiers={"age": AGES}, models=KAnonymity(2), person="who", suppression_limit=0.6
        )
    except (veil.errors.NoSolutionError, veil.errors.ImpossibleError):
        assume(False)
    bounds = count_bounds(release, {"age": (20, 29)}, people=True)
    people = len({who for who, age in rows if age < 30})
    assert bounds.lower <= people <= bounds.upper
    assert bounds.lower - 1e-9 <= bounds.estimate <= bounds.upper + 1e-9
    if release.suppressed == 0:
        assert count_bounds(release, {"age": [21, 23, 35]}, people=True).lower == release.people


def test_intervals_and_sets_of_a_partition_are_read():
    draws = np.random.default_rng(2)
    table = pa.table({"age": draws.integers(20, 60, 200), "job": draws.choice(list("abcdef"), 200)})
    release = veil.mask(table, Mondrian(["age", "job"], KAnonymity(5)), person=None)
    ages, jobs = (np.array(table[name]) for name in ("age", "job"))
    for first, last, chosen in ((20, 39, "abc"), (31, 33, "a"), (20, 59, "abcdef"), (45, 50, "ef")):
        bounds = count_bounds(release, {"age": (first, last), "job": list(chosen)})
        truth = int(((ages >= first) & (ages <= last) & np.isin(jobs, list(chosen))).sum())
        assert bounds.lower <= truth <= bounds.upper
    assert count_bounds(release, {"age": (20, 59)}).lower == 200
    assert count_bounds(release, {"age": (20, 39)}).upper < 200
    assert mean_bounds(release, "age").lower <= ages.mean() <= mean_bounds(release, "age").upper


def test_what_cannot_be_bounded_is_refused():
    table = pa.table({"age": [21, 23, 35, 35], "pay": [1.0, 2.0, 3.0, 4.0]})
    release = veil.mask(table, PRAM("age", 0.5), person=None)
    with refused(InputError, "'age'", "PRAM"):
        count_bounds(release, {"age": [21]})
    release = veil.mask(table, Mondrian({"age": None}, KAnonymity(2), labels="means"), person=None)
    with refused(InputError, "'age'", "means"):
        count_bounds(release, {"age": [21]})
    plain = pa.table({"age": ["20s"], "job": ["a"]})
    with refused(ParameterError, "a condition"):
        count_bounds(plain, {})
    with refused(PlanError, "'wage'"):
        count_bounds(plain, {"wage": [1]}, hierarchies={"age": AGES})
    with refused(PlanError, "'wage'"):
        count_bounds(plain, {"age": [1]}, hierarchies={"wage": AGES})
    with refused(ParameterError, "'age'", "list the values"):
        count_bounds(plain, {"age": [1]}, hierarchies={"age": h.intervals(10)})
    with refused(ParameterError, "every record is a person"):
        count_bounds(plain, {"age": [21]}, hierarchies={"age": AGES}, people=True)
    with refused(InputError, "'job'", "no numbers"):
        mean_bounds(plain, "job")


@pytest.mark.realdata
@realdata.needs_data
def test_local_recoding_of_adult_is_bounded_tightly():
    columns = realdata.QUASI_IDENTIFIERS["adult"]
    table = realdata.source("adult").table
    release = veil.anonymize(
        table,
        quasi_identifiers=realdata.hierarchies("adult", columns),
        models=KAnonymity(5),
        others="drop",
        suppression_limit=0.5,
        person=None,
    ).local_recoding(FastIterative())
    ages, education = np.array(table["age"]), np.array(table["education"].cast(pa.string()))
    for first, last in ((17, 29), (30, 39), (40, 90)):
        truth = int(((ages >= first) & (ages <= last) & (education == "Bachelors")).sum())
        bounds = count_bounds(release, {"age": (first, last), "education": ["Bachelors"]})
        assert bounds.lower <= truth <= bounds.upper
        assert bounds.lower <= bounds.estimate <= bounds.upper
    mean = mean_bounds(release, "age")
    assert mean.lower <= ages.mean() <= mean.upper
