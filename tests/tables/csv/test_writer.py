from __future__ import annotations

import csv
import datetime as dt
import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.tables import awkward_texts
from veil.errors import OutputError
from veil.tables import Csv, read, write
from veil.tables.csv.writer import BlankWarning


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)


def written(folder: Path, table: pa.Table, format: Csv | None = None) -> str:
    write(table, folder / "t.csv", format=format)
    return (folder / "t.csv").read_bytes().decode((format and format.encoding) or "utf-8")


def test_only_what_needs_quotes_gets_them(tmp_path: Path) -> None:
    table = pa.table(
        {
            "a,b": ["x", 'say "hi"', "two\nlines", "1,2", " spaced ", "", None],
            "n": [1, None, 3, 4, 5, 6, 7],
        }
    )
    assert written(tmp_path, table) == (
        '"a,b",n\nx,1\n"say ""hi""",\n"two\nlines",3\n"1,2",4\n spaced ,5\n"",6\n,7\n'
    )


def test_every_type_is_spelled_as_it_is_read(tmp_path: Path) -> None:
    table = pa.table(
        {
            "decimal": [Decimal("1.50"), Decimal("0.00")],
            "tiny": [Decimal("0.00000001"), None],
            "float": [1.5, 1e-7],
            "date": [dt.date(2020, 1, 31), None],
            "moment": pa.array([0, 1], pa.timestamp("s")),
            "zoned": pa.array([0, None], pa.timestamp("s", "Europe/Berlin")),
            "bool": [True, None],
            "category": pa.array(["x", None]).dictionary_encode(),
            "nothing": pa.nulls(2),
        }
    )
    lines = written(tmp_path, table).splitlines()
    assert lines[1] == "1.50,0.00000001,1.5,2020-01-31,1970-01-01T00:00:00,1970-01-01T01:00:00+01:00,true,x,"
    assert lines[2] == "0.00,,1e-7,,1970-01-01T00:00:01,,,,"


def test_own_dialects(tmp_path: Path) -> None:
    table = pa.table({"a": ["x;y", "NA", None, "it's"], "b": [1.5, None, 2.0, 3.0]})
    format = Csv(";", quote="'", missing=("NA", ""), decimal=",", encoding="utf-16")
    assert written(tmp_path, table, format) == "a;b\n'x;y';1,5\n'NA';\n;2\n'it''s';3\n"
    assert written(tmp_path, table, Csv(",", missing=("NA",))) == 'a,b\n"x;y",1.5\n"NA",NA\nNA,2\nit\'s,3\n'
    assert written(tmp_path, table, Csv("|", header=False)) == '"x;y"|1.5\nNA|\n|2\nit\'s|3\n'
    assert written(tmp_path, table, Csv(";", quote=None, escape="\\")) == "a;b\nx\\;y;1.5\nNA;\n;2\nit's;3\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        ("a;b\n1;x\n", "utf-8"),
        ("a\tb\n1\té\n", "latin-1"),
        ("\ufeffa|b\n1|é\n", "utf-8"),
        ('a;b\n2020-01-31 12:00:00;"x;y"\n', "utf-16"),
        ("a,b\n1.50,02139\n2.25,00001\n", "utf-8"),
        ('a,b,c\n,"",1\ntrue,x,\n', "utf-8"),
    ],
)
def test_a_file_written_in_its_own_dialect_is_the_same_file(
    tmp_path: Path, content: str, encoding: str
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content.encode(encoding))
    source = read(path, format=Csv(encoding="latin-1" if encoding == "latin-1" else None))
    write(source.restore(source.table), tmp_path / "out.csv", format=source.format)
    assert (tmp_path / "out.csv").read_bytes() == path.read_bytes()


def test_what_a_format_cannot_hold(tmp_path: Path) -> None:
    for table, format, reason in [
        (pa.table({"x": ["日本"]}), Csv(encoding="latin-1"), "'日本' cannot be written in ISO8859-1"),
        (pa.table({"x": ["a,b"]}), Csv(",", quote=None), "column 'x' holds 'a,b', which needs quotes"),
        (pa.table({"x": ["a\0b"]}), Csv(), "column 'x' holds a NUL character"),
        (pa.table({"x": [[1]]}), Csv(), "column 'x' has type list"),
    ]:
        with pytest.raises(OutputError) as caught:
            write(table, tmp_path / "t.csv", format=format)
        assert reason in str(caught.value)
        assert not list(tmp_path.iterdir())


KINDS: dict[str, tuple[pa.DataType, st.SearchStrategy[Any]]] = {
    "string": (
        pa.string(),
        awkward_texts() | st.sampled_from(["02139", "1", "NA", "", "true"]),
    ),
    "integer": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "decimal": (pa.decimal128(38, 3), st.decimals(-(10**9), 10**9, places=3)),
    "float": (pa.float64(), st.floats(allow_nan=False)),
    "date": (pa.date32(), st.dates()),
    "timestamp": (pa.timestamp("us"), st.datetimes(dt.datetime(1678, 1, 1), dt.datetime(2262, 1, 1))),
    "boolean": (pa.bool_(), st.booleans()),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, dict[str, Any]]:
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4))
    rows = draw(st.integers(1, 6))
    names = draw(
        st.lists(awkward_texts(min_size=1, max_size=4), min_size=len(kinds), max_size=len(kinds), unique=True)
    )
    columns = {}
    for name, kind in zip(names, kinds, strict=True):
        type, values = KINDS[kind]
        columns[name] = pa.array(draw(st.lists(values | st.none(), min_size=rows, max_size=rows)), type)
    return pa.table(columns), dict(zip(names, kinds, strict=True))


DIALECTS = st.builds(
    Csv,
    separator=st.sampled_from(",;\t|"),
    quote=st.sampled_from("\"'"),
    escape=st.sampled_from([None, "\\"]),
    missing=st.sampled_from([("",), ("NA",), ("", "NA")]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    decimal=st.sampled_from(".,"),
    time_separator=st.sampled_from("T "),
)


@settings(
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(tables(), DIALECTS)
def test_what_is_written_reads_back_as_the_same_table(
    tmp_path: Path, case: tuple[pa.Table, dict[str, Any]], dialect: Csv
) -> None:
    table, types = case
    path = tmp_path / "t.csv"
    write(table, path, format=dialect)
    again = read(path, format=_with_types(dialect, types)).table
    assert again.column_names == table.column_names
    for name in table.column_names:
        # A decimal column that reads back has as many places as its values need.
        assert again[name].cast(table[name].type).equals(table[name]), name


def _with_types(dialect: Csv, types: dict[str, Any]) -> Csv:
    return Csv(
        dialect.separator,
        dialect.encoding,
        dialect.quote,
        dialect.escape,
        missing=dialect.missing,
        types=types,
        decimal=dialect.decimal,
    )


NUMBERLIKE = st.from_regex(r"\A[+-]?[0-9]{0,4}([.,][0-9]{0,3})?(e[+-]?[0-9]{1,2})?\Z") | st.sampled_from(
    ["", "0", "-0", "007", "1.50", "true", "True", "NA", "2020-01-31", "2020-02-30", "2020-01-31 12:00:00"]
)


@settings(
    max_examples=200,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(st.lists(NUMBERLIKE, min_size=1, max_size=5))
def test_detected_types_never_change_a_value(tmp_path: Path, fields: list[str]) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x;y\n" + "".join(f"{field};-\n" for field in fields))
    source = read(path)
    found = source.table["x"]
    write(source.table, tmp_path / "again.csv", format=source.format)
    lines = (tmp_path / "again.csv").read_text().splitlines()[1:]
    again = [first for first, _ in csv.reader(lines, delimiter=";")]
    if again == fields:
        return
    # Trailing zeros, and the notation of floats, are all that may differ.
    assert pa.types.is_floating(found.type) or pa.types.is_decimal(found.type)
    assert [Decimal(text or "0") for text in again] == [Decimal(text or "0") for text in fields]
    assert found.null_count == fields.count("")


@pytest.mark.parametrize("sign", ["|", ";", "\t", ","])
@pytest.mark.parametrize("columns", [1, 2])
def test_what_could_be_taken_for_the_separator_is_quoted(tmp_path: Path, sign: str, columns: int) -> None:
    table = pa.table({f"c{number}": [sign, f"a{sign}b"] for number in range(columns)})
    write(table, tmp_path / "t.csv")
    assert read(tmp_path / "t.csv").table.equals(table)


def test_many_rows_survive_the_chunks(tmp_path: Path) -> None:
    numbers = pa.array(range(200_000))
    table = pa.table(
        {"n": numbers, "t": pc.cast(numbers, pa.string()), "q": pa.array(['a"b', None] * 100_000)}
    )
    table = pa.concat_tables([table.slice(0, 70_001), table.slice(70_001)])
    write(table, tmp_path / "t.csv")
    again = read(tmp_path / "t.csv", format=Csv(types={"t": "string"})).table
    assert again.equals(table)


def test_empty_texts_beside_missing_values_are_told(tmp_path: Path) -> None:
    """Two values for Veil, one for most programs that read the file."""
    with pytest.warns(BlankWarning, match="'note'.*empty"):
        write(pa.table({"note": ["", None, "a"]}), tmp_path / "both.csv")
    write(pa.table({"note": ["", "a"]}), tmp_path / "empty.csv")
    write(pa.table({"note": [None, "a"]}), tmp_path / "missing.csv")
