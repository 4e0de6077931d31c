"""Kinds of columns in a partition, and their labels."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import refusals
from support.masking import partition as twin
from support.masking.partition import Case, Column, classes_of, often
from veil import hierarchies as h
from veil import models as m
from veil.base.randomness import Randomness
from veil.errors import NoSolutionError, PlanError
from veil.hierarchies.grid import propose_grid
from veil.masking.partition.mondrian import Mondrian
from veil.masking.partition.partitioning import Partitioning
from veil.outcome.outcome import Outcome
from veil.tables.rows import Rows
from veil.verification.outcome import verify_outcome


def masked(table: pa.Table, *args: Any, **options: Any) -> Outcome:
    """Mask with the labels of the literature, unless others are asked for."""
    return Mondrian(*args, **{"labels": "intervals", **options}).mask(Rows.of(table), Randomness())


def test_missing_values_are_a_value_of_their_own() -> None:
    table = pa.table({"x": [1.0, 2.0, None, float("nan"), 9.0, 9.0]})

    def found(k: int) -> list[str | None]:
        cells: list[str | None] = masked(table, "x", m.KAnonymity(k)).table["x"].to_pylist()
        return cells

    assert found(1) == ["1", "2", None, None, "9", "9"]
    assert found(2) == ["[1, 2]", "[1, 2]", None, None, "9", "9"]
    assert found(3) == ["{[1, 9], NULL}"] * 6
    rows = pa.table({"x": [1, 1, 1, 2, 3, None]})
    assert masked(rows, "x", m.KAnonymity(3)).table["x"].to_pylist() == ["1"] * 3 + ["{[2, 3], NULL}"] * 3


def test_dates_times_decimals_and_truth_values() -> None:
    table = pa.table(
        {
            "day": [datetime.date(2020, 1, day) for day in (1, 2, 30, 31)],
            "time": [datetime.datetime(2020, 1, 1, hour) for hour in (1, 2, 22, 23)],
            "money": [Decimal("1.10"), Decimal("1.20"), Decimal("9.00"), Decimal("9.10")],
            "well": [False, False, True, None],
            "word": pa.array(["b", "a", "c", "d"]).dictionary_encode(),
        }
    )
    expected = {
        "day": ("[2020-01-01, 2020-01-02]", "[2020-01-30, 2020-01-31]"),
        "time": ("[2020-01-01T01:00:00, 2020-01-01T02:00:00]", "[2020-01-01T22:00:00, 2020-01-01T23:00:00]"),
        "money": ("[1.10, 1.20]", "[9.00, 9.10]"),
        "well": ("false", "{true, NULL}"),
        "word": ("{a, b}", "{c, d}"),
    }
    for name, (first, last) in expected.items():
        for numbers in ("intervals", "means") if name != "money" else ("intervals",):
            found = masked(table.select([name]), name, m.KAnonymity(2), labels=numbers).table[name]
            assert found.to_pylist() == [first, first, last, last]


def test_means_of_numbers() -> None:
    table = pa.table({"x": [1, 2, None, 10, 13, 20], "w": ["a", "b", "c", "d", "e", "f"]})
    outcome = masked(table, ["x", "w"], m.KAnonymity(3), labels="means")
    assert outcome.table.schema.field("x").type == pa.float64()
    assert outcome.table["x"].to_pylist() == [
        pytest.approx(13 / 3),
        pytest.approx(13 / 3),
        16.5,
        pytest.approx(13 / 3),
        16.5,
        16.5,
    ]
    alone = masked(
        pa.table({"x": pa.array([None, None, 3, 4], pa.int64())}), "x", m.KAnonymity(2), labels="means"
    )
    assert alone.table["x"].to_pylist() == [None, None, 3.5, 3.5]


def test_a_forest_gets_a_root() -> None:
    hierarchy = h.table([["a", "A"], ["b", "A"], ["c", "C"], ["d", "C"]])
    table = pa.table({"x": ["a", "b", "c", "d"]})
    assert masked(table, {"x": hierarchy}, m.KAnonymity(4)).table["x"].to_pylist() == ["*"] * 4
    assert masked(table, {"x": hierarchy}, m.KAnonymity(2)).table["x"].to_pylist() == ["A", "A", "C", "C"]


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_constant_column_is_never_cut(relaxed: bool) -> None:
    table = pa.table({"x": [7] * 4, "y": ["a"] * 4, "z": pa.nulls(4)})
    outcome = masked(table, ["x", "y", "z"], m.KAnonymity(1), relaxed)
    assert outcome.facts["partitions"] == 1
    assert outcome.facts["loss"] == 0.0
    assert outcome.table.to_pydict() == {"x": ["7"] * 4, "y": ["a"] * 4, "z": [None] * 4}


# --- public labels ----------------------------------------------------------------------------------


def cells_of(values: list[Any]) -> dict[Any, int]:
    """Number the cells of the grid that is proposed for some numbers, by its lines alone."""
    grid = propose_grid(pa.array(values), "")
    if grid.edges:
        return {value: sum(edge <= value for edge in grid.edges) for value in values}
    return {value: math.floor(Fraction(str(value)) / Fraction(grid.width)) for value in values}


def public(column: Column) -> Column:
    """The column as a partition with public labels sees it: the least value of each cell, or blocks of neighbours."""
    present = [each for each in column.values if each is not None]
    if column.hierarchy is not None or not present:
        return column
    if column.is_number and len(present) > 5:
        cell = cells_of(present)
        least = {value: min(other for other in present if cell[other] == cell[value]) for value in present}
        return Column([None if each is None else least[each] for each in column.cells])
    rows: list[list[Any]] = [[value] for value in present]
    size = 2
    while size < len(present):
        for at, row in enumerate(rows):
            row.append(f"{size} of {at // size}")
        size *= 2
    rows += [[None] * len(rows[0])] if None in column.values else []
    return Column(column.cells, [[*row, "*"] for row in rows] if len(rows) > 1 else rows)


@often
@given(twin.cases(), twin.promises(), st.booleans())
def test_cuts_are_at_lines_of_the_grid_and_between_groups(case: Case, promise: Any, relaxed: bool) -> None:
    theirs, ours = promise
    rejects = case.rejects(theirs)
    try:
        work = Partitioning(Rows.of(case.table), case.hierarchies, ours, style="public", by_record=relaxed)
    except (NoSolutionError, PlanError):
        assert rejects(list(range(case.size)))
        return
    coarse = Case([public(each) for each in case.columns], case.sensitive)
    assert classes_of(work, relaxed) == set(map(frozenset, twin.mondrian(coarse, rejects, relaxed)))


@often
@given(twin.cases(), twin.promises(), st.booleans())
def test_public_labels_are_accepted_by_the_verifier(case: Case, promise: Any, relaxed: bool) -> None:
    try:
        outcome = masked(case.table, case.hierarchies, promise[1], relaxed, labels="public")
    except (NoSolutionError, PlanError):
        return
    verification = verify_outcome(outcome)
    assert all(each.holds for each in verification.findings if "public" in str(each.promise))
    if not relaxed and all(each.hierarchy is None for each in case.columns):
        assert verification.holds


def test_declared_grids() -> None:
    ages = pa.table(
        {"age": [3, 17, 18, 40, 64, 65, 90, None], "seen": [datetime.date(2020, 1 + m, 3) for m in range(8)]}
    )
    found = masked(
        ages, ["age", "seen"], m.KAnonymity(3), labels="public", grids={"age": [18, 65], "seen": "quarter"}
    )
    assert {*found.table["age"].to_pylist()} == {"<65", "{>=65, NULL}"}
    assert {*found.table["seen"].to_pylist()} == {"[2020-01-01, 2020-07-01[", "[2020-04-01, 2020-10-01["}
    assert found.facts["grid of age"] == "18, 65"
    assert found.facts["grid of seen"] == "every quarter"


@pytest.mark.parametrize(
    ("columns", "options", "words"),
    [
        (["age"], {"grids": {"Age": 5}}, ["'Age'", "'age'"]),
        ({"age": h.intervals(5)}, {"grids": {"age": 5}}, ["'age'", "hierarchy"]),
        (["age"], {"grids": {"age": 5}, "labels": "sets"}, ["public", "'sets'"]),
    ],
)
def test_grids_that_do_not_fit_are_refused(columns: Any, options: dict[str, Any], words: list[str]) -> None:
    with refusals.refused(PlanError, *words):
        Mondrian(columns, m.KAnonymity(2), **options)
