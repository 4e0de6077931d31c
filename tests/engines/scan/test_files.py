"""Files and folders through DuckDB: the same values as in memory."""

from __future__ import annotations

import csv
import gzip
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.engines import Relation, relation_of
from veil.engines.dialects import collect
from veil.errors import InputError
from veil.tables import Csv, Excel, read


def opened(path: str | Path, **options: Any) -> Relation:
    relation = relation_of(path, engine="duckdb", **options)
    assert relation is not None
    return relation


def seen(relation: Relation) -> dict[str, pa.Array]:
    """Every column as Veil sees it through the engine: the distinct values, which are all that is asked for."""
    table = relation.table
    return {
        name: relation.arrow_view(name, collect(relation.backend, table.select(name).distinct())[name])
        for name in table.columns
    }


def same_as_in_memory(path: Path, format: Csv) -> None:
    expected = read(path, format=format).table
    found = seen(opened(path, format=format))
    assert list(found) == expected.column_names
    for name, values in found.items():
        column = expected[name].combine_chunks()
        assert values.type == column.type, name
        # A value may have been spelled in several ways, so distinct values can come twice.
        assert _distinct(values) == _distinct(column), name


def _distinct(values: pa.Array) -> set[Any]:
    return set(pc.unique(values).to_pylist())


# Cells that look alike and are not, and that tempt a reader to lose something.
_CELLS = st.sampled_from(
    [
        "", "", "NA", "02139", "2139", "0", "-0", "1", "39", "1.5", "1.50", "2.25", "1e5", "1.5e-07", "+5", "true", "false",
        "True", "2020-01-31", "2020-02-30", "2020-01-31 10:00:00", "2020-01-31T10:00:00", "x,y", "x;y", 'say "hi"',
        "two\nlines", " padded ", "é", "日本", "'", "#", "9223372036854775808", "0.1234567890123456789", "a\tb",
    ]
)  # fmt: skip


_COLUMNS = st.one_of(
    st.lists(_CELLS, min_size=1, max_size=6),
    st.lists(st.integers(-5, 120).map(str) | st.just(""), min_size=1, max_size=6),
    st.lists(st.decimals(-5, 5, places=2).map(str) | st.just(""), min_size=1, max_size=6),
    st.lists(st.dates().map(str), min_size=1, max_size=6),
    st.lists(st.datetimes().map(lambda each: each.isoformat(" ", "seconds")), min_size=1, max_size=6),
    st.lists(st.datetimes().map(lambda each: each.isoformat("T", "seconds")), min_size=1, max_size=6),
)


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, str, Csv]:
    """Bytes of a CSV file, its ending, and what is said about it."""
    separator = draw(st.sampled_from([",", ";", "\t", "|"]))
    width = draw(st.integers(1, 4))
    columns = [draw(_COLUMNS) for _ in range(width)]
    rows = [[column[row % len(column)] for column in columns] for row in range(max(map(len, columns)))]
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, quoting=quoting, lineterminator=end)
    header = draw(st.booleans())
    titles = draw(st.lists(st.sampled_from(["", "Ward 3", "a, b; c", 'a "quote', '"x"']), max_size=2))
    text.write("".join(title + end for title in titles))
    if header:
        writer.writerow([f"column {number}" for number in range(width)])
    for row in rows:
        # Written by hand where the csv module would quote an empty field that is the only one.
        writer.writerow(row) if row != [""] or quoting != csv.QUOTE_MINIMAL else text.write(end)
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16"]))
    data = text.getvalue().encode(encoding)
    packed = draw(st.booleans())
    format = Csv(
        separator=draw(st.sampled_from([None, separator])) if width > 1 else separator,
        header=header,
        missing=draw(st.sampled_from([("",), ("", "NA"), ("NA",), ()])),
        decimal=draw(st.sampled_from([".", "."])),
        skip=len(titles),
    )
    return gzip.compress(data) if packed else data, ".csv.gz" if packed else ".csv", format


@settings(max_examples=60, deadline=None)
@given(files())
def test_an_engine_sees_a_csv_file_as_memory_does(file: tuple[bytes, str, Csv]) -> None:
    data, ending, format = file
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"table{ending}")
        path.write_bytes(data)
        try:
            read(path, format=format)
        except InputError:
            # What memory refuses, an engine may refuse as well, but never reads as something else.
            return
        if len(read(path, format=format).table.column_names) == 1 and "" not in format.missing:
            with refused(InputError, "only one column", "DuckDB"):
                opened(path, format=format)
        else:
            same_as_in_memory(path, format)


@pytest.mark.parametrize(
    ("text", "format"),
    [
        ("a,b\n1,\n2,\"\"\n", Csv()),
        ("\n\na,b\n1,2\n", Csv()),
        ('"a\nb",c\n"x\ny",2\n', Csv()),
        ("a,b\n\n1,2\n\n3,4\n", Csv()),
        ("a\n1\n\n2\n", Csv()),
        ("a,,c\n1,2,3\n", Csv()),
        ("a;b\n1,5;2\n2,25;3\n", Csv(decimal=",")),
        ("a,b\n007,x\n8,y\n", Csv(types={"a": "integer"})),
        ("a,b\n1,x\n", Csv(columns=("It's", 'a "name"'))),
        ("1,x\n2,y\n", Csv(header=False)),
        ('a,b\n"1,x\n', Csv(quote=None)),
        ("a|b\n'x|y'|1\n", Csv(quote="'")),
        ("from,until\n2020-01-01T00:00:00,2020-01-01 00:00:00\n", Csv()),
        ("from,until\n2020-01-01T00:00:00,2020-01-01 00:00:00\n", Csv(time_separator=" ")),
        ("a,b\r1,2\r3,4\r", Csv()),
        ("A title\n\na,b\n1,2\n", Csv(skip=2)),
        ("A \"title\n1\n\n2\n", Csv(header=False, skip=1)),
    ],
)  # fmt: skip
def test_dialects(text: str, format: Csv, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(text, newline="")
    same_as_in_memory(tmp_path / "table.csv", format)


def test_encodings(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    text = "name,age\nJosé,30\n"
    for encoding, format in [
        ("utf-8", Csv()),
        ("utf-8-sig", Csv()),
        ("utf-16", Csv()),
        ("utf-16-le", Csv(encoding="utf-16-le")),
        ("latin-1", Csv(encoding="latin-1")),
    ]:
        path.write_bytes(text.encode(encoding))
        same_as_in_memory(path, format)
    for encoding, format in [
        ("cp1252", Csv(encoding="cp1252")),
        ("utf-16-be", Csv(encoding="utf-16-be")),
        ("utf-32", Csv()),
    ]:
        path.write_bytes(text.encode(encoding))
        with refused(InputError, "DuckDB", "Latin-1", "UTF-16"):
            opened(path, format=format)
    path.write_bytes("\ufeffname\nJosé\n".encode("utf-16-be"))
    with pytest.raises(InputError, match="little-endian UTF-16"):
        opened(path)
    path.write_bytes(text.encode("latin-1"))
    with refused(InputError, "line 2", "not UTF-8"):
        opened(path)


def test_a_long_file_in_utf_16_is_sampled_between_characters(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    for shift in ("", "x"):
        path.write_text(f"name{shift}\n" + "日本\n" * 180_000, encoding="utf-16")
        assert set(seen(opened(path))[f"name{shift}"].to_pylist()) == {"日本"}
        path.write_text(f"name{shift}\n" + "\U0001f600\n" * 180_000, encoding="utf-16")
        with refused(InputError, "characters", "this encoding"):
            opened(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\nsecret,4,5\n", "line 3: 3 fields, where 2 are expected"),
        ('a,b\n1,2\nsecret,"5\n', "line 3: a quote is opened and never closed"),
        ('a,b\n1,2\nsecret,"5"x\n', "line 3: a quote is opened and never closed, or text follows it"),
        ("a,b\r\n1,2\r\nsecret,5\n", "perhaps the lines end in different ways"),
        ("a,b\n1,2\nsecret\0,5\n", "a NUL byte at offset"),
        ('a,b\n1, "2"\n', "line 2: a space before a quote"),
        ("a,A\n1,2\n", "columns 'a' and 'A' differ only in case, which DuckDB cannot tell apart"),
        ("a,a\n1,2\n", "more than one column is named 'a'"),
        ("a,b\n", "has no rows"),
        ("", "the file is empty"),
    ],
)
def test_files_at_fault(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text(text, newline="")
    with pytest.raises(InputError, match=message) as raised:
        seen(opened(tmp_path / "table.csv"))
    assert "table.csv" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_a_fault_far_behind_is_found_while_reading(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("a,b\n" + "1,2\n" * 300_000 + "secret,1,2\n")
    with refused(InputError, "line 300002", "3 fields", "where 2") as raised:
        opened(path)
    assert "secret" not in str(raised.value)


def test_an_escape_character_is_for_memory(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("a,b\n1,2\n")
    with refused(InputError, "escape character"):
        opened(tmp_path / "table.csv", format=Csv(escape="\\"))


def test_a_value_that_is_not_of_the_type_asked_for(tmp_path: Path) -> None:
    (tmp_path / "table.csv").write_text("age\n30\nforty\n")
    with refused(InputError, "table.csv", "'age'", "'forty'", "integer"):
        opened(tmp_path / "table.csv", format=Csv(types={"age": "integer"}))
    with refused(InputError, "`types`", "'agee'", "not exist"):
        opened(tmp_path / "table.csv", format=Csv(types={"agee": "integer"}))


def test_a_broken_gzip_file(tmp_path: Path) -> None:
    (tmp_path / "table.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n")[:-6])
    with refused(InputError, "gzip file"):
        opened(tmp_path / "table.csv.gz")


def test_a_folder_of_parquet_files(tmp_path: Path) -> None:
    for number in range(3):
        pq.write_table(pa.table({"age": [number, None]}), tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".part.crc").write_text("x")
    for source in (tmp_path, str(tmp_path / "*.parquet"), str(tmp_path / "**" / "part-?.parquet")):
        relation = relation_of(source)
        assert relation is not None
        assert len(relation.scan.files) == 3
        found = collect(relation.backend, relation.table)["age"].to_pylist()
        assert sorted(each for each in found if each is not None) == [0, 1, 2]
        assert found.count(None) == 3
    with refused(InputError, "no file matches"):
        relation_of(str(tmp_path / "*.csv"))


def test_a_file_that_comes_later_is_no_part_of_the_table(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a.parquet")
    relation = relation_of(tmp_path)
    assert relation is not None
    pq.write_table(pa.table({"age": [2]}), tmp_path / "b.parquet")
    assert collect(relation.backend, relation.table).num_rows == 1


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_columns_in_the_names_of_folders_keep_their_zeros(ending: str, tmp_path: Path) -> None:
    table = pa.table(
        {"zip": ["02139", "02139", "10001", None], "year": [2019, 2020, 2020, 2020], "age": [1, 2, 3, 4]}
    )
    pyarrow.dataset.write_dataset(
        table, tmp_path, format=ending, partitioning=["zip", "year"], partitioning_flavor="hive"
    )
    relation = relation_of(tmp_path)
    assert relation is not None
    found = seen(relation)
    assert found["zip"].type == pa.string()
    assert _distinct(found["zip"]) == {"02139", "10001", None}
    assert found["year"].type == pa.int64()
    assert _distinct(found["year"]) == {2019, 2020}
    assert found["age"].type == pa.int64()


def test_a_folder_above_the_table_spells_no_column(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run=5"
    folder.mkdir()
    pq.write_table(pa.table({"age": [1]}), folder / "a.parquet")
    for source in (folder, folder / "a.parquet", folder / "*.parquet", "*.parquet", "."):
        monkeypatch.chdir(folder)
        relation = opened(source)
        monkeypatch.chdir(tmp_path)
        assert collect(relation.backend, relation.table).to_pydict() == {"age": [1]}


def test_names_with_wildcards_stand_for_themselves(tmp_path: Path) -> None:
    for name, age in (("a[1].parquet", 1), ("a1.parquet", 2), ("b*.parquet", 3), ("bb.parquet", 4)):
        pq.write_table(pa.table({"age": [age]}), tmp_path / name)
    for name, age in (("a[1].parquet", 1), ("b*.parquet", 3)):
        relation = opened(tmp_path / name)
        assert collect(relation.backend, relation.table)["age"].to_pylist() == [age]


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    def folder(name: str, **files: Callable[[Path], Any]) -> Path:
        made = tmp_path / name
        for file, write in files.items():
            path = made / file.replace("__", "/").replace("_eq_", "=").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path)
        return made

    def parquet(**columns: list[Any]) -> Callable[[Path], Any]:
        return lambda path: pq.write_table(pa.table(columns), path)

    def text(content: str) -> Callable[[Path], Any]:
        return lambda path: path.write_text(content)

    for made, message in [
        (folder("types", a_dot_parquet=parquet(x=[1]), b_dot_parquet=parquet(x=[1.5])), "b.parquet: column 'x' is DOUBLE"),
        (folder("columns", a_dot_parquet=parquet(x=[1]), b_dot_parquet=parquet(y=[1])), "column 'x' is absent, but in"),
        (folder("case", a_dot_parquet=parquet(x=[1], X=[2])), "'x' and 'X' differ only in case"),
        (folder("mixed", a_dot_parquet=parquet(x=[1]), b_dot_csv=text("x\n1\n")), "the files have different formats"),
        (folder("headers", a_dot_csv=text("x,y\n1,2\n"), b_dot_csv=text("y,x\n1,2\n")), "has the columns 'y', 'x', but"),
        (folder("blank", a_dot_csv=text("x,y\n1,2\n"), b_dot_csv=text("\nx,y\n1,2\n")), "different blank lines at its start"),
        (folder("empty"), "no such file|contains no files"),
        (folder("unknown", a_dot_dat=text("x")), "the file format is unclear"),
        (folder("deep", y_eq_1__a_dot_parquet=parquet(x=[1]), z_eq_1__a_dot_parquet=parquet(x=[1])), "encode the same columns"),
        (folder("damaged", a_dot_parquet=text("PAR1 and no more")), "not a readable Parquet file"),
    ]:  # fmt: skip
        made.mkdir(exist_ok=True)
        with pytest.raises(InputError, match=message):
            relation_of(made)


def test_what_only_memory_reads(tmp_path: Path) -> None:
    with refused(InputError, "Excel", "into memory"):
        opened(tmp_path / "t.xlsx", format=Excel())
    with refused(InputError, "no such file"):
        opened(tmp_path / "t.parquet")
