"""Cells as texts: one meaning of a cell, whatever type its column got from other cells and wherever it stands."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.errors import InputError
from veil.tables import Csv
from veil.tables.cells import Cells, Marks, number_of, plain_form
from veil.tables.source import read_cells


def texts(source: Any, name: str = "x", **options: Any) -> list[str | None]:
    found = read_cells(source, **options)
    cells = Cells.of(found.table[name], found.format)
    return [cells.texts[code] for code in cells.codes]


def test_the_form_of_a_cell() -> None:
    comma = Marks(",")
    assert plain_form("7,50", comma) == "7.5"
    assert plain_form("7,50") == "7,50"
    assert plain_form("7.500", comma) == "7.500"  # perhaps seven thousand five hundred
    assert plain_form("-0.10") == "-0.1"
    assert plain_form("02139.0") == "02139.0"  # no number: an identifier
    assert plain_form("2024-01-31 00:00:00") == "2024-01-31"
    assert plain_form("2024-01-31T12:00:00.000Z") == "2024-01-31T12:00:00+00:00"


CELLS: list[tuple[Any, str | None]] = [
    (7, "7"),
    (7.0, "7"),
    (34.5, "34.5"),
    ("eighty", "eighty"),
    (None, None),
    (float("nan"), None),
    (True, "true"),
    (Decimal("1.50"), "1.5"),
    (dt.date(2024, 1, 31), "2024-01-31"),
    (dt.datetime(2024, 1, 31), "2024-01-31"),
    (dt.datetime(2024, 1, 31, 5), "2024-01-31T05:00:00"),
    (2**70, str(2**70)),
    (np.int8(3), "3"),
    ([1, 2], None),
    ({"a": 1}, None),
    ("half a pair \ud800", "half a pair ?"),
    (object(), None),
]


@pytest.mark.parametrize(("poison", "expected"), CELLS)
def test_a_cell_of_a_pandas_frame_changes_no_other_and_is_no_error(poison: Any, expected: str | None) -> None:
    for others in ([1, 2], ["a", "1.50"], [True, None], [dt.date(2020, 2, 3)], [2.5, None]):
        alone = texts(pd.DataFrame({"x": others}))
        beside = texts(pd.DataFrame({"x": pd.Series([*others, poison], dtype=object)}))
        assert beside == [*alone, expected]


def test_one_missing_value_does_not_change_what_numbers_and_days_say() -> None:
    whole = pd.DataFrame({"x": [1, 2, 10**15]})
    with_gap = pd.DataFrame({"x": [1, 2, 10**15, None]})
    assert with_gap["x"].dtype == float
    assert texts(with_gap) == [*texts(whole), None]
    days = pd.DataFrame({"x": pd.to_datetime(["2024-01-31", "2024-02-01"])})
    assert texts(days) == ["2024-01-31", "2024-02-01"]


SAME: list[Any] = [
    pa.table({"x": pa.array([1.0, 2.5, None])}),
    pa.table({"x": pa.array([1.0, 2.5, None], pa.float32())}),
    pa.table({"x": pa.array([Decimal("1.00"), Decimal("2.50"), None])}),
    pa.table({"x": pa.array(["1.0", "2.5", None]).dictionary_encode()}),
    pa.table({"x": pa.array(["1", "2.50", None], pa.large_string())}),
    pd.DataFrame({"x": [1, 2.5, None]}, dtype=object),
    pd.DataFrame({"x": pd.Categorical([1, 2.5, None])}),
    pl.DataFrame({"x": [1.0, 2.5, None]}),
]


@pytest.mark.parametrize("source", SAME, ids=lambda each: type(each).__name__)
def test_every_type_says_the_same(source: Any) -> None:
    assert texts(source) == ["1", "2.5", None]


def test_files_say_the_same_as_frames(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    frame = pd.DataFrame({"x": [1, 2.5, None, "eighty", dt.datetime(2024, 1, 31), True]}, dtype=object)
    expected = ["1", "2.5", None, "eighty", "2024-01-31", "true"]
    assert texts(frame) == expected
    (tmp_path / "x.csv").write_text(
        "id,x\n1,1.0\n2,2.50\n3,\n4,eighty\n5,2024-01-31 00:00:00\n6,true\n", encoding="utf-8"
    )
    assert texts(tmp_path / "x.csv") == expected
    (tmp_path / "comma.csv").write_text("id;x\n1;1,0\n2;2,50\n3;\n4;eighty\n", encoding="utf-8")
    assert texts(tmp_path / "comma.csv", format=Csv(decimal=",")) == expected[:4]
    book = openpyxl.Workbook()
    for row in [("x",), *((each,) for each in frame["x"]), ("=A1",)]:
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    # Of a formula, nothing is stored, and a blank row is none.
    assert texts(tmp_path / "x.xlsx") == [each for each in expected if each is not None]


GOOD = ["1,a", '2,"b, c"', "3,", '4,"d ""e"""', "5,ü"]
POISON = [
    *(b"", b",", b"6", b"6,a,b", b'6,"never closed', b'"6', b'x"y,"z', b"6,\xff\xfe", b"6,\xe2\x82", b"6,\0", b'6,"a"b'),
    *(b'6,"a""', b"6,a\rb", b"6,'", b"\xef\xbb\xbf6,a", b"6;a", b'6,"two\nlines"', b'""', b'"",""', b"#", b"6,\\"),
]  # fmt: skip


@pytest.mark.parametrize("poison", POISON)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("escape", [None, "\\"])
def test_no_line_of_a_file_changes_another_or_is_an_error(
    tmp_path: Path, poison: bytes, end: str, escape: str | None
) -> None:
    format = Csv(escape=escape) if escape else None
    lines = [each.encode() for each in GOOD]
    place, stop = tmp_path / "x.csv", end.encode()
    place.write_bytes(stop.join([b"id,x", *lines, b""]))
    alone = list(zip(texts(place, "id", format=format), texts(place, format=format), strict=True))
    assert [name for name, _ in alone] == ["1", "2", "3", "4", "5"]
    for at in range(len(lines) + 1):
        place.write_bytes(stop.join([b"id,x", *lines[:at], poison, *lines[at:], b""]))
        beside = list(zip(texts(place, "id", format=format), texts(place, format=format), strict=True))
        assert [row for row in beside if row in alone] == alone
        assert len(beside) <= len(alone) + 2


@settings(max_examples=150, deadline=None)
@given(st.lists(st.binary(max_size=12), min_size=1, max_size=6), st.integers(0, 5))
def test_any_bytes_in_a_line_stay_in_it(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], at: int
) -> None:
    place = tmp_path_factory.mktemp("lines") / "x.csv"
    lines = [each.replace(b"\n", b"").replace(b"\r", b"") for each in lines]

    def rows(lines: list[bytes]) -> list[tuple[str | None, ...]]:
        place.write_bytes(b"\n".join([b"id,x,y", *lines, b""]))
        found = read_cells(place, format=Csv(separator=",")).table
        return list(zip(*(column.to_pylist() for column in found.columns), strict=True))

    one_by_one = [row for line in lines for row in rows([line])]
    assert rows(lines) == one_by_one
    without = [*lines[:at], *lines[at + 1 :]]
    assert rows(without) == [row for line in without for row in rows([line])]


def test_separator_and_names_follow_from_the_first_line_alone(tmp_path: Path) -> None:
    place = tmp_path / "x.csv"
    place.write_text("id;x\n1;a\n" + "1,2,3\n" * 300)
    assert texts(place) == ["a", *[None] * 300]
    assert read_cells(place).only_records().table.num_rows == 1
    place.write_text("id,x\n")
    assert texts(place) == []
    place.write_text("1,a\n2,b\n")
    with refused(InputError, "follow", "a record"):
        read_cells(place, format=Csv(header=False))
    assert texts(place, format=Csv(header=False, columns=("id", "x"))) == ["a", "b"]


@pytest.mark.parametrize(
    "text", ["1,200", "1.2.3", "0x1f", "１２", "1 000", "nan", "--1", "1e", "٣", "1e99999", "NaN", "+"]
)
def test_what_is_no_number(text: str) -> None:
    assert number_of(text) is None


@settings(max_examples=300, deadline=None)
@given(
    st.text(max_size=8) | st.from_regex(r"[+-]?[0-9.,e ]{0,12}"),
    st.sampled_from([Marks(), Marks(","), Marks(",", ".")]),
)
def test_numbers_are_read_by_python_and_forms_stay_what_they_are(text: str, marks: Marks) -> None:
    found = number_of(text, marks)
    if found is not None:
        float(found), Decimal(found)
    form = plain_form(text, marks)
    assert plain_form(form) == form
