"""Cells of databases that no reader holds: to a promise over neighbours they are missing, and no error of the column."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from support.refusals import refused
from veil.api.open import open_cells
from veil.dp import Accountant
from veil.errors import InputError, Say
from veil.questions import Session

FAR = "(SELECT {} FROM far)"
"""A time that is no number of microseconds in 64 bits."""

DUCKDB = {
    "HUGEINT": ("34", ["170141183460469231731687303715884105727"]),
    "DATE": ("'2024-01-31'", ["'infinity'", "'12000-01-01'", "'0044-03-15 (BC)'"]),
    "TIMESTAMP_S": ("'2024-01-31'", ["'infinity'", "'200000-01-01'", FAR.format("s")]),
    "TIMESTAMP_MS": ("'2024-01-31'", ["'infinity'", "'200000-01-01'", FAR.format("ms")]),
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
    far = {
        unit: pa.array([2**62], pa.int64()).view(pa.timestamp(unit))  # type: ignore[arg-type]
        for unit in ("s", "ms")
    }
    backend.create_table("far", pa.table(far))

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


@pytest.mark.parametrize(
    ("kind", "odd"),
    [
        (pa.timestamp("ms"), 10**16),  # in the year 318857, which DuckDB calls an error of the file
        (pa.timestamp("ms", "UTC"), 10**16),
        (pa.timestamp("ns", "UTC"), 1),  # of which DuckDB keeps no digit
    ],
    ids=str,
)
def test_no_time_in_a_parquet_file_is_an_error_that_its_neighbour_has_not(
    kind: pa.DataType, odd: int, tmp_path: Path
) -> None:
    """DuckDB reads the file or not by the types of its columns, whatever times are in them."""
    pytest.importorskip("ibis")
    for times in ([0, 0], [0, 0, odd]):
        cells = pa.array(times, pa.int64()).view(kind)
        pq.write_table(pa.table({"age": range(len(times)), "cell": cells}), tmp_path / "t.parquet")
        with refused(InputError, "cell", str(kind), Say("engine", "memory")):
            open_cells(tmp_path / "t.parquet", engine="duckdb")
        assert counts(tmp_path / "t.parquet")[0] == len(times)
