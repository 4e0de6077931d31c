"""Tables that engines hold: what is recognized, how values look, what comes back."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.engines.servers import Postgres
from support.refusals import refused
from veil.engines import Database, Files, Relation, relation_of
from veil.engines.dialects import collect
from veil.engines.relation import Handed, check_columns, no_rows
from veil.errors import InputError
from veil.tables import Feather, Parquet

Make = Callable[..., str]


def opened(source: Any, **options: Any) -> Relation:
    relation = relation_of(source, **options)
    assert relation is not None
    return relation


def rows(relation: Relation) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = relation.batches(relation.table).read_all().to_pydict()
    return found


def test_what_is_read_into_memory_is_not_for_an_engine(tmp_path: Path) -> None:
    table = pa.table({"age": [30]})
    pq.write_table(table, tmp_path / "small.parquet")
    frames = [table, pd.DataFrame({"age": [30]}), pl.DataFrame({"age": [30]}), pl.LazyFrame({"age": [30]})]
    for source in [*frames, tmp_path / "small.parquet", str(tmp_path / "small.parquet"), "none.csv", 5]:
        assert relation_of(source) is None
    assert relation_of(tmp_path, engine="memory") is None


def test_a_file_too_large_for_memory_is_for_an_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "large.csv"
    path.write_text("age,zip\n" + "30,02139\n" * 1_200_000)
    assert relation_of(path) is None
    size = path.stat().st_size
    monkeypatch.setattr("veil.engines.relation.available_memory", lambda: 8 * size - 1)
    assert opened(path).kind == "duckdb"
    assert relation_of(path, engine="memory") is None
    assert relation_of(path, format=Feather()) is None


def test_duckdb_draws_no_bar_on_standard_output(tmp_path: Path) -> None:
    """Where JSON for a pipeline goes."""
    pq.write_table(pa.table({"age": [30]}), tmp_path / "small.parquet")
    relation = opened(tmp_path / "small.parquet", engine="duckdb")
    (drawn,) = relation.backend.con.execute("SELECT current_setting('enable_progress_bar')").fetchone()  # type: ignore[attr-defined]
    assert drawn is False


def test_an_ibis_table_is_taken_as_it_is(duckdb: Make) -> None:
    backend = ibis.duckdb.connect(duckdb("CREATE TABLE t AS SELECT 30 AS age").removeprefix("duckdb://"))
    relation = opened(backend.table("t"))
    assert (relation.kind, relation.frame, relation.name) == ("duckdb", "ibis", "table t of duckdb")
    assert relation.location == Handed("duckdb", "t")
    assert relation.backend is backend
    assert relation.restore(relation.table) is relation.table
    filtered = opened(backend.table("t").filter(ibis._.age > 40))
    assert filtered.name == "an Ibis expression on duckdb"
    assert rows(filtered) == {"age": []}
    backend.disconnect()


def test_the_same_table_from_each_engine(duckdb: Make, sqlite: Make, tmp_path: Path) -> None:
    statements = [
        "CREATE TABLE patients (age INTEGER, zip TEXT, born DATE, weight DOUBLE)",
        "INSERT INTO patients VALUES (30, '02139', '1990-05-01', 61.5), (NULL, NULL, NULL, NULL)",
    ]
    expected = {
        "age": [30, None],
        "zip": ["02139", None],
        "born": [dt.date(1990, 5, 1), None],
        "weight": [61.5, None],
    }
    pq.write_table(pa.table(expected), tmp_path / "patients.parquet")
    for source in (
        f"{duckdb(*statements)}#patients",
        f"{sqlite(*statements)}#patients",
        Database(duckdb(name="clinic.db"), "patients"),
        Files(str(tmp_path / "patients.parquet"), Parquet()),
        tmp_path / "patients.parquet",
    ):
        relation = opened(source, engine="duckdb")
        assert rows(relation) == expected
        assert relation.location == (source if isinstance(source, Database | Files) else relation.location)


def test_a_location_opens_the_same_table_again(duckdb: Make, tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [30]}), tmp_path / "p.parquet")
    for source in (f"{duckdb('CREATE TABLE t AS SELECT 30 AS age')}#t", tmp_path / "p.parquet"):
        first = opened(source, engine="duckdb")
        again = opened(first.location, engine="duckdb")
        assert again.location == first.location
        assert rows(again) == rows(first)


def test_sqlite_keeps_large_integers_and_says_where_a_type_is_broken(sqlite: Make) -> None:
    url = sqlite(
        "CREATE TABLE t (id INTEGER, paid BOOLEAN, price DECIMAL(5, 2), seen TIMESTAMP)",
        "INSERT INTO t VALUES (9007199254740993, 1, 1.25, '2020-01-02 03:04:05'), (NULL, 0, 2, NULL)",
        "CREATE TABLE broken (age INTEGER)",
        "INSERT INTO broken VALUES (30), ('thirty')",
    )
    assert rows(opened(f"{url}#t")) == {
        "id": [9007199254740993, None],
        "paid": [True, False],
        "price": [Decimal("1.25"), Decimal("2.00")],
        "seen": [dt.datetime(2020, 1, 2, 3, 4, 5), None],
    }
    relation = opened(f"{url}#broken")
    with refused(InputError, "'age'", "int64", "something else"):
        rows(relation)


def test_batches_are_as_long_as_asked(sqlite: Make, duckdb: Make) -> None:
    statements = [
        "CREATE TABLE t AS SELECT 1 AS n UNION ALL SELECT 2 UNION ALL SELECT 3",
    ]
    relation = opened(f"{sqlite(*statements)}#t")
    assert [batch.num_rows for batch in relation.dialect.batches(relation.table, 2)] == [2, 1]
    relation = opened(f"{duckdb('CREATE TABLE t AS SELECT range AS n FROM range(100000)')}#t")
    assert next(len(batch) for batch in relation.batches(relation.table, 4096)) == 4096
    assert collect(relation.backend, relation.table).num_rows == 100_000


def test_values_look_as_in_memory() -> None:
    relation = opened(ibis.memtable({"weight": [1.5], "zip": ["02139"]}))
    view = relation.arrow_view("weight", pa.array([1.5, float("nan"), None]))
    assert view.to_pylist() == [1.5, None, None]
    for kind in (pa.large_string(), pa.string_view(), pa.string()):
        view = relation.arrow_view("zip", pa.array(["02139", None], kind))
        assert view.type == pa.string()
        assert view.to_pylist() == ["02139", None]
    assert relation.arrow_view("zip", pa.chunked_array([["a"], ["b"]])).to_pylist() == ["a", "b"]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["3.000000000", None], pa.int64()),
        (["3.500000000", "4.250000000"], pa.decimal128(38, 2)),
        (["3.123456789"], pa.decimal128(38, 9)),
    ],
)
def test_numbers_of_any_number_of_places_have_as_few_as_they_need(
    values: list[str | None], kind: Any
) -> None:
    relation = opened(ibis.memtable({"n": [1]}).mutate(n=ibis._.n.cast("decimal")))
    given = [None if value is None else Decimal(value) for value in values]
    view = relation.arrow_view("n", pa.array(given, pa.decimal128(38, 9)))
    assert view.type == kind
    assert view.to_pylist() == given


@pytest.mark.parametrize(
    ("kind", "fine"),
    [
        ("INTEGER", True), ("DOUBLE", True), ("DECIMAL(5,2)", True), ("VARCHAR", True), ("BOOLEAN", True),
        ("DATE", True), ("TIMESTAMP", True), ("TIMESTAMPTZ", True), ("INTEGER[]", False), ("JSON", False),
        ("STRUCT(a INTEGER)", False), ("MAP(VARCHAR, INTEGER)", False), ("BLOB", False), ("TIME", False),
        ("INTERVAL", False), ("UUID", False),
    ],
)  # fmt: skip
def test_types_that_a_plan_cannot_handle(duckdb: Make, kind: str, fine: bool) -> None:
    relation = opened(
        f"{duckdb(f'CREATE TABLE t (age INTEGER, x {kind})', 'INSERT INTO t (age) VALUES (1)')}#t"
    )
    check_columns(relation, ["age"])
    if fine:
        check_columns(relation, ["age", "x"])
    else:
        with refused(InputError, "table t of", "'x'", 'cast("string")'):
            check_columns(relation, ["age", "x"])


def test_a_column_that_is_not_there() -> None:
    relation = opened(ibis.memtable({"age": [1], "zip": ["1"]}))
    with refused(InputError, "mean 'age'", "no column 'agee'"):
        check_columns(relation, ["zip", "agee"])
    assert "has no rows" in str(no_rows(relation))


def test_types_of_postgres(postgres: Postgres) -> None:
    postgres.execute(
        "CREATE TYPE mood AS ENUM ('sad', 'glad')",
        "CREATE TABLE typed (n numeric, m numeric(5, 2), mood mood, seen timestamptz, tags int[], j jsonb, u uuid)",
        "INSERT INTO typed VALUES (3, 1.25, 'glad', '2020-01-01 12:00+02', '{1}', '{}', gen_random_uuid())",
        "GRANT SELECT ON typed TO veil",
    )
    relation = opened(postgres.url("typed"))
    check_columns(relation, ["n", "m", "mood", "seen"])
    for name in ("tags", "j", "u"):
        with refused(InputError, f"'{name}'", "type"):
            check_columns(relation, [name])
    found = collect(relation.backend, relation.table[["n", "m", "mood", "seen"]])
    assert relation.arrow_view("n", found["n"]).to_pylist() == [3]
    assert found["mood"].to_pylist() == ["glad"]
    assert found["seen"].to_pylist() == [dt.datetime(2020, 1, 1, 10, tzinfo=dt.UTC)]
