"""Local suppression: sound for both meanings of a missing cell, close to the least that is possible, and honest."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.masking.running import masked, outcome
from support.refusals import refused
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import LocalSuppression
from veil.masking.suppression import cells as suppressed_cells
from veil.masking.suppression.cells import alike_cells, few_cells, sets_of_columns
from veil.published.matching import matches
from veil.tables.rows import Owners

MEANINGS = ("matches_everything", "own_value")

REGION = {
    "gender": ["female", "male", "male", "male", "female", "female", "female"],
    "region": ["rural"] * 7,
    "education": ["higher"] * 4 + ["lower"] * 3,
}


# The slow twins: rows are tuples, None is missing


def match(a, b):
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def counts(rows):
    return [sum(match(a, b) for b in rows) for a in rows]


def fulfils(rows, k, missing):
    if missing == "own_value":
        return min(Counter(rows).values()) >= k
    return min(counts(rows)) >= k


def least_weight(rows, k, missing, weights):
    """Try every set of cells, the lightest first."""
    cells = [(i, j) for i in range(len(rows)) for j in range(len(rows[0])) if rows[i][j] is not None]
    chosen = (each for size in range(len(cells) + 1) for each in combinations(cells, size))
    best = None
    for each in chosen:
        weight = sum(weights[j] for _, j in each)
        if best is not None and weight >= best:
            continue
        made = [
            tuple(None if (i, j) in each else cell for j, cell in enumerate(row))
            for i, row in enumerate(rows)
        ]
        if fulfils(made, k, missing):
            best = weight
    return best


def rows_of(table):
    return list(zip(*table.values(), strict=True))


def table_of(rows):
    columns = zip(*rows, strict=True)
    return {f"c{at}": list(column) for at, column in enumerate(columns)}


def codes_of(rows):
    return np.array([[-1 if cell is None else cell for cell in row] for row in rows], np.int32)


def random_tables(columns, rows, values=3, gaps=True):
    cell = st.integers(0, values - 1)
    return st.lists(
        st.tuples(*[cell | st.none() if gaps else cell] * columns), min_size=rows[0], max_size=rows[1]
    )


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


@given(random_tables(3, (3, 12)), st.integers(2, 3))
def test_no_cell_could_be_shown_again(rows, k):
    after = np.where(few_cells(codes_of(rows), k, np.array([1.0, 2.0, 1.0])), -1, codes_of(rows))
    made = [tuple(None if cell < 0 else int(cell) for cell in row) for row in after]
    assert fulfils(made, k, "matches_everything")
    for i, (before, now) in enumerate(zip(rows, made, strict=True)):
        for j in range(3):
            if before[j] is not None and now[j] is None:
                shown = [*made[:i], (*now[:j], before[j], *now[j + 1 :]), *made[i + 1 :]]
                assert not fulfils(shown, k, "matches_everything")


# How good the heuristics are


@pytest.mark.parametrize(("missing", "bound"), [("matches_everything", 1.12), ("own_value", 1.06)])
def test_close_to_the_least_weight_of_cells(missing, bound):
    """Over many small tables, with and without weights: never below the least, and little above it."""
    draws = np.random.default_rng(18)

    def search(codes, k, weights):
        if missing == "matches_everything":
            return few_cells(codes, k, weights)
        return alike_cells(codes, k, weights, Owners(len(codes)))

    made = least = exact = 0.0
    for _ in range(120):
        rows = [tuple(row) for row in draws.integers(0, 3, (int(draws.integers(4, 6)), 2)).tolist()]
        k = int(draws.integers(2, 4))
        weights = np.array([1.0, float(draws.choice([1.0, 1.5, 3.0]))])
        found = float((search(codes_of(rows), k, weights) @ weights).sum())
        possible = least_weight(rows, k, missing, weights.tolist())
        assert found >= possible
        made, least, exact = made + found, least + possible, exact + (found == possible)
    assert made <= bound * least
    assert exact >= 90


def test_fewer_cells_than_records_at_risk():
    """Where every such record loses a cell of its own, as in a simple loop over them, there are more."""
    draws = np.random.default_rng(19)
    codes = draws.integers(0, 4, (400, 5)).astype(np.int32)
    crowd, whole, _ = matches(codes)
    risky = int((whole[crowd.of_row] < 3).sum())
    assert few_cells(codes, 3, np.ones(5)).sum() < 0.7 * risky


def test_sets_of_columns_come_by_weight_then_by_values_then_from_behind():
    codes = np.array([[0, 0, 0], [1, 1, 1], [0, 2, 0]], np.int32)
    order = [tuple(np.flatnonzero(mask).tolist()) for mask in sets_of_columns(codes, np.ones(3))]
    assert order[:7] == [(1,), (2,), (0,), (1, 2), (0, 1), (0, 2), (0, 1, 2)]
    weighted = [
        tuple(np.flatnonzero(mask).tolist()) for mask in sets_of_columns(codes, np.array([1.0, 5.0, 2.0]))
    ]
    assert weighted[:7] == [(0,), (2,), (0, 2), (1,), (0, 1), (1, 2), (0, 1, 2)]


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
