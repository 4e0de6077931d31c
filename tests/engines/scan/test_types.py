"""A file is the same table, or is refused, whether memory or DuckDB reads it."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from support.engines.values import typed_rows
from support.refusals import refused
from veil.base.progress import Progress
from veil.engines.fetch import fetch_rows
from veil.engines.relation import relation_of
from veil.errors import InputError, VeilError
from veil.tables import Csv, read

USUAL = "1,a,2020-01-01"
LINES = [
    "1,\"a\"\"b\",x", "1,a\"b,x", "1, \"q\",x", "", "\"\",,\"\"", "1,\"two\nlines\",2", " 1,b ,c", "1,\ta,b", "NULL,NaN,inf",
    "1,'a',b", "007,+5,1e5", "1.50,2.5,9999-12-31", "-0,0,0001-01-01", "12345678901234567890,true,2020-02-30",
    "1.5,false,2020-01-01T00:00:00", "2.25,true,2020-01-01 00:00:00", "7,,2020-01-01T10:00:00.5", "8,b,2020-01-01T10:00:00Z",
    "1e5,ü,2020-1-1", "\u00a01,b,c", "1,b", "1,b,c,d", "\"1\",\"a\",\"2020-01-02\"", "2,a\r,x", "3,#x,--", "99999999999999999.5,a,",
]  # fmt: skip


def both(path: Path, format: Csv | None = None) -> tuple[Any, Any]:
    """The rows with their types, as memory and as DuckDB read them; the name of the error where one refuses."""
    answers = []
    for reader in (_in_memory, _in_duckdb):
        try:
            answers.append(typed_rows(reader(path, format)))
        except VeilError as error:
            answers.append(type(error).__name__)
    return answers[0], answers[1]


def _in_memory(path: Path, format: Csv | None) -> pa.Table:
    return read(path, format=format).table


def _in_duckdb(path: Path, format: Csv | None) -> pa.Table:
    relation = relation_of(path, format=format, engine="duckdb")
    assert relation is not None
    return fetch_rows(relation, Progress()).table


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(st.sampled_from(LINES), max_size=4),
    st.sampled_from([0, 3, 1100]),
    st.sampled_from(["\n", "\r\n"]),
)
@example(["1.5,false,2020-01-01T00:00:00", "2.25,true,2020-01-01T00:00:00"], 0, "\n")
def test_lines_of_a_csv_file(lines: list[str], usual: int, ending: str) -> None:
    """DuckDB may refuse what memory reads, but not read it as something else, also far behind the beginning."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        path.write_bytes(ending.join(["a,b,c", *[USUAL] * usual, *lines, ""]).encode())
        memory, duckdb = both(path)
    assert duckdb in (memory, "InputError")


NUMBERS = st.sampled_from(
    [
        "1",
        "0",
        "-3",
        "1.5",
        "1.50",
        "2.25",
        "0.1",
        "-0",
        "-0.0",
        "1e-07",
        "12345678901234567",
        "1234567890123456789.25",
    ]
)
OTHERS = st.sampled_from(
    [
        "",
        "x",
        "true",
        "false",
        "2020-01-01",
        "2020-01-01T00:00:00",
        "2020-01-01 00:00:00",
        "2020-01-01T00:00:00.250",
    ]
)


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(NUMBERS, min_size=1, max_size=6),
    st.lists(NUMBERS | OTHERS, max_size=2),
    st.booleans(),
    st.integers(1, 4),
)
def test_types_of_a_column_however_it_is_cut(
    numbers: list[str], others: list[str], quoted: bool, batch: int
) -> None:
    """What all cells stand for is found batch by batch as it is from all of them at once."""
    cells = [*numbers, *others]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr("veil.engines.scan.types._BATCH", batch)
        path = Path(folder, "table.csv")
        path.write_text("a,b\n" + "".join(f'"{each}",1\n' if quoted else f"{each},1\n" for each in cells))
        memory, duckdb = both(path)
    assert duckdb == memory


def test_types_of_a_parquet_file(tmp_path: Path) -> None:
    instant = dt.datetime(2024, 1, 1, 23, 30, tzinfo=dt.UTC)
    table = pa.table(
        {
            "zone": pa.array([instant, None], pa.timestamp("us", "Europe/Vienna")),
            "nanoseconds": pa.array([1704151800000001000, None], pa.timestamp("ns", "America/New_York")),
            "offset": pa.array([instant, None], pa.timestamp("ms", "+02:00")),
            "seconds": pa.array([instant.replace(tzinfo=None), None], pa.timestamp("s")),
            "fine": pa.array([1704151800000000001, None], pa.timestamp("ns")),
            "half": pa.array(np.array([0.1, np.nan], "f2")),
            "nothing": pa.nulls(2),
            "exact": pa.array([Decimal("1.50"), None], pa.decimal128(38, 2)),
            "small": pa.array([Decimal("1.50"), None], pa.decimal32(5, 2)),
            "huge": pa.array([2**64 - 1, None], pa.uint64()),
            "category": pa.array(["a", None]).dictionary_encode(),
            "long": pa.array(["x", None], pa.large_string()),
            "known": pa.array([b"0123456789abcdef", None], pa.uuid()),
            "far": pa.array([2932896, -719162], pa.date32()),
            "clock": pa.array([5, None], pa.time32("s")),
            "flag": pa.array([True, None]),
        }
    )
    pq.write_table(table, tmp_path / "table.parquet")
    memory, duckdb = both(tmp_path / "table.parquet")
    assert isinstance(memory, Counter)
    assert duckdb == memory


@pytest.mark.parametrize(
    "cells",
    [
        pa.array([Decimal("1.50")], pa.decimal256(50, 2)),
        pa.array([5], pa.duration("us")),
        pa.array([1704151800000000001], pa.timestamp("ns", "UTC")),
        pa.array([[Decimal("1.50")]], pa.list_(pa.decimal256(50, 2))),
    ],
)
def test_types_that_duckdb_would_change_are_refused(tmp_path: Path, cells: pa.Array) -> None:
    pq.write_table(pa.table({"cell": cells}), tmp_path / "table.parquet")
    with refused(InputError, "table.parquet", "'cell'", "not keep"):
        relation_of(tmp_path / "table.parquet", engine="duckdb")


def test_files_of_a_folder_have_one_zone(tmp_path: Path) -> None:
    for number, zone in enumerate(("Europe/Vienna", "UTC")):
        pq.write_table(
            pa.table({"seen": pa.array([0], pa.timestamp("us", zone))}), tmp_path / f"{number}.parquet"
        )
    with refused(InputError, "'seen'", "UTC", "Europe/Vienna"):
        relation_of(tmp_path)


def test_nanoseconds_with_a_zone_in_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("seen,b\n2020-01-01T00:00:00.000000001Z,1\n")
    with refused(InputError, "'seen'", "nanoseconds"):
        relation_of(tmp_path / "table.csv", engine="duckdb")
