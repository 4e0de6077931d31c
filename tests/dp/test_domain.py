"""A SafePub release shows nothing but cells: whatever else can be seen of it follows from plan and hierarchies.

The attacker knows all records but one and looks at everything that leaves Veil: types, categories, chunks, bytes of
files, certificate and report. Releases of neighbouring tables that happen to show the same cells must be the same.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import pickle
import secrets
import sqlite3
import zipfile
from collections.abc import Callable, Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil import SafePub
from veil import hierarchies as h
from veil.dp.domain import in_domain
from veil.hierarchies import Hierarchy
from veil.report import collect_facts
from veil.tables import Csv, read, write

MANY = 50
DAY, NOON = dt.datetime(2024, 1, 31), dt.datetime(2024, 1, 31, 12)


def of_csv(*cells: str) -> Callable[[Path], Any]:
    return of_csv_with_ids(range(len(cells)), cells)


def of_csv_with_ids(ids: Iterable[int], cells: Iterable[str]) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        file = folder / "people.csv"
        lines = [f"{number},{cell}" for number, cell in zip(ids, cells, strict=True)]
        file.write_text("\n".join(["id,value", *lines]) + "\n")
        return file

    return make


def of_excel(*cells: Any) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        openpyxl = pytest.importorskip("openpyxl")
        book = openpyxl.Workbook()
        book.active.append(["id", "value"])
        for at, cell in enumerate(cells):
            book.active.append([at, cell])
        book.save(folder / "people.xlsx")
        return folder / "people.xlsx"

    return make


def of_pandas(*cells: Any, dtype: Any = None) -> Callable[[Path], Any]:
    values = pd.Series(list(cells), dtype=dtype)
    return lambda folder: pd.DataFrame({"id": range(len(cells)), "value": values})


def of_polars(*cells: Any, dtype: Any = None) -> Callable[[Path], Any]:
    return lambda folder: pl.DataFrame({"id": range(len(cells)), "value": pl.Series(cells, dtype=dtype)})


def of_arrow(*chunks: pa.Array) -> Callable[[Path], Any]:
    values = pa.chunked_array(chunks)
    return lambda folder: pa.table({"id": range(len(values)), "value": values})


def of_file(name: str, values: pa.Array) -> Callable[[Path], Any]:
    def make(folder: Path) -> Path:
        write(pa.table({"id": range(len(values)), "value": values}), folder / name)
        return folder / name

    return make


def of_duckdb(values: pa.Array) -> Callable[[Path], Any]:
    table = pa.table({"id": range(len(values)), "value": values})
    return lambda folder: ibis.duckdb.connect().create_table("people", table)


def of_sqlite(*cells: Any) -> Callable[[Path], Any]:
    def make(folder: Path) -> str:
        file = folder / f"{len(cells)}.db"
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS people (id INTEGER, value INTEGER)")
            connection.execute("DELETE FROM people")
            connection.executemany("INSERT INTO people VALUES (?, ?)", list(enumerate(cells)))
            connection.commit()
        return f"sqlite://{file}#people"

    return make


def coded(*cells: str) -> pa.Array:
    return pa.array(cells).dictionary_encode()


CASES: dict[str, tuple[str, Callable[[Path], Any], Callable[[Path], Any]]] = {
    "whole numbers and a text": ("7", of_csv(*["7"] * MANY), of_csv(*["7"] * MANY, "odd")),
    "whole numbers and a decimal": ("7", of_csv(*["7"] * MANY), of_csv(*["7"] * MANY, "7.5")),
    "decimals and a text": ("1.50", of_csv(*["1.50"] * MANY), of_csv(*["1.50"] * MANY, "odd")),
    "decimals and fewer places": ("1.50", of_csv(*["1.50"] * MANY), of_csv(*["1.50"] * MANY, "1.5")),
    "dates and a text": ("2024-01-31", of_csv(*["2024-01-31"] * MANY), of_csv(*["2024-01-31"] * MANY, "odd")),
    "numbers and a missing one": ("7", of_csv(*["7"] * MANY), of_csv(*["7"] * MANY, "")),
    "numbers and an empty text": ("7", of_csv(*["7"] * MANY), of_csv(*["7"] * MANY, '""')),
    "booleans and a text": ("true", of_csv(*["true"] * MANY), of_csv(*["true"] * MANY, "odd")),
    "moments in two spellings": (
        "2024-01-31T12:00:00",
        of_csv(*["2024-01-31 12:00:00"] * MANY),
        of_csv("2024-01-31T12:00:00", *["2024-01-31 12:00:00"] * MANY),
    ),
    "Excel numbers and a text": ("7", of_excel(*[7] * MANY), of_excel(*[7] * MANY, "odd")),
    "Excel numbers and a decimal": ("7", of_excel(*[7] * MANY), of_excel(*[7] * MANY, 7.5)),
    "Excel days and a moment": ("2024-01-31", of_excel(*[DAY] * MANY), of_excel(*[DAY] * MANY, NOON)),
    "pandas numbers and a missing one": ("7", of_pandas(*[7] * MANY), of_pandas(*[7] * MANY, None)),
    "pandas decimals and more places": (
        "1.5",
        of_pandas(*[Decimal("1.5")] * MANY),
        of_pandas(*[Decimal("1.5")] * MANY, Decimal("1.50")),
    ),
    "pandas objects, whole and not": (
        "7",
        of_pandas(*[7] * MANY, dtype=object),
        of_pandas(*[7] * MANY, 7.5, dtype=object),
    ),
    "pandas text of two types": (
        "odd",
        of_pandas(*["odd"] * MANY, dtype="string"),
        of_pandas(*["odd"] * MANY, None, dtype=object),
    ),
    "pandas categories": (
        "7",
        of_pandas(*["7"] * MANY, dtype="category"),
        of_pandas(*["7"] * MANY, "odd", dtype="category"),
    ),
    "pandas Arrow types": (
        "7",
        of_pandas(*[7] * MANY, dtype="int8[pyarrow]"),
        of_pandas(*[7] * MANY, 300, dtype="int16[pyarrow]"),
    ),
    "polars categories": (
        "7",
        of_polars(*["7"] * MANY, dtype=pl.Enum(["7"])),
        of_polars(*["7"] * MANY, "odd", dtype=pl.Enum(["odd", "7"])),
    ),
    "polars numbers": (
        "7",
        of_polars(*[7] * MANY, dtype=pl.Int8),
        of_polars(*[7] * MANY, 7.5, dtype=pl.Float64),
    ),
    "Arrow decimals and more places": (
        "1.5",
        of_arrow(pa.array([Decimal("1.5")] * MANY)),
        of_arrow(pa.array([Decimal("1.5")] * MANY + [Decimal("7.55")])),
    ),
    "Arrow dictionaries": ("7", of_arrow(coded(*["7"] * MANY)), of_arrow(coded("odd", *["7"] * MANY))),
    "Parquet numbers and a fraction": (
        "7",
        of_file("people.parquet", pa.array([7] * MANY)),
        of_file("people.parquet", pa.array([7] * MANY + [7.5])),
    ),
    "Feather numbers and a text": (
        "7",
        of_file("people.feather", pa.array([7] * MANY)),
        of_file("people.feather", pa.array(["7"] * MANY + ["odd"])),
    ),
    "numbers and a text in DuckDB": (
        "7",
        of_duckdb(pa.array([7] * MANY)),
        of_duckdb(pa.array(["7"] * MANY + ["odd"])),
    ),
    "numbers and a fraction in DuckDB": (
        "7",
        of_duckdb(pa.array([7] * MANY)),
        of_duckdb(pa.array([7] * MANY + [7.5])),
    ),
    "numbers and a missing one in SQLite": ("7", of_sqlite(*[7] * MANY), of_sqlite(*[7] * MANY, None)),
    "Arrow chunks": ("7", of_arrow(coded(*["7"] * MANY)), of_arrow(coded(*["7"] * MANY), coded("odd"))),
}
DOMAIN = ["7", "7.5", "300", "1.5", "1.50", "7.55", "true", "2024-01-31", "2024-01-31T12:00:00", "odd", ""]
HIERARCHY = h.table([[value, "*"] for value in DOMAIN]).with_missing()
PLAN = {
    "quasi_identifiers": {"value": HIERARCHY},
    "models": SafePub(1, 1e-2, generalization={"value": 0}),
    "person": None,
}


def seen(release: Any, folder: Path) -> dict[str, Any]:
    """Everything that can be seen of a release."""
    table = release.table
    arrow = table.to_pyarrow() if hasattr(table, "to_pyarrow") else pa.table(table)
    found: dict[str, Any] = {
        "kind": type(table),
        "schema": arrow.schema,
        "metadata": arrow.schema.metadata,
        "chunks": [column.num_chunks for column in arrow.columns],
        "dtypes": list(getattr(table, "dtypes", [])),
    }
    if isinstance(table, pd.DataFrame):
        found["pickle"] = pickle.dumps(table)
        found["index"] = table.index
    for name in ("release.csv", "release.parquet", "release.feather"):
        if name != "release.feather" or release.outcome.source.kind != "engine":
            release.save(folder / name, overwrite=True)
            found[name] = (folder / name).read_bytes()
    if release.outcome.source.kind == "engine":
        for engine in ("duckdb", "sqlite"):
            found[engine] = in_database(release, engine, folder / f"{secrets.token_hex(8)}.db")
    else:
        release.save(folder / "release.xlsx", overwrite=True)
        with zipfile.ZipFile(folder / "release.xlsx") as book:
            found["workbook"] = {part: book.read(part) for part in book.namelist()}
    release.certificate(folder / "certificate.json", overwrite=True)
    found["certificate"] = json.loads((folder / "certificate.json").read_text())
    found["facts"] = collect_facts(release)
    for made in (found["certificate"], found["facts"], found["facts"]["certificate"]):
        made.pop("date")
        made.pop("checksum", None)
    return found


def in_database(release: Any, engine: str, file: Path) -> Any:
    """What a table looks like that was written to a database."""
    release.save(f"{engine}://{file}#release")
    connection = getattr(ibis, engine).connect(file)
    shown = connection.table("release").schema(), connection.raw_sql("SELECT * FROM release").fetchall()
    connection.disconnect()
    return str(shown)


def released(make: Callable[[Path], Any], folder: Path, rows: int | None = None, **options: Any) -> Any:
    """A release of a table that shows something: so many rows, if it matters how many."""
    source = make(folder)
    for seed in range(1000):
        release = veil.anonymize(source, **{**PLAN, **options}, others="drop", for_testing_seed=seed)
        shown = release.outcome.by_records.records
        if shown and rows in (None, shown):
            return release
    raise AssertionError(f"no release shows {rows} rows")


def assert_alike(case: str, folder: Path, **options: Any) -> None:
    value, one, other = CASES[case]
    first = released(one, folder, **options)
    assert set(first.arrow["value"].to_pylist()) == {value}
    expected = seen(first, folder)
    found = seen(released(other, folder, first.outcome.by_records.records, **options), folder)
    for what, shown in expected.items():
        assert found[what] is shown or np.all(found[what] == shown), what


@pytest.mark.parametrize("case", CASES)
def test_one_record_more_changes_nothing_but_cells(case, tmp_path):
    assert_alike(case, tmp_path)


@pytest.mark.parametrize(
    "case",
    [
        "whole numbers and a text",
        "decimals and fewer places",
        "dates and a text",
        "numbers and a missing one",
    ],
)
def test_nor_does_it_where_an_engine_reads_the_file(case, tmp_path):
    assert_alike(case, tmp_path, engine="duckdb")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("odd", ["odd", "", "7.5"])
def test_nor_does_a_person_with_several_rows(odd, engine, tmp_path, monkeypatch):
    def of_people(*cells: str) -> Callable[[Path], Any]:
        return of_csv_with_ids([at // 2 for at in range(len(cells))], cells)

    monkeypatch.setitem(
        CASES, "people", ("7", of_people(*["7"] * 2 * MANY), of_people(*["7"] * 2 * MANY, odd, odd))
    )
    assert_alike("people", tmp_path, person="id", engine=engine)


def test_who_was_drawn_and_left_out_does_not_show_in_an_empty_release(tmp_path):
    """Nobody was drawn, or some who look like nobody else: both are no rows, in the same bytes."""
    source = pa.table({"value": ["7", "odd", "true"]})
    sizes, found = set(), []
    for seed in range(16):
        release = veil.anonymize(source, **PLAN, for_testing_seed=seed)
        sizes.add(release.records)
        found.append({name: repr(shown) for name, shown in seen(release, tmp_path).items()})
    assert {0, 3} <= sizes
    assert all(each == found[0] for each in found)


def test_the_dialect_of_the_input_is_not_passed_on_unless_it_is_said(tmp_path):
    """It is found from the content of the file."""
    file = tmp_path / "people.csv"
    file.write_text("value;id\n" + "7;1\n" * MANY)
    plan = {**PLAN, "identifying": {"id": "mask"}}
    veil.anonymize(file, **plan).save(tmp_path / "plain.csv")
    assert (tmp_path / "plain.csv").read_text().startswith("value,id\n7,*\n")
    veil.anonymize(file, **plan, format=Csv(separator=";")).save(tmp_path / "said.csv")
    assert (tmp_path / "said.csv").read_text().startswith("value;id\n7;*\n")


def test_too_few_records_are_no_error():
    """That would tell whether there are k: n - 1 records would be refused, and n would not."""
    k = PLAN["models"].parameters().k  # type: ignore[attr-defined]
    for records in (1, k - 1, k):
        release = veil.anonymize(pa.table({"value": ["7"] * records}), **PLAN)
        assert release.table.num_rows in (0, k)


def test_a_table_without_records_is_no_error(tmp_path):
    """It is a neighbour of a table with one."""
    (tmp_path / "people.csv").write_text("id,value\n")
    held = ibis.duckdb.connect().create_table("people", pa.table({"value": pa.array([], pa.string())}))
    for source in (pa.table({"value": pa.array([], pa.string())}), tmp_path / "people.csv", held):
        release = veil.anonymize(source, **PLAN, others="drop")
        assert release.outcome.by_records.records == 0
        release.save(tmp_path / "release.parquet", overwrite=True)


# --- spelling -----------------------------------------------------------------------------------------

CELLS = st.sampled_from(
    ["7", "07", "7.0", "7,5", "7.50", "1e5", "2024-01-31", "2024-01-31 00:00:00", "true", "odd", "", "NA"]
)
LISTED = Hierarchy.from_rows([["7", "*"], ["7.5", "*"], ["2024-01-31", "*"]])


@settings(max_examples=60, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=6), CELLS)
def test_a_cell_is_spelled_by_itself(tmp_path_factory, cells, further):
    """The slow twin reads each cell as a file of its own."""
    folder = tmp_path_factory.mktemp("cells")

    def spelled(*some: str) -> list[str | None]:
        (folder / "x.csv").write_text("id,value\n" + "".join(f'1,"{cell}"\n' for cell in some))
        return (
            in_domain(read(folder / "x.csv", format=Csv(separator=",")), {"value": LISTED})
            .table["value"]
            .to_pylist()
        )

    alone = [spelled(cell)[0] for cell in cells]
    assert spelled(*cells) == alone
    assert spelled(*cells, further)[:-1] == alone


@pytest.mark.parametrize("listed", [["1.5", "1.50"], ["1.50", "1.5"], ["1.50"]])
def test_numbers_and_days_have_one_spelling_whatever_their_type(listed):
    """One more place of one decimal, or one hour of one day, gives another type to all."""
    hierarchy = {"x": Hierarchy.from_rows([[each, "*"] for each in [*listed, "2024-01-31"]])}
    half, day = Decimal("1.5"), dt.date(2024, 1, 31)
    for one in (
        pa.array([half]),
        pa.array([half, Decimal("1.25")]),
        pa.array([1.5]),
        pa.array([1.5], pa.float32()),
    ):
        assert in_domain(read(pa.table({"x": one})), hierarchy).table["x"][0].as_py() == listed[0]
    for one in (pa.array([day]), pa.array([DAY, NOON]), pa.array([DAY], pa.timestamp("ns"))):
        assert in_domain(read(pa.table({"x": one})), hierarchy).table["x"][0].as_py() == "2024-01-31"
