"""Whole private records from noisy tables: what one record changes, what leaves, and how good it is."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.dp.tables import read_columns
from support.realdata import needs_data, source
from veil.base.randomness import Randomness
from veil.dp import Accountant, epsilon_of_rho
from veil.errors import InputError, ParameterError
from veil.private_table import MarginalTree, private_table
from veil.private_table.mechanisms.cells import CellColumn, cut
from veil.private_table.mechanisms.columns import CategoricalColumn
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
