"""Cells of databases that no reader holds: to a promise over neighbours they are missing, and no error of the column."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from veil.dp import Accountant
from veil.questions import Session

DUCKDB = {
    "HUGEINT": ("34", ["170141183460469231731687303715884105727"]),
    "DATE": ("'2024-01-31'", ["'infinity'", "'12000-01-01'", "'0044-03-15 (BC)'"]),
    "TIMESTAMP_NS": ("'2024-01-31'", ["'infinity'", "'1700-01-01'"]),
}
POSTGRES = {
    "numeric": ("34.50", ["'NaN'", "'Infinity'", "1e200", "1e-200"]),
    "date": ("'2024-01-31'", ["'infinity'", "'-infinity'", "'4713-01-01 BC'", "'5874897-12-31'"]),
    "timestamp": ("'2024-01-31'", ["'infinity'", "'12000-01-01'"]),
    "timestamptz": ("'2024-01-31'", ["'-infinity'", "'4713-01-01 BC'"]),
}
SQLITE = {"DATE": ("'2024-01-31'", ["CAST(x'ff80' AS TEXT)", "char(55357)", "x'ff'", "9e999", "'eighty'"])}


def counts(source: Any) -> tuple[int, int]:
    """Return roughly how many there are, and how many cells are one and the same; an answer is never far off."""
    session = Session(
        source,
        Accountant(2000),
        neighbours="one more or less",
        person=None,
        keys={"cell": [34, 34.5, "2024-01-31", "2024-01-31T00:00:00+00:00"]},
        constant_time=False,
    )
    found = session.histogram("cell", epsilon=900).value
    return session.count(epsilon=900).value, sum(found.values())


def check(put: Any, kinds: dict[str, tuple[str, list[str]]]) -> None:
    for kind, (usual, strange) in kinds.items():
        for cell in [usual, *strange]:
            source = put(kind, [usual, usual, cell])
            assert counts(source) == (3, 3 if cell == usual else 2), (kind, cell)


def test_sqlite(tmp_path: Path) -> None:
    def put(kind: str, cells: list[str]) -> str:
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.db"
        connection = sqlite3.connect(file)
        connection.execute(f"CREATE TABLE t (cell {kind})")
        connection.execute(f"INSERT INTO t VALUES {', '.join(f'({cell})' for cell in cells)}")
        connection.commit()
        connection.close()
        return f"sqlite:///{file}#t"

    check(put, SQLITE)


def test_duckdb() -> None:
    ibis = pytest.importorskip("ibis")
    backend = ibis.duckdb.connect()

    def put(kind: str, cells: list[str]) -> Any:
        backend.raw_sql(f"CREATE OR REPLACE TABLE t (cell {kind})")
        backend.raw_sql(f"INSERT INTO t VALUES {', '.join(f'({cell})' for cell in cells)}")
        return backend.table("t")

    check(put, DUCKDB)


def test_postgres(postgres: Any) -> None:
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres.url(), autocommit=True) as connection:
        connection.execute("SET timezone = 'UTC'")

        def put(kind: str, cells: list[str]) -> str:
            connection.execute("DROP TABLE IF EXISTS t")
            connection.execute(f"CREATE TABLE t (cell {kind})")
            connection.execute(f"INSERT INTO t VALUES {', '.join(f'({cell})' for cell in cells)}")
            return f"{postgres.url()}#t"

        check(put, POSTGRES)


def test_a_count_of_all_and_then_the_first_column() -> None:
    """Of no column at all, the combinations of the first one are counted, and kept."""
    ibis = pytest.importorskip("ibis")
    table = ibis.duckdb.connect().create_table("t", ibis.memtable({"age": [34, 71, 68]}))
    session = Session(
        table,
        Accountant(20_000),
        neighbours="one more or less",
        person=None,
        bounds={"age": (0, 120)},
        missing={"age": 0},
        constant_time=False,
    )
    assert session.count(epsilon=900).value == 3
    assert round(session.sum("age", epsilon=9000).value) == 173
