from __future__ import annotations

import datetime as dt
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.refusals import refused
from veil.errors import InputError, MissingDependencyError, OutputError
from veil.tables import Excel, read, write

openpyxl = pytest.importorskip("openpyxl")


def book(folder: Path, **sheets: list[list[Any]]) -> Path:
    made = openpyxl.Workbook()
    made.remove(made.active)
    for title, rows in sheets.items():
        sheet = made.create_sheet(title)
        for row in rows:
            sheet.append(row)
    made.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def test_types(tmp_path: Path) -> None:
    path = book(
        tmp_path,
        Sheet=[
            ["age", "zip", "weight", "born", "seen", "smoker", "mixed", 2020, "blank"],
            [34, "02139", 61.5, dt.datetime(1990, 1, 31), dt.datetime(2024, 1, 1, 8), True, 7, 1],
            [None, "10001", 80, None, dt.datetime(2024, 1, 2), False, "n/a", 2],
        ],
    )
    source = read(path)
    assert source.table.to_pydict() == {
        "age": [34, None],
        "zip": ["02139", "10001"],
        "weight": [61.5, 80.0],
        "born": [dt.date(1990, 1, 31), None],
        "seen": [dt.datetime(2024, 1, 1, 8), dt.datetime(2024, 1, 2)],
        "smoker": [True, False],
        "mixed": ["7", "n/a"],
        "2020": [1, 2],
        "blank": [None, None],
    }
    assert source.table.schema.types[3:5] == [pa.date32(), pa.timestamp("us")]
    assert source.format == Excel("Sheet")


def test_blank_margins_are_cut_off(tmp_path: Path) -> None:
    path = book(
        tmp_path, Sheet=[["a", None, "b", None], [1, 5, 2, None], [None] * 4, [3, 6, 4, ""], [None] * 4, [""]]
    )
    assert read(path).table.to_pydict() == {"a": [1, None, 3], "column_2": [5, None, 6], "b": [2, None, 4]}


def test_rows_above_the_table(tmp_path: Path) -> None:
    path = book(tmp_path, Sheet=[["Ward 3", None], [None, None], ["age", "sex"], [34, "m"], [51, "f"]])
    with refused(InputError, "row 1", "all columns", "Excel(skip=2)"):
        read(path)
    found = read(path, format=Excel(skip=2))
    assert found.table.to_pydict() == {"age": [34, 51], "sex": ["m", "f"]}
    assert found.format == Excel("Sheet", skip=2)
    with refused(InputError, "one row"):
        read(path, format=Excel(skip=9))


def test_blank_rows_above_the_table(tmp_path: Path) -> None:
    path = book(tmp_path, Sheet=[[None, None], [None, None], ["age", "sex"], [34, "m"]])
    assert read(path).table.to_pydict() == {"age": [34], "sex": ["m"]}


def test_without_header(tmp_path: Path) -> None:
    path = book(tmp_path, Sheet=[[1, "x"], [2, "y"]])
    assert read(path, format=Excel(header=False)).table.to_pydict() == {
        "column_1": [1, 2],
        "column_2": ["x", "y"],
    }


def test_sheets(tmp_path: Path) -> None:
    path = book(tmp_path, Notes=[], Ward=[["age"], [1]])
    assert read(path).format == Excel("Ward")
    path = book(tmp_path, Ward1=[["age"], [1]], Ward2=[["age"], [2]])
    assert read(path, format=Excel("Ward2")).table.to_pydict() == {"age": [2]}
    with refused(InputError, "'Ward1', 'Ward2'", "format=Excel"):
        read(path)
    with refused(InputError, "no sheet 'Ward3'", "mean 'Ward"):
        read(path, format=Excel("Ward3"))


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([], "the workbook is empty"),
        ([[None], [""]], "the workbook is empty"),
        ([["age", "zip"]], "a header but no rows"),
        ([["age", "age"], [1, 2]], "more than one column is named 'age'"),
        ([["age"], ["=1+1"]], "row 2, column 1: the formula '=1\\+1' has no stored value"),
    ],
)
def test_bad_sheets(tmp_path: Path, rows: list[list[Any]], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        read(book(tmp_path, Sheet=rows))


@pytest.mark.parametrize("content", [b"no workbook", b"PK\x03\x04broken"])
def test_not_a_workbook(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "t.xlsx").write_bytes(content)
    with refused(InputError, "t.xlsx", "Excel workbook"):
        read(tmp_path / "t.xlsx")


def test_what_is_written_reads_back(tmp_path: Path) -> None:
    table = pa.table(
        {
            "int": [1, None],
            "text": ["=SUM(A1:A2)", "02139"],
            "date": [dt.date(2020, 1, 31), None],
            "early": [dt.date(1890, 1, 1), None],
            "seen": [dt.datetime(2020, 1, 31, 12, 30), None],
            "flag": [True, None],
            "category": pa.array(["x", None]).dictionary_encode(),
            "cost": [Decimal("1.25"), None],
            "zoned": pa.array([0, None], pa.timestamp("s", "UTC")),
        }
    )
    write(table, tmp_path / "t.xlsx", format=Excel("Ward"))
    source = read(tmp_path / "t.xlsx")
    assert source.format == Excel("Ward")
    assert source.table.to_pydict() == {
        **table.to_pydict(),
        "early": ["1890-01-01", None],
        "cost": [1.25, None],
        "zoned": ["1970-01-01T00:00:00+00:00", None],
    }


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (pa.array([[1]]), "column 'x' has type list"),
        (pa.array(["a\x01b"]), "control characters"),
        (pa.array(["a" * 32_768]), "32,768 characters; Excel allows 32,767"),
        (pa.array(["a", None]), "all values of a row are missing"),
        (
            pa.array(["", "a", None, "b"]),
            "column 'x' holds a missing value and an empty text, which look the same",
        ),
        (
            pa.array([1.5, float("-inf")]),
            "column 'x' holds -inf, and an Excel sheet cannot hold infinite numbers",
        ),
        (pa.array(["a\r\nb"]), "would read as a different text"),
        (pa.array(["_x0041_"]), "would read as a different text"),
        (pa.array([0.3, 0.1 + 0.2]), "look the same"),
        (pa.nulls(1_048_576, pa.int8()), "at most 1,048,576 rows"),
    ],
)
def test_what_a_sheet_cannot_hold(tmp_path: Path, column: pa.Array, reason: str) -> None:
    with pytest.raises(OutputError, match=reason):
        write(pa.table({"x": column}), tmp_path / "t.xlsx")
    assert not list(tmp_path.iterdir())


def test_what_excel_would_cut_off_is_written_as_text(tmp_path: Path) -> None:
    exact = {
        "number": [2**53, 2**53 + 1],
        "amount": [Decimal("1.0000000000000001"), Decimal("2.0000000000000000")],
        "seen": [dt.datetime(2020, 1, 31, 1, 2, 3, 4), dt.datetime(2020, 1, 31)],
        "part": [0.1 + 0.2, 1 / 3],
    }
    write(pa.table(exact), tmp_path / "t.xlsx")
    assert read(tmp_path / "t.xlsx").table.to_pydict() == {
        "number": ["9007199254740992", "9007199254740993"],
        "amount": ["1.0000000000000001", "2.0000000000000000"],
        "seen": ["2020-01-31T01:02:03.000004", "2020-01-31T00:00:00"],
        "part": [0.1 + 0.2, 1 / 3],
    }


def test_openpyxl_is_asked_for_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = book(tmp_path, Sheet=[["a"], [1]])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with refused(MissingDependencyError, "veil-anonymizer[excel]"):
        read(path)
    with pytest.raises(MissingDependencyError, match="openpyxl"):
        write(pa.table({"a": [1]}), tmp_path / "u.xlsx")
