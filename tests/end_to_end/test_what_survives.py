"""What surrounds the cells: metadata, attributes, categories, layout, properties of files. Only cells are passed on."""

from __future__ import annotations

import gzip
import pickle
import random
import time
import zipfile
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import veil
from veil import KAnonymity
from veil.cli.app import app
from veil.masking import Mondrian
from veil.recipe import Recipe
from veil.tables import Excel

SECRET = "Zwirbelingen"
PLAN: dict[str, Any] = {"quasi_identifiers": {"age": "identity"}, "models": KAnonymity(3), "others": "keep"}
ENDINGS = ("parquet", "feather", "csv", "csv.gz", "xlsx")


def anonymized(frame: Any, **changes: Any) -> Any:
    return veil.anonymize(frame, **PLAN | changes)


def masked(frame: Any) -> Any:
    return veil.mask(frame, Mondrian(["age"], KAnonymity(3)))


WAYS = {"anonymize": anonymized, "mask": masked}


def content(path: Path) -> bytes:
    """The bytes of a file, and what is packed in it."""
    raw = path.read_bytes()
    if path.suffix == ".xlsx":
        with zipfile.ZipFile(path) as parts:
            return raw + b"".join(map(parts.read, parts.namelist()))
    return raw + gzip.decompress(raw) if path.suffix == ".gz" else raw


# --- metadata and attributes --------------------------------------------------------------------------


def with_metadata() -> pa.Table:
    about = {"about": SECRET, "PARQUET:field_id": "7", "pandas": f'{{"index_columns": ["{SECRET}"]}}'}
    fields = [pa.field("age", pa.int64(), metadata=about), pa.field("ward", pa.string(), metadata=about)]
    return pa.table([[30] * 6, ["a"] * 6], schema=pa.schema(fields, metadata=about))


@pytest.mark.parametrize("way", WAYS)
def test_metadata_of_tables_and_columns_stays_behind(way: str, tmp_path: Path) -> None:
    table = with_metadata()
    assert SECRET in str(table.schema.metadata) + str(table.schema.field(0).metadata)
    release = WAYS[way](table)
    for schema in (release.table.schema, release.arrow.schema):
        assert schema.metadata is None
        assert all(field.metadata is None for field in schema)
    for ending in ENDINGS:
        release.save(tmp_path / f"out.{ending}")
        assert SECRET.encode() not in content(tmp_path / f"out.{ending}")
    pq.write_table(table, tmp_path / "control.parquet")
    assert SECRET.encode() in content(tmp_path / "control.parquet")


@pytest.mark.parametrize("way", WAYS)
def test_metadata_of_a_file_stays_behind(way: str, tmp_path: Path) -> None:
    pq.write_table(with_metadata(), tmp_path / "in.parquet")
    pyarrow.feather.write_feather(with_metadata(), tmp_path / "in.feather")
    for ending in ("parquet", "feather"):
        WAYS[way](tmp_path / f"in.{ending}").save(tmp_path / f"out.{ending}")
        assert SECRET.encode() in content(tmp_path / f"in.{ending}")
        assert SECRET.encode() not in content(tmp_path / f"out.{ending}")


class Label(str):
    """A name of a column that knows more than it shows."""


class Subclass(pd.DataFrame):
    """A frame that carries something with it."""

    _metadata = ["note"]  # noqa: RUF012

    @property
    def _constructor(self) -> Any:
        return Subclass


@pytest.mark.parametrize("way", WAYS)
def test_what_hangs_on_a_frame_of_pandas_stays_behind(way: str) -> None:
    age, ward = Label("age"), Label("ward")
    ward.note = SECRET  # type: ignore[attr-defined]
    frame = Subclass(
        {"age": [30] * 6, "ward": pd.Categorical(["a"] * 6, pd.Index(["a", SECRET], name=SECRET))}
    )
    frame.columns = pd.Index([age, ward], name=SECRET, dtype=object)
    frame.attrs["note"] = frame.note = SECRET
    frame["ward"].attrs["note"] = SECRET
    frame.index.name = None
    frame.flags.allows_duplicate_labels = False
    assert SECRET.encode() in pickle.dumps(frame.attrs)
    released = WAYS[way](frame).table
    assert type(released) is pd.DataFrame
    assert released.attrs == {}
    assert released.flags.allows_duplicate_labels
    assert released.columns.name is None
    assert [type(each) for each in released.columns] == [str, str]
    assert released["ward"].cat.categories.tolist() == ["a"]
    assert released["ward"].cat.categories.name is None
    assert SECRET.encode() not in pickle.dumps(released)


def test_labels_that_are_no_text_are_plain() -> None:
    frame = pd.DataFrame([[30, "a"]] * 6)
    assert anonymized(frame, quasi_identifiers={"0": "identity"}).table.columns.tolist() == [0, 1]
    frame.columns = pd.Index([pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")])
    plan = {"quasi_identifiers": {"2020-01-01 00:00:00": "identity"}}
    assert anonymized(frame, **plan).table.columns.equals(frame.columns)


# --- categories -----------------------------------------------------------------------------------------


def as_categories(kind: str, values: list[str], listed: list[str]) -> Any:
    if kind == "pyarrow":
        codes = pa.array([listed.index(each) for each in values], pa.int8())
        return pa.table({"age": [30] * len(values), "ward": pa.DictionaryArray.from_arrays(codes, listed)})
    if kind == "pandas":
        return pd.DataFrame({"age": [30] * len(values), "ward": pd.Categorical(values, listed)})
    if kind == "pandas, Arrow":
        return as_categories("pyarrow", values, listed).to_pandas(types_mapper=pd.ArrowDtype)
    dtype = pl.Enum(listed) if kind == "polars, Enum" else pl.Categorical
    return pl.DataFrame({"age": [30] * len(values), "ward": pl.Series(values, dtype=dtype)})


def categories_of(frame: Any) -> list[str]:
    if isinstance(frame, pd.DataFrame) and isinstance(frame["ward"].dtype, pd.CategoricalDtype):
        return list(frame["ward"].cat.categories)
    if isinstance(frame, pd.DataFrame):
        frame = pa.table({"ward": frame["ward"].array.__arrow_array__()})
    if isinstance(frame, pl.DataFrame):
        kind = frame["ward"].dtype
        if isinstance(kind, pl.Enum):
            return kind.categories.to_list()
        frame = frame.to_arrow()
    return list(frame["ward"].chunk(0).dictionary.to_pylist())


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "pandas, Arrow", "polars", "polars, Enum"])
@pytest.mark.parametrize("way", WAYS)
def test_categories_that_nobody_has_stay_behind(kind: str, way: str) -> None:
    values = ["a", "b", "c"] * 3
    frame = as_categories(kind, values, ["c", SECRET, "b", "a"])
    if kind != "polars":  # whose categories are those of its cells
        assert SECRET in categories_of(frame)
    assert sorted(categories_of(WAYS[way](frame).table)) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "pandas, Arrow"])
def test_the_order_of_categories_does_not_tell_the_order_of_rows(kind: str, tmp_path: Path) -> None:
    """Arrow lists categories as it meets them: the first one is that of the first row."""
    before, after = set(), set()
    for seed in range(5):
        values = random.Random(seed).sample(["a", "b", "c", "d"] * 2, 8)
        frame = as_categories(kind, values, list(dict.fromkeys(values)))
        release = anonymized(frame)
        release.save(tmp_path / f"{seed}.feather")
        written = pyarrow.feather.read_table(tmp_path / f"{seed}.feather")
        before.add(tuple(categories_of(frame)))
        after |= {tuple(categories_of(release.table)), tuple(categories_of(written))}
    assert len(before) > 1
    assert after == {("a", "b", "c", "d")}


@pytest.mark.parametrize("kind", ["pyarrow", "pandas", "pandas, Arrow", "polars", "polars, Enum"])
@pytest.mark.parametrize("rows", ["blank", "drop"])
@pytest.mark.parametrize("marker", ["*", None])
def test_the_category_of_a_suppressed_record_stays_behind(
    kind: str, rows: Any, marker: Any, tmp_path: Path
) -> None:
    table = as_categories(kind, ["b", "a", "b"] * 3 + [SECRET], [SECRET, "b", "a", "*"])
    ages = [30] * 9 + [103]
    if isinstance(table, pa.Table):
        table = table.set_column(0, "age", pa.array(ages))
    else:
        table = (
            table.assign(age=ages)
            if isinstance(table, pd.DataFrame)
            else table.with_columns(age=pl.Series(ages))
        )
    made = anonymized(table, suppression_limit=0.1, suppressed_rows=rows, marker=marker)
    assert made.suppressed == 1
    assert SECRET not in str(made.arrow["ward"].chunk(0).dictionary.to_pylist())
    blank = {marker} - {None} if rows == "blank" else set()
    assert set(made.arrow["ward"].chunk(0).dictionary.to_pylist()) == {"a", "b"} | blank
    if kind != "polars":
        assert set(categories_of(made.table)) == {"a", "b"} | blank
    made.save(tmp_path / "out.feather")
    assert SECRET.encode() not in content(tmp_path / "out.feather")


def test_nothing_stands_below_the_missing_structure_of_a_suppressed_record() -> None:
    table = pa.table({"age": [30] * 9 + [103], "place": [{"town": "Ulm"}] * 9 + [{"town": SECRET}]})
    made = anonymized(table, suppression_limit=0.1)
    assert made.suppressed == 1
    for each in (made.arrow, made.table):
        held = b"".join(part.to_pybytes() for part in each["place"].chunk(0).buffers() if part is not None)
        assert b"Ulm" in held
        assert SECRET.encode() not in held


def test_an_order_that_categories_were_given_stays() -> None:
    frame = pd.DataFrame(
        {"age": [30] * 4, "ward": pd.Categorical(["low", "high"] * 2, ["low", "mid", "high"], ordered=True)}
    )
    released = anonymized(frame).table["ward"].cat
    assert released.ordered
    assert released.categories.tolist() == ["low", "high"]


# --- layout ---------------------------------------------------------------------------------------------


def in_pieces() -> pa.Table:
    """A table that was put together from three hospitals."""
    parts = [pa.table({"age": [30] * n, "ward": ["a"] * n, "cost": [1.0] * n}) for n in (1, 4, 2)]
    return pa.concat_tables(parts)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("order", ["random", "input"])
def test_the_pieces_a_table_was_made_of_stay_behind(way: str, order: Any, tmp_path: Path) -> None:
    table = in_pieces()
    assert table["age"].num_chunks == 3
    polars = pl.concat([pl.DataFrame(table.slice(0, 3)), pl.DataFrame(table.slice(3))], rechunk=False)
    assert polars.n_chunks() == 2
    frames = [table, polars, table.to_pandas(types_mapper=pd.ArrowDtype)]
    for frame in frames:
        if way == "mask":
            release = veil.mask(frame, Mondrian(["age"], KAnonymity(3)), order=order)
        else:
            release = anonymized(frame, order=order)
        assert {column.num_chunks for column in release.arrow.columns} == {1}
        released = release.table
        if isinstance(released, pl.DataFrame):
            assert released.n_chunks() == 1
        elif isinstance(released, pd.DataFrame):
            assert {released[name].array.__arrow_array__().num_chunks for name in released} == {1}
        else:
            assert {column.num_chunks for column in released.columns} == {1}
    release.save(tmp_path / "out.feather")
    release.save(tmp_path / "out.parquet")
    with pa.ipc.open_file(tmp_path / "out.feather") as file:
        assert file.num_record_batches == 1
    assert pq.ParquetFile(tmp_path / "out.parquet").num_row_groups == 1


def test_a_table_that_is_written_has_no_pieces(tmp_path: Path) -> None:
    veil.tables.write(in_pieces(), tmp_path / "out.feather")
    with pa.ipc.open_file(tmp_path / "out.feather") as file:
        assert file.num_record_batches == 1
    pyarrow.feather.write_feather(in_pieces(), tmp_path / "control.feather")
    with pa.ipc.open_file(tmp_path / "control.feather") as file:
        assert file.num_record_batches == 3


def test_polars_is_not_told_what_was_sorted() -> None:
    frame = pl.DataFrame({"age": [30] * 6, "cost": [1, 2, 3, 4, 5, 6]}).sort("cost")
    assert frame["cost"].flags["SORTED_ASC"]
    released = anonymized(frame).table
    assert not any(any(released[name].flags.values()) for name in released.columns)


def test_runs_of_equal_cells_come_back_as_plain_cells() -> None:
    runs = pc.run_end_encode(pa.array(["a"] * 3 + ["b"] * 3))
    table = pa.table({"age": [30] * 6, "ward": runs})
    released = anonymized(table, order="input").table["ward"]
    assert released.type == pa.string()
    assert released.to_pylist() == runs.to_pylist()


# --- files ------------------------------------------------------------------------------------------------


def test_statistics_of_a_file_are_those_of_published_cells(tmp_path: Path) -> None:
    """Parquet keeps the least and the greatest value of each column, also of the pages."""
    table = pa.table({"age": [30] * 9 + [103], "ward": ["m"] * 9 + [SECRET], "cost": [5.0] * 9 + [-7777.125]})
    made = anonymized(table, suppression_limit=0.1)
    assert made.suppressed == 1
    made.save(tmp_path / "out.parquet")
    groups = pq.ParquetFile(tmp_path / "out.parquet").metadata
    for column in range(groups.num_columns):
        found = groups.row_group(0).column(column).statistics
        assert (found.min, found.max) in {(30, 30), ("*", "m"), (5.0, 5.0)}
    pq.write_table(table, tmp_path / "control.parquet")
    assert pq.ParquetFile(tmp_path / "control.parquet").metadata.row_group(0).column(0).statistics.max == 103


def test_a_workbook_says_nothing_of_its_making(tmp_path: Path) -> None:
    from openpyxl import Workbook, load_workbook
    from openpyxl.comments import Comment

    book = Workbook()
    for row in [["age", "ward"], *[[30, "a"]] * 6]:
        book.active.append(row)
    book.active["A2"].comment = Comment(SECRET, SECRET)
    book.create_sheet("Notes").sheet_state = "hidden"
    book.properties.creator = book.properties.title = book.properties.keywords = SECRET
    book.properties.lastModifiedBy = SECRET
    book.save(tmp_path / "in.xlsx")
    assert SECRET.encode() in content(tmp_path / "in.xlsx")
    made = veil.anonymize(tmp_path / "in.xlsx", format=Excel(sheet="Sheet"), **PLAN)
    made.save(tmp_path / "out.xlsx")
    assert SECRET.encode() not in content(tmp_path / "out.xlsx")
    written = load_workbook(tmp_path / "out.xlsx")
    assert written.sheetnames == ["Sheet1"]
    assert written.properties.modified.year == 1980
    with zipfile.ZipFile(tmp_path / "out.xlsx") as parts:
        assert {each.date_time[0] for each in parts.infolist()} == {1980}
        assert time.strftime("%Y").encode() not in parts.read("docProps/core.xml")


@pytest.mark.parametrize("way", ["anonymize", "mask", "local recoding", "recipe", "command line"])
@pytest.mark.parametrize("named", [True, False], ids=["sheet named", "sheet found"])
def test_the_sheet_of_a_release_is_not_called_as_that_of_the_input(
    way: str, named: bool, tmp_path: Path
) -> None:
    from openpyxl import Workbook, load_workbook

    book = Workbook()
    book.active.title = f"HIV {SECRET}"
    for row in [["age", "ward"], *[[30, "a"]] * 6]:
        book.active.append(row)
    source, target = tmp_path / "in.xlsx", tmp_path / "out.xlsx"
    book.save(source)
    format = Excel(sheet=book.active.title) if named else None
    if way == "mask":
        veil.mask(source, Mondrian(["age"], KAnonymity(3)), format=format).save(target)
    elif way == "recipe":
        sheet = {"sheet": book.active.title} if named else {}
        files = {"input": {"path": str(source), **sheet}, "output": str(target)}
        columns = {"quasi_identifiers": {"age": "identity"}, "insensitive": ["ward"]}
        step = {"kind": "Generalize", **columns, "models": [{"kind": "KAnonymity", "k": 3}]}
        veil.run(Recipe(**files, steps=[step]))
    elif way == "command line":
        which = ["--format", f"excel:{book.active.title}"] if named else []
        asked = ["--qi", "age=identity", "--insensitive", "ward", "--model", "k-anonymity:3", *which]
        found = CliRunner().invoke(app, ["anonymize", str(source), "--output", str(target), *asked])
        assert found.exit_code == 0, found.output
    else:
        made = veil.anonymize(source, format=format, **PLAN)
        (made.local_recoding() if way == "local recoding" else made).save(target)
    assert load_workbook(target).sheetnames == ["Sheet1"]
    assert SECRET.encode() not in content(target)


def test_a_packed_file_has_no_name_and_no_time(tmp_path: Path) -> None:
    anonymized(in_pieces()).save(tmp_path / f"{SECRET}.csv.gz")
    raw = (tmp_path / f"{SECRET}.csv.gz").read_bytes()
    assert raw[3] == 0  # flags: no name, no comment
    assert raw[4:8] == b"\0\0\0\0"
    with gzip.open(tmp_path / "control.csv.gz", "wb") as file:
        file.write(b"x")
    control = (tmp_path / "control.csv.gz").read_bytes()
    assert control[3] != 0
    assert control[4:8] != b"\0\0\0\0"
