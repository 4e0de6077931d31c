"""Local suppression: sound for both meanings of a missing cell, close to the least that is possible, and honest."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import masked, outcome
from support.masking.suppression import (
    counts,
    fulfils,
    match,
    random_tables,
    rows_of,
    table_of,
)
from support.refusals import refused
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import LocalSuppression
from veil.masking.suppression import cells as suppressed_cells

MEANINGS = ("matches_everything", "own_value")

REGION = {
    "gender": ["female", "male", "male", "male", "female", "female", "female"],
    "region": ["rural"] * 7,
    "education": ["higher"] * 4 + ["lower"] * 3,
}


# Examples


@pytest.mark.parametrize("k", [2, 3, 4])
def test_lecture_gerl_local_suppression_example(k):
    """The only woman with higher education loses it, and is then like the other three."""
    made = masked(LocalSuppression(["gender", "region", "education"], k=min(k, 3)), REGION)
    assert made == {**REGION, "education": [None, "higher", "higher", "higher", "lower", "lower", "lower"]}


def test_importance_turns_the_choice():
    """By suppressing either the gender or the education."""
    made = masked(LocalSuppression(list(REGION), 2, {"education": 2}), REGION)
    assert made == {**REGION, "gender": [None, "male", "male", "male", "female", "female", "female"]}


def test_missing_matches_everything_is_weaker_than_k_anonymity():
    """Who knows that a woman has higher education finds her: nobody else can be meant.

    The published meaning holds all the same: her record matches four. Counted as values of their own, missing
    cells make the promise that holds whatever the attacker knows.
    """
    names = list(REGION)
    made = rows_of(masked(LocalSuppression(names, 2), REGION))
    her = ("female", "rural", "higher")
    assert min(counts(made)) >= 2
    assert sum(match(her, row) for row in made) == 1
    strict = rows_of(masked(LocalSuppression(names, 2, missing="own_value"), REGION))
    assert min(Counter(strict).values()) >= 2
    for person in rows_of(REGION):
        assert sum(match(person, row) for row in strict) >= 2


# Properties


@given(random_tables(3, (1, 14)), st.integers(2, 4), st.sampled_from(MEANINGS))
def test_the_promise_holds_and_only_cells_were_left_out(rows, k, missing):
    names = ["c0", "c1", "c2"]
    table = pa.table({name: pa.array(column, pa.int64()) for name, column in table_of(rows).items()})
    if k > len(rows):
        with refused(PlanError, f"{len(rows)} record"):
            outcome(LocalSuppression(names, k, missing=missing), table)
        return
    made = outcome(LocalSuppression(names, k, missing=missing), table)
    after = rows_of(made.table.to_pydict())
    assert fulfils(after, k, missing)
    left_out = 0
    for before, now in zip(rows, after, strict=True):
        for old, new in zip(before, now, strict=True):
            assert new is None or new == old
            left_out += old != new
    assert made.facts["cells left out"] == left_out
    if fulfils(rows, k, missing):
        assert left_out == 0


@pytest.mark.parametrize("missing", MEANINGS)
def test_many_columns(missing, monkeypatch):
    """Where there are too many sets of columns to try, whole columns go, and the promise holds all the same."""
    monkeypatch.setattr(suppressed_cells, "MOST_MASKS", 10)
    draws = np.random.default_rng(20)
    rows = [tuple(row) for row in draws.integers(0, 3, (30, 18)).tolist()]
    table = table_of(rows)
    after = rows_of(masked(LocalSuppression(list(table), 3, missing=missing), table))
    assert fulfils(after, 3, missing)


@pytest.mark.parametrize("missing", MEANINGS)
def test_rows_that_hold_nothing(missing):
    table = pa.table({"a": pa.array([None, None, "x", "x", "x", "y"]), "b": [None, None, 1, 1, 1, 2]})
    made = outcome(LocalSuppression(["a", "b"], 3, missing=missing), table).table
    assert fulfils(rows_of(made.to_pydict()), 3, missing)
    assert made["a"].to_pylist()[2:5] == ["x"] * 3


def test_types_stay():
    table = pa.table({
        "a": pa.array(["x", "y", "y"]).dictionary_encode(), "b": pa.array([1, 2, 2], pa.int8()), "c": [1.5, 2.5, 2.5],
    })  # fmt: skip
    made = outcome(LocalSuppression(["a", "b"], 2), table).table
    assert made.schema.types == [table.schema.types[0], pa.int8(), pa.float64()]
    assert made["a"].chunk(0).dictionary.to_pylist() == ["y"]  # a category that nobody has would tell
    assert made.to_pydict() == {"a": [None, "y", "y"], "b": [None, 2, 2], "c": [1.5, 2.5, 2.5]}


def test_bad_input():
    with refused(ParameterError, "`k`", "LocalSuppression", "not 1"):
        LocalSuppression("a", 1)
    with refused(ParameterError, "`importance`", "LocalSuppression", "'b'", "`columns`"):
        LocalSuppression("a", 2, {"b": 1})
    with refused(ParameterError, "`importance.a`", "LocalSuppression", "not 0"):
        LocalSuppression("a", 2, {"a": 0})
    with refused(PlanError, "2 records", "`k`"):
        outcome(LocalSuppression("a", 3), {"a": [1, 2]})
    with refused(PlanError, "no column 'b'"):
        outcome(LocalSuppression("b", 2), {"a": [1, 2]})
    with refused(InputError, "'a'", "struct<x: int64>", "be compared"):
        outcome(LocalSuppression("a", 2), pa.table({"a": pa.array([{"x": 1}, {"x": 2}])}))


def test_linked_columns_lose_their_cell_where_another_one_does():
    people = pa.table({"zip": ["1", "2", "2"], "region": ["a", "b", "b"], "note": ["x", "y", "z"]})
    method = LocalSuppression("zip", 2, linked={"region": "zip"})
    made = outcome(method, people)
    assert made.table.to_pydict() == {
        "zip": [None, "2", "2"],
        "region": [None, "b", "b"],
        "note": ["x", "y", "z"],
    }
    assert method.known_columns == ("zip",)
    with refused(ParameterError, "`linked`", "LocalSuppression", "'region'", "'zap'"):
        LocalSuppression("zip", 2, linked={"region": "zap"})
    with refused(ParameterError, "`linked`", "LocalSuppression", "'zip'", "`columns`"):
        LocalSuppression(["zip", "region"], 2, linked={"zip": "region"})
