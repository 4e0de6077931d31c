"""Tables that are private as a whole by individual ranking: what leaves, and that one changed record stays hidden."""

from __future__ import annotations

import itertools
import math
import sqlite3
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.amount import tables
from support.dp.tables import SPORTS, neighbours_of_small_tables, read_columns
from support.realdata import SHARED, hierarchy, needs_data, source
from support.refusals import refused
from veil.base.randomness import Randomness
from veil.dp import Accountant, Laplace
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.symbolic import Symbolic
from veil.errors import BudgetError, InputError, ParameterError, PlanError
from veil.private_table import IndividualRanking, private_table
from veil.private_table.mechanisms.columns import CategoricalColumn, Numbers
from veil.private_table.mechanisms.published import published_logs
from veil.private_table.mechanisms.ranking import block_marginalities, block_sums, blocks_of, draw_concepts
from veil.private_table.mechanisms.table_mechanism import block_sizes
from veil.private_table.mechanisms.taxonomy import ConceptTaxonomy
from veil.questions import Session
from veil.tables import read

CENSUS_BOUNDS = {"FICA": (0, 11898), "FEDTAX": (0, 31890), "INTVAL": (0, 74137.5), "POTHVAL": (0, 158911.5)}
PEOPLE = pa.table({"age": [34, 71, 68, 25, 47, 190], "sport": ["sailing", "soccer"] * 3})


def make(table: Any = PEOPLE, method: Any = None, epsilon: Any = 1, **options: Any) -> Any:
    given: dict[str, Any] = {
        "neighbours": "one changed",
        "person": None,
        "bounds": {"age": (0, 120)},
        "domains": {"sport": SPORTS},
        "missing": {"sport": "soccer"},
        **options,
    }
    return private_table(table, method or IndividualRanking(3), epsilon, **given)


# --- what leaves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [PEOPLE, PEOPLE.to_pandas(), pl.from_arrow(PEOPLE)])
def test_the_frame_is_of_the_kind_that_came_in_and_holds_nothing_of_the_original(frame: Any) -> None:
    made = make(frame)
    assert type(made.table) is type(frame)
    out = made.table if isinstance(made.table, pa.Table) else read(made.table).table
    assert out.column_names == ["age", "sport"]
    assert out.num_rows == 6
    assert out["age"].type == pa.float64()
    ages = out["age"].to_pylist()
    assert len(set(ages)) <= 2
    assert all(0 <= age <= 120 for age in ages)
    assert set(out["sport"].to_pylist()) <= set(ConceptTaxonomy(SPORTS).labels)
    assert made.is_private
    assert "not records" in str(made)
    assert str(made.loss) == "epsilon = 1"


def test_with_a_large_budget_each_block_has_its_mean_and_its_number_of_records() -> None:
    made = make(epsilon=10**9, method=IndividualRanking(2))
    ages = sorted(made.table["age"].to_pylist())
    assert ages == pytest.approx([29.5, 29.5, 57.5, 57.5, 95.5, 95.5], abs=0.01)
    assert sorted(made.table["sport"].to_pylist())[:2] == ["sailing", "sailing"]


def test_columns_are_in_random_orders_of_their_own() -> None:
    table = pa.table({"a": list(range(200)), "b": list(range(200))})
    made = private_table(
        table,
        IndividualRanking(1),
        10**9,
        neighbours="one changed",
        bounds={"a": (0, 200), "b": (0, 200)},
        person=None,
    ).table
    a, b = (np.array(made[name]) for name in "ab")
    assert abs(np.corrcoef(a, np.arange(200))[0, 1]) < 0.4  # not in the order of the rows
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.4


def test_a_seed_is_repeatable_and_not_private() -> None:
    one, other = (make(for_testing_seed=3) for _ in range(2))
    assert one.table.equals(other.table)
    assert not one.is_private
    assert "NOT PRIVATE" in str(one)
    assert not make().table.equals(make().table)


# --- the promise ----------------------------------------------------------------------------------------


def test_sums_of_blocks_move_by_no_more_than_the_range_together() -> None:
    rng = np.random.default_rng(1)
    worst = 0.0
    for _ in range(tables(3000)):
        records = int(rng.integers(2, 12))
        sizes = block_sizes(records, int(rng.integers(1, records + 1)))
        before = rng.integers(0, 6, records)
        after = before.copy()
        after[rng.integers(records)] = rng.integers(0, 6)
        worst = max(worst, np.abs(block_sums(before, sizes) - block_sums(after, sizes)).sum() / 5)
    assert worst == 1


def test_marginalities_of_blocks_move_by_no_more_than_the_walk_together() -> None:
    rng, taxonomy, worst = np.random.default_rng(2), ConceptTaxonomy(SPORTS), 0
    for _ in range(tables(3000)):
        records = int(rng.integers(2, 12))
        sizes = block_sizes(records, int(rng.integers(1, records + 1)))
        before = rng.integers(0, 4, records)
        after = before.copy()
        after[rng.integers(records)] = rng.integers(0, 4)
        moved = np.abs(
            block_marginalities(before, taxonomy, sizes) - block_marginalities(after, taxonomy, sizes)
        )
        worst = max(worst, int(moved.max(axis=1).sum()))
    assert worst == taxonomy.length  # attained, and never exceeded


@pytest.mark.parametrize("epsilon", [0.5, 1, 2])
def test_no_release_of_numbers_is_likelier_than_e_to_epsilon(epsilon: float) -> None:
    noise = Laplace(3, epsilon, whole=True)
    chance = {size: float(noise.tail(size) - noise.tail(size + 1)) / (2 if size else 1) for size in range(16)}
    worst = 0.0
    for before, after in neighbours_of_small_tables(4, 4):
        sums, others = (block_sums(each, block_sizes(4, 2)) for each in (before, after))
        for out in itertools.product(range(-3, 10), repeat=2):
            ratio = math.prod(chance[abs(o - s)] for o, s in zip(out, sums, strict=True)) / math.prod(
                chance[abs(o - s)] for o, s in zip(out, others, strict=True)
            )
            worst = max(worst, math.log(ratio))
    assert worst == pytest.approx(epsilon)


def test_no_release_of_concepts_is_likelier_than_e_to_epsilon() -> None:
    taxonomy, worst, published = ConceptTaxonomy(SPORTS), 0.0, 0.0

    def worst_log(before: np.ndarray, after: np.ndarray, sensitivity: int) -> float:
        total = 0.0
        for one, other in zip(
            *(block_marginalities(each, taxonomy, block_sizes(4, 1)) for each in (before, after)), strict=True
        ):
            logs = [-each / (2 * sensitivity) for each in (one, other)]
            logs = [each - math.log(np.exp(each).sum()) for each in logs]
            total += max(logs[0] - logs[1])
        return total

    for before, after in neighbours_of_small_tables(4, 4):
        worst = max(worst, worst_log(before, after, taxonomy.length))
        published = max(published, worst_log_as_published(before, after, taxonomy))
    assert 0.5 < worst <= 1
    assert published > 1  # the whole epsilon for each record, as if blocks were of different people


def worst_log_as_published(before: np.ndarray, after: np.ndarray, taxonomy: ConceptTaxonomy) -> float:
    """The largest log-ratio of what is released of four records in blocks of 2, each record by itself."""
    logs = []
    for codes in (before, after):
        column = CategoricalColumn("sport", SPORTS.labels[0], SPORTS, codes)
        by_row = np.empty((4, len(taxonomy.labels)))
        for rows in blocks_of(np.argsort(taxonomy.walk)[codes], block_sizes(4, 2)):
            by_row[rows] = published_logs(column, taxonomy, rows, 1)
        logs.append(by_row)
    return float((logs[0] - logs[1]).max(axis=1).sum())


def test_as_published_is_labelled_in_name_result_and_ledger() -> None:
    made = make(method=IndividualRanking(3, as_published=True))
    assert not made.is_private
    assert "as published" in made.method
    assert made.proof.startswith("NOT DIFFERENTIALLY PRIVATE")
    assert "NOT PRIVATE" in str(made)
    assert "NOT differentially private" in str(IndividualRanking.__doc__)
    with pytest.raises(PlanError, match="no privacy loss"):
        make(
            method=IndividualRanking(3, as_published=True), accountant=Accountant(5, neighbours="one changed")
        )


# --- concepts -------------------------------------------------------------------------------------------


@needs_data
def test_occupation_of_adult() -> None:
    occupation = hierarchy("adult", "occupation")
    taxonomy = ConceptTaxonomy(occupation)
    assert taxonomy.length * 2.0**-32 == pytest.approx(8.130581, abs=1e-6)
    assert taxonomy.length / taxonomy.diameter == pytest.approx(9.588, abs=1e-3)
    table = source("adult").table.select(["occupation"])
    far = []
    for seed in range(10):
        made = private_table(
            table,
            IndividualRanking(300),
            1,
            neighbours="one changed",
            domains={"occupation": occupation},
            missing={"occupation": occupation.labels[0][0]},
            for_testing_seed=seed,
            person=None,
        )
        before, after = (
            each["occupation"].to_pandas().value_counts(normalize=True) for each in (table, made.table)
        )
        far.append(before.sub(after, fill_value=0).abs().sum() / 2)
    assert np.mean(far) == pytest.approx(0.026, abs=0.005)
    assert "(veil.questions.Session)" in str(made)


@needs_data
def test_what_occupation_of_adult_would_be_otherwise() -> None:
    """ε = 1, k = 300: .41 if ε were split over the 100 blocks, and .0005 by a histogram, which is the better choice."""
    occupation, table = hierarchy("adult", "occupation"), source("adult").table.select(["occupation"])
    taxonomy = ConceptTaxonomy(occupation)
    column: Any = read_columns(table, {}, {"occupation": occupation}, {}, "one changed")[0]
    sizes = block_sizes(table.num_rows, 300)
    assert len(sizes) == 100
    truth = np.bincount(column.codes, minlength=occupation.size) / table.num_rows
    split, counted = [], []
    for seed in range(10):
        # e^(-(ε / 100) m / 2Δ) is e^(-ε' m / 2L) for an ε' of (ε / 100) L / Δ.
        share = Symbolic.read(Fraction(taxonomy.length, 100 * taxonomy.diameter))
        drawn = draw_concepts(column, taxonomy, sizes, share, Randomness.for_testing(seed))
        shares = np.bincount(np.repeat(drawn, sizes), minlength=len(taxonomy.labels)) / sizes.sum()
        leaves = {label: place for place, label in enumerate(taxonomy.labels)}
        known = np.array([shares[leaves[label]] for label in occupation.labels[0]])
        split.append((np.abs(known - truth).sum() + shares.sum() - known.sum()) / 2)
        session = Session(
            table,
            Accountant(1, neighbours="one changed"),
            neighbours="one changed",
            person=None,
            keys={"occupation": list(occupation.labels[0])},
            constant_time=False,
            randomness=Randomness.for_testing(seed),
        )
        counts = np.array(list(session.histogram("occupation", epsilon=1).value.values()), float)
        counted.append(np.abs(counts / counts.sum() - truth).sum() / 2)
    assert np.mean(split) == pytest.approx(0.41, abs=0.03)
    assert np.mean(counted) == pytest.approx(0.0005, abs=0.0002)


# --- what it is worth -----------------------------------------------------------------------------------


def expected_sse(columns: list[Numbers], k: int, epsilon: float) -> float:
    """Squared error of block means, and the variance of their noise, before clipping."""
    total = 0.0
    for column in columns:
        step, sizes = float(column.bounds.step), block_sizes(len(column.steps), k)
        values = np.sort(column.steps) * step
        means = np.repeat(block_sums(column.steps, sizes) * step / sizes, sizes)
        noise = Laplace(column.reach, epsilon / len(columns), whole=True).variance * step**2
        total += float(((values - means) ** 2).sum() + (noise / sizes).sum())
    return total


@pytest.mark.skipif(not (SHARED / "data" / "census" / "census.csv").exists(), reason="needs the table census")
def test_expected_error_on_census() -> None:
    table = read(SHARED / "data" / "census" / "census.csv").table.select(list(CENSUS_BOUNDS))
    columns: Any = read_columns(table, CENSUS_BOUNDS, {}, {}, "one changed")
    assert expected_sse(columns, 30, 1) == pytest.approx(1.2378e12, rel=1e-4)
    assert expected_sse(columns, 270, 1) == pytest.approx(7.8012e10, rel=1e-4)
    assert min(range(1, 1081), key=lambda k: expected_sse(columns, k, 1)) == 270


def test_the_error_is_as_expected() -> None:
    """One block of a constant: what is left is the noise on its mean, of scale range / (k epsilon)."""
    found = [
        private_table(
            pa.table({"x": np.zeros(100)}),
            IndividualRanking(100),
            1,
            neighbours="one changed",
            bounds={"x": (-(10**4), 10**4)},
            for_testing_seed=seed, person=None
        ).table["x"][0].as_py()
        for seed in range(1000)
    ]  # fmt: skip
    assert np.mean(np.abs(found)) == pytest.approx(200, rel=0.15)


# --- k = "auto" -----------------------------------------------------------------------------------------


def test_auto_sees_nothing_of_the_data() -> None:
    shape = {"neighbours": "one changed", "person": None, "bounds": {"x": (0, 1000)}}
    alike = [
        private_table(pa.table({"x": data}), IndividualRanking("auto", spread={"x": 50}), 1, **shape).proof  # type: ignore[arg-type]
        for data in (np.zeros(500), np.arange(500.0), np.full(500, 1e9))
    ]
    assert len(set(alike)) == 1
    wider = private_table(
        pa.table({"x": np.zeros(500)}),
        IndividualRanking("auto", spread={"x": 5}),
        1,
        **shape,  # type: ignore[arg-type]
    )
    assert wider.proof != alike[0]


def test_auto_depends_on_the_range_of_a_column_and_not_on_where_it_lies() -> None:
    """The square root of n sqrt(2) range / (spread epsilon), for 1,000 records and a spread of 10: of 28,284, and half."""
    for low, high, epsilon, block in ((0, 100, 0.5, 168), (900, 1000, 0.5, 168), (-50, 50, 1, 119)):
        columns = read_columns(pa.table({"x": [low] * 1000}), {"x": (low, high)}, {}, {}, "one changed")
        assert IndividualRanking("auto", spread={"x": 10}).block(columns, PrivacyLoss.read(epsilon)) == block


def test_auto_is_near_the_best_for_numbers_spread_evenly() -> None:
    table = pa.table({"x": np.linspace(0, 100, 5000)})
    columns: Any = read_columns(table, {"x": (0, 100)}, {}, {}, "one changed")
    chosen = IndividualRanking("auto").block(columns, PrivacyLoss.read(1))
    best = min(range(1, 5001, 7), key=lambda k: expected_sse(columns, k, 1))
    assert expected_sse(columns, chosen, 1) < 1.2 * expected_sse(columns, best, 1)


# --- what is refused, and what is paid ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        ({"neighbours": "one more or less"}, PlanError, "number of blocks"),
        ({"neighbours": None}, ParameterError, "neighbours"),
        ({"bounds": {}}, ParameterError, "'age' has neither bounds nor a domain"),
        ({"bounds": {"age": (120, 0)}}, ParameterError, "lower and a higher"),
        ({"bounds": {"age": (0, math.inf)}}, ParameterError, "finite"),
        ({"bounds": {"age": (0, math.nan)}}, ParameterError, "finite"),
        ({"bounds": {"age": (0, 1), "agee": (0, 1)}}, InputError, "no column 'agee'"),
        ({"bounds": {"age": (0, 1), "sport": (0, 1)}, "missing": {}}, ParameterError, "bounds and a domain"),
        ({"person": "ask"}, ParameterError, "person=None"),
        ({"person": "sport"}, ParameterError, "rows_per_person"),
        (
            {"person": "sport", "rows_per_person": 2, "domains": {}, "missing": {}},
            PlanError,
            "number of blocks",
        ),
        ({"person": "age", "rows_per_person": 1, "columns": ["age"]}, ParameterError, "tells people apart"),
        ({"domains": {"sport": ["sailing", "soccer"]}}, ParameterError, "hierarchy"),
        ({"missing": {}}, ParameterError, "even if there is none"),
        ({"missing": {"sport": "golf"}}, ParameterError, "not 'golf'"),
        ({"domains": {"sport": ["sailing", 1]}, "missing": {"sport": 1}}, ParameterError, "several types"),
        ({"method": IndividualRanking(7)}, ParameterError, "`k` is 7"),
        ({"method": "ranking"}, ParameterError, "method"),
        ({"method": IndividualRanking(2, shares={"age": 1})}, ParameterError, "shares"),
        ({"epsilon": 0}, ParameterError, "epsilon"),
        ({"epsilon": -1}, ParameterError, "epsilon"),
        ({"epsilon": math.nan}, ParameterError, "epsilon"),
        ({"epsilon": None}, ParameterError, "epsilon"),
        ({"delta": "1e-6"}, ParameterError, "delta"),
        ({"missing": {"age": "leave out"}}, ParameterError, "left out"),
        ({"accountant": 1}, ParameterError, "Accountant"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], says: str) -> None:
    with pytest.raises(error, match=says):
        make(**options)


@pytest.mark.parametrize("k", [0, -1, 2.5, True, "best", None])
def test_k_is_a_whole_number(k: Any) -> None:
    with pytest.raises(ParameterError, match="`k`"):
        IndividualRanking(k)


def test_what_is_no_value_counts_as_what_is_declared() -> None:
    table = pd.DataFrame({"age": [1.0, None, "old"], "sport": ["golf", None, "sailing"]})
    exact = {"epsilon": 10**9, "method": IndividualRanking(1)}
    made = make(table, **exact, missing={"age": 50, "sport": "skiing"}).table
    assert sorted(made["age"].round(3)) == [1, 50, 50]
    assert sorted(made["sport"]) == ["sailing", "skiing", "skiing"]
    made = make(table, **exact, missing={"sport": "skiing"}).table
    assert sorted(made["age"].round(3)) == [1, 60, 60]


def test_it_is_paid_before_it_is_drawn_and_refused_when_the_budget_is_used_up() -> None:
    budget = Accountant(1.5, neighbours="one changed")
    make(accountant=budget)
    assert str(budget.remaining) == "epsilon = 0.5"
    with pytest.raises(BudgetError):
        make(accountant=budget)
    with refused(PlanError, "one more or less"):
        make(accountant=Accountant(5))


def test_a_table_that_an_engine_holds_becomes_private_like_any_other(tmp_path: Any) -> None:
    """With a large budget, what leaves is what the records say, wherever they are."""
    pytest.importorskip("ibis")
    sources: list[Any] = [PEOPLE]
    database = sqlite3.connect(tmp_path / "clinic.db")
    database.execute("create table people (age integer, sport text)")
    database.executemany(
        "insert into people values (?, ?)", list(zip(*PEOPLE.to_pydict().values(), strict=True))
    )
    database.commit()
    database.close()
    sources.append(f"sqlite:///{tmp_path}/clinic.db#people")
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.connect()
    relation.register("people", PEOPLE)
    sources.append(relation.sql("select * from people"))
    for each in sources:
        made = make(each, epsilon=10**9, method=IndividualRanking(2))
        assert sorted(made.table["age"].to_pylist()) == pytest.approx(
            [29.5, 29.5, 57.5, 57.5, 95.5, 95.5], abs=0.01
        )
        assert made.is_private
