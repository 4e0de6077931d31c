"""Probabilistic k-anonymity: what swapping keeps, what it promises, and the audit of both."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.masking.running import holds_the_same, masked, outcome
from support.refusals import refused
from veil.errors import InputError, ParameterError, PlanError
from veil.masking.microaggregation.univariate import from_both_ends
from veil.masking.ties.probabilistic import (
    IndividualRankingSwapping,
    MDAVSwapping,
    linkage_probabilities,
    swapping_likelihoods,
)
from veil.tables.rows import Rows
from veil.verification.steps.step import verify_step

BOTH = [IndividualRankingSwapping, MDAVSwapping]
numbers = st.one_of(st.integers(-3, 3), st.integers(-(10**9), 10**9))


# --- swapping -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOTH)
@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=30), st.integers(1, 8))
def test_every_column_keeps_its_values_and_others_are_untouched(method, rows, k):
    k = min(k, len(rows))
    table = {name: [row[at] for row in rows] for at, name in enumerate(["x", "y", "public"])}
    made = outcome(method(["x", "y"], k), table)
    after = made.table.to_pydict()
    assert after["public"] == table["public"]
    for name in "xy":
        assert holds_the_same(table[name], after[name])
    assert made.facts["smallest group"] >= k


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(1, 8))
def test_individual_ranking_moves_values_among_their_neighbours_only(values, k):
    k = min(k, len(values))
    after = masked(IndividualRankingSwapping("x", k), {"x": values})["x"]
    groups = from_both_ends(np.argsort(values, kind="stable"), k)
    for group in set(groups.tolist()):
        mine = [row for row in range(len(values)) if groups[row] == group]
        assert Counter(values[row] for row in mine) == Counter(after[row] for row in mine)


def test_values_move_among_records_that_are_alike():
    table = {"age": [20, 21, 22, 60, 61, 62], "sex": ["f", "f", "f", "m", "m", "m"], "ill": list("abcdef")}
    after = masked(MDAVSwapping("ill", 3, others=["age"]), table)
    assert set(after["ill"][:3]) == set("abc")
    assert after["age"] == table["age"]


def test_k_by_column():
    table = {"x": list(range(9)), "y": list(range(9))}
    made = outcome(IndividualRankingSwapping(["x", "y"], {"x": 2, "y": 8}), table)
    assert made.facts == {"groups": 5, "smallest group": 2, "largest group": 9}
    assert [promise[:30] for promise in made.verification.open_questions] == [
        "probabilistic 2-anonymity of '",
        "probabilistic 8-anonymity of '",
    ]
    assert all(abs(a - b) <= 2 for a, b in zip(table["x"], made.table["x"].to_pylist(), strict=True))


def test_a_value_from_elsewhere_is_found_out():
    """Of four values in their order, groups of two are the lower and the upper ones."""
    before, after = (pa.table({"x": values}) for values in ([1, 2, 3, 4], [1, 3, 2, 4]))
    for k, holds in ((2, False), (3, True)):
        assert verify_step(IndividualRankingSwapping("x", k), Rows.of(before), after).holds == holds


# --- bad input ------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", BOTH)
def test_bad_input_is_refused_with_a_way_out(method):
    table = {"age": [30, 41, 52], "x": [1, 2, 3]}
    with refused(PlanError, "3 records", "of 4"):
        outcome(method("x", 4), table)
    with refused(ParameterError, "`k`", "whole number", "not 0"):
        method("x", 0)
    with refused(ParameterError, "`k`", "whole number"):
        method("x", {"x": 2.5})
    with refused(PlanError, "`k`", "'y'"):
        outcome(method("x", {"y": 2}), table)
    with refused(PlanError, "`k`", "'age'", "no entry"):
        outcome(method(["x", "age"], {"x": 2}), table)
    with refused(PlanError, "no column 'z'"):
        outcome(method("z", 2), table)


def test_bad_input_of_single_methods():
    with refused(InputError, "'x'", "no value", "row 2"):
        outcome(IndividualRankingSwapping("x", 2), {"x": [1, None, 2]})
    with refused(InputError, "'x'", "string", "numbers are needed"):
        outcome(IndividualRankingSwapping("x", 2), {"x": ["a", "b"]})
    with refused(PlanError, "'x'", "other column", "IndividualRanking"):
        outcome(MDAVSwapping("x", 2), {"x": [1, 2, 3]})
    with refused(InputError, "'age'", "no value", "row 1"):
        outcome(MDAVSwapping("x", 2), {"age": [None, 1.0], "x": [1, 2]})


# --- the audit ------------------------------------------------------------------------------------


def by_all_assignments(likelihoods):
    people, released = len(likelihoods), len(likelihoods[0])
    weights = [[Fraction(0)] * released for _ in range(people)]
    total = Fraction(0)
    for chosen in itertools.permutations(range(people), released):
        weight = math.prod((likelihoods[i][j] for j, i in enumerate(chosen)), start=Fraction(1))
        total += weight
        for j, i in enumerate(chosen):
            weights[i][j] += weight
    return [[weight / total for weight in row] for row in weights] if total else None


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_audit_goes_through_all_assignments(data):
    people = data.draw(st.integers(1, 6))
    released = data.draw(st.integers(1, people))
    shares = st.fractions(0, 1, max_denominator=7)
    rows = st.lists(shares, min_size=released, max_size=released)
    likelihoods = data.draw(st.lists(rows, min_size=people, max_size=people))
    expected = by_all_assignments(likelihoods)
    if expected is None:
        with refused(ParameterError, "one assignment"):
            linkage_probabilities(likelihoods)
    else:
        assert linkage_probabilities(likelihoods) == expected


def test_soria_comas_example_1_one_released_record():
    """The posterior of each person is their likelihood over the sum of all."""
    assert linkage_probabilities([["0.3"], ["0.1"]]) == [[Fraction(3, 4)], [Fraction(1, 4)]]


def test_soria_comas_example_2_two_released_records():
    found = linkage_probabilities([[0.5, 0.25], [0.125, 1]])
    both = Fraction(1, 2) * 1 / (Fraction(1, 2) * 1 + Fraction(1, 4) * Fraction(1, 8))
    assert found == [[both, 1 - both], [1 - both, both]]


@given(st.lists(st.integers(0, 2), min_size=1, max_size=8))
def test_swapping_links_nobody_with_more_than_one_over_the_group(drawn):
    groups = np.unique(drawn, return_inverse=True)[1]
    sizes = np.bincount(groups)
    found = linkage_probabilities(swapping_likelihoods(groups))
    for i, row in enumerate(found):
        for j, probability in enumerate(row):
            assert probability == (Fraction(1, int(sizes[groups[i]])) if groups[i] == groups[j] else 0)


def test_without_the_orders_that_leave_a_value_in_place_one_over_k_is_exceeded():
    """Derangements of three: a link that is not one's own has probability 1/2, above 1/3."""
    derangement = [[0 if i == j else Fraction(1, 2) for j in range(3)] for i in range(3)]
    assert max(map(max, linkage_probabilities(derangement))) == Fraction(1, 2) > Fraction(1, 3)


@pytest.mark.parametrize(
    ("likelihoods", "message"),
    [
        ([], "1 to 16 rows"),
        ([[1]] * 17, "1 to 16 rows, one a person, and no more columns than rows, not 17 rows"),
        ([[1, 1]], "not 1 rows and 2 columns"),
        ([[1, 1], [1]], "rows of equal length"),
        ([[1, -1], [1, 1]], "numbers from 0 on"),
        ([[0]], "at least one assignment"),
    ],
)
def test_an_audit_that_makes_no_sense(likelihoods, message):
    with pytest.raises(ParameterError, match=message):
        linkage_probabilities(likelihoods)
