"""Whole private records from noisy tables: what one record changes, what leaves, and how good it is."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.dp.tables import read_columns
from support.realdata import needs_data, source
from veil.base.randomness import Randomness
from veil.dp import Accountant, epsilon_of_rho
from veil.errors import InputError, MissingDependencyError, ParameterError
from veil.private_table import MarginalTree, private_table
from veil.private_table.mechanisms.cells import CellColumn, cut
from veil.private_table.mechanisms.columns import CategoricalColumn
from veil.private_table.mechanisms.consistent import draw_child, fit, nearest_counts, whole_counts
from veil.private_table.mechanisms.marginal_tree import _UNITS, _Counter
from veil.private_table.mechanisms.table_mechanism import Neighbourhood
from veil.tables import read

PEOPLE = pa.table(
    {"age": [34, 71, 68, 25, 47, 190] * 50, "sex": ["f", "m"] * 150, "smokes": ["y", "n"] * 150}
)
DECLARED: dict[str, Any] = {
    "bounds": {"age": (0, 120)},
    "domains": {"sex": ["f", "m", "x"], "smokes": ["y", "n"]},
    "missing": {"sex": "x", "smokes": "n"},
}


def make(table: Any = PEOPLE, method: Any = None, **options: Any) -> Any:
    chosen = {"neighbours": "one more or less", "person": None, "rho": "1/8", **DECLARED, **options}
    return private_table(table, method or MarginalTree({"age": [18, 65]}), **chosen)


# --- what one record changes ----------------------------------------------------------------------------


def coded(records: np.ndarray) -> list[CellColumn]:
    columns = [
        CategoricalColumn(str(place), (0, 1, 2), None, records[:, place]) for place in range(records.shape[1])
    ]
    return cut(columns, {})


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("relation", ["one more or less", "one changed"])
def test_counts_and_scores_move_by_no_more_than_what_noise_hides(relation: Any, rows: int) -> None:
    rng = np.random.default_rng(1)
    worst_score = worst_square = 0
    hidden = Neighbourhood(relation, rows)
    for _ in range(500):
        before = rng.integers(0, 3, (int(rng.integers(rows + 1, rows + 5)), 2))
        before[:rows] = before[0]  # the rows of one person, which may all be alike
        after = before[rows:] if relation == "one more or less" else before.copy()
        if relation == "one changed":
            after[:rows] = rng.integers(0, 3, 2)
        margins = [rng.integers(0, 5, 3) + 0.37 for _ in range(2)]
        one, other = (_Counter(coded(each), hidden, Randomness.for_testing(1)) for each in (before, after))
        worst_score = max(worst_score, abs(one._gap((0, 1), margins) - other._gap((0, 1), margins)))
        worst_square = max(worst_square, int(((one._table((0, 1)) - other._table((0, 1))) ** 2).sum()))
    assert hidden.moved == rows * (1 if relation == "one more or less" else 2)
    assert worst_score <= hidden.moved * _UNITS
    assert worst_score > 0.9 * hidden.moved * _UNITS
    assert worst_square == hidden.moved * rows


def test_noise_of_several_tables_costs_one_rho_together() -> None:
    for hidden, squared in (
        (Neighbourhood("one more or less"), 1),
        (Neighbourhood("one changed"), 2),
        (Neighbourhood("one more or less", 5), 25),
        (Neighbourhood("one changed", 5), 50),
    ):
        counter = _Counter(coded(np.zeros((4, 3), np.int64)), hidden, Randomness.for_testing(1))
        tables, deviation = counter.count([(0,), (1,), (2,)], Fraction(1, 10))
        assert 3 * squared / (2 * deviation**2) <= 0.1
        assert 3 * squared / (2 * deviation**2) == pytest.approx(0.1, rel=1e-6)
        assert [table.shape for table in tables] == [(3,)] * 3


def test_pairs_connect_all_columns() -> None:
    rng = np.random.default_rng(1)
    cells = coded(rng.integers(0, 3, (50, 6)))
    for seed in range(20):
        counter = _Counter(cells, Neighbourhood("one changed"), Randomness.for_testing(seed))
        tree = counter.choose_tree([np.full(3, 50 / 3)] * 6, Fraction(1, 10))
        reached = {0}
        for _ in tree:
            reached |= {place for pair in tree if reached & set(pair) for place in pair}
        assert len(tree) == 5
        assert reached == set(range(6))


# --- consistent tables ----------------------------------------------------------------------------------


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.floats(1, 100))
def test_nearest_counts_against_bisection(noisy: list[float], total: float) -> None:
    low, high = min(noisy) - total, max(noisy)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(np.array(noisy) - middle, 0).sum() > total else (low, middle)
    assert nearest_counts(np.array(noisy), total) == pytest.approx(
        np.maximum(np.array(noisy) - low, 0), abs=1e-6
    )


@given(st.lists(st.floats(0, 9), min_size=1, max_size=8), st.integers(0, 50), st.integers(0, 99))
def test_whole_counts_are_the_expected_ones_rounded(chances: list[float], records: int, seed: int) -> None:
    weights = np.array(chances) if sum(chances) > 1e-6 else np.ones(len(chances))
    found = whole_counts(weights, records, Randomness.for_testing(seed))
    assert found.sum() == records
    assert np.abs(found - weights / weights.sum() * records).max() < 1 + 1e-9


def test_where_nothing_is_likely_all_cells_are_alike() -> None:
    """Noise may leave no count above 0."""
    assert whole_counts(np.zeros(4), 8, Randomness.for_testing(1)).tolist() == [2, 2, 2, 2]


def test_fitted_tables_have_the_margins() -> None:
    rng = np.random.default_rng(1)
    rows, columns = np.array([50.0, 30, 20]), np.array([60.0, 40])
    table = fit(nearest_counts(rng.normal(16, 10, (3, 2)), 100), rows, columns)
    assert table.sum(axis=1) == pytest.approx(rows, rel=1e-3)
    assert table.sum(axis=0) == pytest.approx(columns, rel=1e-3)
    parent = np.repeat(np.arange(3), [500, 300, 200])
    child = draw_child(parent, table, Randomness.for_testing(1))
    found = np.bincount(parent * 2 + child, minlength=6).reshape(3, 2)
    assert found == pytest.approx(10 * table, abs=5)


# --- what leaves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [PEOPLE, PEOPLE.to_pandas(), pl.from_arrow(PEOPLE)])
@pytest.mark.parametrize("relation", ["one more or less", "one changed"])
def test_records_are_within_what_is_declared(frame: Any, relation: str) -> None:
    made = make(frame, neighbours=relation)
    assert type(made.table) is type(frame)
    out = made.table if isinstance(frame, pa.Table) else read(made.table).table
    assert set(out["sex"].to_pylist()) <= {"f", "m", "x"}
    assert all(isinstance(age, int) and 0 <= age <= 120 for age in out["age"].to_pylist())
    assert (out.num_rows == 300) if relation == "one changed" else abs(out.num_rows - 300) < 100
    assert made.is_private
    assert "Pairs that were" in str(made)


def test_numbers_without_breaks_are_cut_into_ten_parts_of_equal_width() -> None:
    columns = read_columns(pa.table({"age": [18, 30]}), {"age": (0, 120)}, {}, {}, "one changed")
    (cells,) = cut(columns, {})
    assert cells.edges == tuple(range(0, 121, 12))
    assert cells.codes.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("bounds", "breaks", "cells"),
    [
        ((18.0, 90.0), [65], [(18, 65), (65, 90)]),
        ((18, 90), [65], [(18, 64), (65, 90)]),
        ((18, 90), [20.5, 65.5], [(18, 20), (21, 65), (66, 90)]),
    ],
)
def test_numbers_are_drawn_evenly_from_their_cells(bounds: Any, breaks: Any, cells: Any) -> None:
    """The bounds are within, and a break belongs to the cell above it. Whether numbers are whole is what bounds say."""
    (column,) = cut(
        read_columns(pa.table({"age": [40.5]}), {"age": bounds}, {}, {}, "one changed"), {"age": breaks}
    )
    assert column.size == len(cells)
    for code, (low, high) in enumerate(cells):
        drawn = column.values(np.full(4000, code), Randomness.for_testing(code)).to_numpy()
        assert low <= drawn.min() < low + 1
        assert high - 1 < drawn.max() <= high
        # Five standard deviations of the mean of 4,000 numbers that are spread evenly.
        assert abs(drawn.mean() - (low + high) / 2) < 5 * (high - low + 1) / math.sqrt(12 * 4000)
        if isinstance(bounds[0], int):
            assert set(drawn.tolist()) == set(range(low, high + 1))


def test_with_a_large_budget_pairs_of_the_tree_are_as_they_were() -> None:
    out = make(rho=10**6, for_testing_seed=1).table.to_pandas()
    assert (out["sex"] == "f").equals(out["smokes"] == "y")
    assert out["age"].lt(18).sum() == 0
    assert abs(out["age"].ge(65).sum() - 150) <= 2


def test_without_a_budget_to_speak_of_nothing_is_left_of_the_data() -> None:
    shares = [
        (make(rho="1e-9", neighbours="one changed").table.to_pandas()["sex"] == "x").mean() for _ in range(20)
    ]
    assert max(shares) > 0.1  # nobody has it


def test_a_number_in_one_part_is_drawn_from_all_of_it() -> None:
    table = pa.table({"x": [0.5] * 1000})
    out = make(table, MarginalTree({"x": [10]}), rho=10**6, bounds={"x": (0.0, 20.0)}, domains={}, missing={})
    values = np.array(out.table["x"])
    assert values.max() < 10
    assert values.mean() == pytest.approx(5, abs=0.6)


# --- price and refusals ---------------------------------------------------------------------------------


def test_it_is_paid_in_rho_or_in_epsilon_and_delta() -> None:
    budget = Accountant(2, "1e-6", zcdp_delta="1e-6")
    make(rho="1/64", accountant=budget)
    assert 0 < float(budget.remaining.epsilon) < 2
    assert str(make(rho=None, epsilon=1, delta="1e-6").loss) == "epsilon = 1, delta = 1e-06"
    assert float(epsilon_of_rho("1/64", "1e-9")) == pytest.approx(1.0225, abs=1e-4)


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"rho": None, "epsilon": 1}, ParameterError, "delta"),
        ({"epsilon": 1}, ParameterError, "rho"),
        ({"method": MarginalTree({"age": [65, 18]})}, ParameterError, "should be ascending"),
        ({"method": MarginalTree({"age": [0, 18]})}, ParameterError, "between its bounds"),
        ({"method": MarginalTree({"sex": [1]})}, InputError, "no numeric column 'sex'"),
        ({"domains": {"sex": ["f", "m", "m"], "smokes": ["y", "n"]}}, ParameterError, "twice"),
        ({"domains": {"sex": "fm", "smokes": ["y", "n"]}}, ParameterError, "list of values"),
        ({"domains": {"sex": {"f", "m"}, "smokes": ["y", "n"]}}, ParameterError, "list of values, not {'"),
        ({"domains": {"sex": [], "smokes": ["y", "n"]}}, ParameterError, r"list of values, not \[\]"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(**options)


def test_tables_of_too_many_cells_are_refused_before_they_are_paid() -> None:
    many = list(range(2000))
    budget = Accountant(2, "1e-6", zcdp_delta="1e-6")
    with pytest.raises(ParameterError, match="cells"):
        make(
            pd.DataFrame({"a": [1], "b": [2]}),
            MarginalTree(),
            bounds={},
            domains={"a": many, "b": many},
            missing={"a": many[0], "b": many[0]},
            accountant=budget,
        )
    assert float(budget.remaining.epsilon) == 2


# --- how good it is -------------------------------------------------------------------------------------


@needs_data
def test_two_way_tables_of_adult() -> None:
    table = source("adult").table
    domains = {name: sorted(set(table[name].to_pylist())) for name in table.column_names if name != "age"}
    bounds, breaks = {"age": (17, 91)}, {"age": list(range(18, 91))}

    def cells(which: pa.Table) -> list[CellColumn]:
        return cut(read_columns(which, bounds, domains, {}, "one more or less"), breaks)

    def pair(one: CellColumn, other: CellColumn) -> np.ndarray:
        code = one.codes * other.size + other.codes
        return np.bincount(code, minlength=one.size * other.size).reshape(one.size, -1) / len(code)

    made = private_table(
        table,
        MarginalTree(breaks),
        rho="1/64",
        neighbours="one more or less",
        bounds=bounds,
        domains=domains,
        missing={name: each[0] for name, each in domains.items()},
        for_testing_seed=1,
        person=None,
    )
    pairs = list(itertools.combinations(zip(cells(table), cells(made.table), strict=True), 2))
    assert len(pairs) == 36
    far = [np.abs(pair(a, b) - pair(x, y)).sum() / 2 for (a, x), (b, y) in pairs]
    alone = [
        np.abs(t - np.outer(t.sum(1), t.sum(0))).sum() / 2 for t in (pair(a, b) for (a, _), (b, _) in pairs)
    ]
    # As many records with each column shuffled by itself are .0839 away (one shuffle .0832 to .0847), for chance.
    assert np.mean(alone) == pytest.approx(0.08195, abs=1e-5)
    assert np.mean(far) <= 0.065


# --- Private-PGM ----------------------------------------------------------------------------------------


def test_without_the_library_it_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mbi", None)
    budget = Accountant(2, "1e-3")
    with pytest.raises(MissingDependencyError, match="needs Private-PGM"):
        private_table(
            pa.table({"a": [0, 1]}),
            MarginalTree(library="mbi"),
            1,
            delta="1e-6",
            neighbours="one more or less",
            domains={"a": [0, 1]},
            missing={"a": 0},
            accountant=budget,
            person=None,
        )
    assert float(budget.remaining.epsilon) == 2


def test_private_pgm_fits_the_same_counts() -> None:
    """With a large budget both find the tables of the data; with a small one, they are alike."""
    pytest.importorskip("mbi")
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 4000)
    b = np.where(rng.random(4000) < 0.8, a, rng.integers(0, 3, 4000))
    table, domains = pa.table({"a": a, "b": b}), {"a": [0, 1, 2], "b": [0, 1, 2]}
    truth = np.histogram2d(a, b, 3)[0] / 4000

    def far(library: Any, rho: Any) -> float:
        made = private_table(
            table,
            MarginalTree(library=library),
            rho=rho,
            neighbours="one changed",
            domains=domains,
            missing={"a": 0, "b": 0},
            for_testing_seed=1,
            person=None,
        ).table
        return float(np.abs(np.histogram2d(made["a"], made["b"], 3)[0] / 4000 - truth).sum() / 2)

    assert far("mbi", 10**6) < 0.005
    assert abs(far("mbi", "1/100") - far("own", "1/100")) < 0.05
