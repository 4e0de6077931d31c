from __future__ import annotations

import datetime as dt
import os
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.refusals import refused
from support.tables import Constructor, values
from veil.errors import InputError
from veil.tables import Csv, read

PATIENTS: dict[str, list[Any]] = {
    "name": ["Ann", "Bob", None, ""],
    "age": [34, 45, 27, 61],
    "weight": [61.5, None, 80.0, 72.25],
    "cost": [Decimal("1.50"), Decimal("20.00"), None, Decimal("3.10")],
    "born": [dt.date(1990, 1, 31), None, dt.date(1997, 5, 5), dt.date(1963, 12, 1)],
    "seen": [dt.datetime(2024, 1, 1, 8), dt.datetime(2024, 1, 2, 9, 30), None, dt.datetime(2024, 1, 3)],
    "smoker": [True, False, True, False],
}


def test_what_goes_in_comes_out(constructor: Constructor) -> None:
    frame = constructor(PATIENTS)
    source = read(frame)
    released = source.restore(source.table)
    assert type(released) is type(frame)
    assert values(released) == PATIENTS
    if isinstance(frame, pd.DataFrame):
        assert (released.dtypes == frame.dtypes).all()
    else:
        assert released.schema == frame.schema


def test_inside_every_library_gives_the_same_table(constructor: Constructor) -> None:
    table = read(constructor(PATIENTS)).table
    assert table.to_pydict() == PATIENTS
    assert table.schema.field("name").type == pa.string()
    assert table.schema.field("age").type == pa.int64()
    assert pa.types.is_decimal(table.schema.field("cost").type)
    assert table.schema.field("born").type == pa.date32()
    assert pa.types.is_timestamp(table.schema.field("seen").type)
    assert table.schema.field("smoker").type == pa.bool_()
    assert table.schema.metadata is None


def test_dropped_rows_and_changed_columns(constructor: Constructor) -> None:
    source = read(constructor(PATIENTS))
    rows = np.array([0, 3])
    table = source.table.select(["age", "name", "smoker"]).take(pa.array(rows))
    table = table.set_column(0, "age", pa.array(["30-39", "60-69"]))
    table = table.set_column(2, "smoker", pa.array([None, False]))
    released = source.restore(table, rows)
    assert values(released) == {"age": ["30-39", "60-69"], "name": ["Ann", ""], "smoker": [None, False]}


def test_suppressed_integers_stay_integers(constructor: Constructor) -> None:
    source = read(constructor({"age": [34, 45], "name": ["a", "b"]}))
    table = source.table.set_column(0, "age", pa.array([None, 45], pa.int64()))
    released = source.restore(table)
    assert values(released) == {"age": [None, 45], "name": ["a", "b"]}
    assert type(values(released)["age"][1]) is int
    assert (
        "int"
        in str(released["age"].dtype if hasattr(released["age"], "dtype") else released["age"].type).lower()
    )


def test_not_a_number_is_a_missing_value(constructor: Constructor) -> None:
    source = read(constructor({"weight": [61.5, float("nan")]}))
    assert source.table.to_pydict() == {"weight": [61.5, None]}


def test_a_column_of_nothing_is_text(constructor: Constructor) -> None:
    frame = constructor({"note": [None, None], "age": [1, 2]})
    source = read(frame)
    assert source.table.schema.field("note").type == pa.string()
    assert values(source.restore(source.table)) == {"note": [None, None], "age": [1, 2]}


def test_a_new_column_may_be_added(constructor: Constructor) -> None:
    source = read(constructor({"age": [34, 45]}))
    table = source.table.append_column("suppressed", pa.array([False, True]))
    assert values(source.restore(table)) == {"age": [34, 45], "suppressed": [False, True]}


def test_restoring_needs_to_know_which_rows_are_left(constructor: Constructor) -> None:
    source = read(constructor({"age": [34, 45]}))
    with pytest.raises(ValueError, match="`rows`.* 1 rows .* 2"):
        source.restore(source.table.slice(0, 1))
    with pytest.raises(ValueError, match="1 rows .* 2"):
        source.restore(source.table.slice(0, 1), np.array([0, 1]))


def test_no_rows_or_no_columns(constructor: Constructor) -> None:
    with refused(InputError, "no rows"):
        read(constructor({"age": []}))
    with refused(InputError, "no columns"):
        read(constructor({}))


def test_one_row_is_a_table(constructor: Constructor) -> None:
    assert read(constructor({"age": [34]})).table.num_rows == 1


def test_format_is_for_files(constructor: Constructor) -> None:
    with refused(InputError, "`format`", "files"):
        read(constructor({"age": [34]}), format=Csv())


def test_categories_that_nobody_is_left_in_are_gone() -> None:
    table = pa.table({"ill": pa.array(["flu", "plague"]).dictionary_encode()})
    for frame in (table, table.to_pandas(), pl.DataFrame(table)):
        source = read(frame)
        released = source.restore(source.table.slice(0, 1), np.array([0]))
        column = pa.table(released)["ill"].chunk(0)
        assert column.dictionary.to_pylist() == ["flu"]


class TestPandas:
    def test_an_index_is_no_column_and_does_not_come_back(self) -> None:
        frame = pd.DataFrame({"age": [1, 2, 3]}, index=pd.Index(["x", "y", "y"], name="id"))
        source = read(frame)
        assert source.table.column_names == ["age"]
        pd.testing.assert_frame_equal(source.restore(source.table), frame.reset_index(drop=True))
        released = source.restore(source.table.take(pa.array([2, 0])), np.array([2, 0]))
        pd.testing.assert_frame_equal(released, pd.DataFrame({"age": [3, 1]}))
        with refused(InputError, "index ('id')", "df.reset_index(drop=True)"):
            source.check_index()

    @pytest.mark.parametrize("index", [pd.RangeIndex(2, 5), pd.Index([0, 1, 3]), pd.RangeIndex(0, 6, 2)])
    def test_an_index_with_gaps_is_refused(self, index: Any) -> None:
        with refused(InputError, "rows are missing"):
            read(pd.DataFrame({"age": [1, 2, 3]}, index=index)).check_index()
        read(pd.DataFrame({"age": [1, 2, 3]})).check_index()

    def test_attributes_and_objects_of_the_frame_stay_behind(self) -> None:
        class Name(str):
            secret = "Ada"

        frame = pd.DataFrame({Name("x"): pd.Series([Name("a"), "b"], dtype=object)})
        frame.attrs["owner"], frame.columns.name = "Ada", "Ada"
        source = read(frame)
        released = source.restore(source.table)
        assert (released.attrs, released.columns.name) == ({}, None)
        assert {type(each) for each in [*released["x"], *released.columns]} == {str}

    @pytest.mark.parametrize(
        "column",
        [
            pd.array([1, None, 3], dtype="Int32"),
            pd.array([1, 2, 3], dtype="UInt8"),
            pd.array([True, None, False], dtype="boolean"),
            pd.array([0.5, None, 1], dtype="Float64"),
            pd.array(["a", None, ""], dtype="string"),
            np.array([1, 2, 3], dtype=np.int8),
            np.array([1, 2, 3], dtype=np.float32),
            np.array(["a", None, "b"], dtype=object),
            np.array([Decimal("1.5"), Decimal("2.25"), None], dtype=object),
            np.array([dt.date(2020, 1, 1), None, dt.date(2020, 1, 2)], dtype=object),
            pd.Categorical(["a", None, "b"]),
            pd.Categorical([3, 1, 3], categories=[1, 2, 3], ordered=True),
            pd.to_datetime(["2020-01-01", None, "2020-01-02 10:00"], format="mixed").array,
            pd.to_datetime(["2020-01-01", "2020-06-01", "2021-01-01"]).tz_localize("Europe/Berlin").array,
            pd.timedelta_range("1h", periods=3).array,
            pd.period_range("2020-01", periods=3, freq="M").array,
        ],
        ids=lambda column: f"{column.dtype}-{type(column[0]).__name__}",
    )
    def test_unchanged_columns_keep_their_dtype(self, column: Any) -> None:
        frame = pd.DataFrame({"x": pd.Series(column, dtype=column.dtype)})
        source = read(frame)
        for rows in (np.arange(3), np.array([2, 0])):
            released = source.restore(source.table.take(pa.array(rows)), rows)
            expected = frame.iloc[rows].reset_index(drop=True)
            if isinstance(column, pd.Categorical):
                expected = expected.assign(x=expected["x"].cat.remove_unused_categories())
            pd.testing.assert_frame_equal(released, expected)

    @pytest.mark.parametrize(
        ("column", "dtype"),
        [
            (pd.array([1, 2], dtype="Int32"), "Int32"),
            (pd.array([True, False], dtype="boolean"), "boolean"),
            (pd.array([True, False], dtype=bool), "boolean"),
            (np.array([1, 2], dtype=np.int16), "Int16"),
            (np.array([1.5, 2.5]), "float64"),
            (np.array(["a", "b"], dtype=object), "object"),
            (pd.array(["a", "b"], dtype="string"), "string"),
            (pd.array([1, 2], dtype=pd.ArrowDtype(pa.int64())), "int64[pyarrow]"),
            (pd.to_datetime(["2020-01-01", "2020-01-02"]).as_unit("us").array, "datetime64[us]"),
            (pd.to_datetime(["2020-01-01", "2020-01-02"]).as_unit("ns").array, "datetime64[ns]"),
        ],
        ids=lambda value: str(getattr(value, "dtype", "")),
    )
    def test_suppressed_columns_keep_their_dtype_or_the_nearest(self, column: Any, dtype: str) -> None:
        source = read(pd.DataFrame({"x": pd.Series(column, dtype=column.dtype)}))
        kind = source.table.schema.field("x").type
        table = pa.table({"x": pa.array([None, source.table["x"][1].as_py()], kind)})
        released = source.restore(table)
        assert str(released["x"].dtype) == dtype
        assert released["x"].isna().tolist() == [True, False]

    def test_names_that_are_not_text_come_back_as_they_were(self) -> None:
        frame = pd.DataFrame([[1, 2, 3]], columns=[0, 2.5, "zip"])
        source = read(frame)
        assert source.table.column_names == ["0", "2.5", "zip"]
        table = source.table.set_column(0, "0", pa.array(["*"])).append_column("new", pa.array([1]))
        assert list(source.restore(table).columns) == [0, 2.5, "zip", "new"]
        assert list(source.restore(source.table).columns) == [0, 2.5, "zip"]

    def test_names_that_collide_as_text(self) -> None:
        with refused(InputError, "more than one", "'1'"):
            read(pd.DataFrame([[1, 2]], columns=[1, "1"]))

    def test_names_of_several_levels(self) -> None:
        frame = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")]))
        with pytest.raises(InputError, match="several levels"):
            read(frame)

    def test_duplicate_names(self) -> None:
        with refused(InputError, "more than one", "'age', 'zip'"):
            read(pd.DataFrame([[1, 2, 3, 4]], columns=["zip", "age", "age", "zip"]))

    def test_mixed_types_are_named_with_their_rows(self) -> None:
        frame = pd.DataFrame({"ok": [1, 2, 3], "code": pd.Series([None, 7, "x"], dtype=object)})
        with refused(InputError, "'code'", "int", "row 2", "str", "row 3"):
            read(frame)

    def test_unusable_values_are_named(self) -> None:
        with refused(InputError, "'z'", "cannot be used"):
            read(pd.DataFrame({"z": pd.Series([1 + 2j], dtype=object)}))

    def test_the_frame_that_came_in_is_never_touched(self) -> None:
        frame = pd.DataFrame({"age": [1, 2]})
        source = read(frame)
        released = source.restore(source.table)
        released.loc[0, "age"] = 99
        released.columns = ["x"]
        assert frame.to_dict("list") == {"age": [1, 2]}


class TestPolars:
    @pytest.mark.parametrize(
        "series",
        [
            pl.Series(["a", None, "b"], dtype=pl.Categorical),
            pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a"])),
            pl.Series([1, None, 3], dtype=pl.UInt8),
            pl.Series([1.5, 2.5, None], dtype=pl.Float32),
            pl.Series([dt.time(1), None, dt.time(2)]),
            pl.Series([[1], None, [2, 3]]),
            pl.Series([dt.datetime(2020, 1, 1)] * 3, dtype=pl.Datetime("ms", "Europe/Berlin")),
            pl.Series([None, None, None]),
        ],
        ids=lambda series: str(series.dtype),
    )
    def test_unchanged_columns_keep_their_dtype(self, series: pl.Series) -> None:
        frame = pl.DataFrame({"x": series, "other": [1, 2, 3]})
        source = read(frame)
        rows = np.array([2, 1])
        released = source.restore(source.table.take(pa.array(rows)), rows)["x"]
        assert released.to_list() == series.gather([2, 1]).to_list()
        if not isinstance(series.dtype, pl.Enum):
            assert released.dtype == series.dtype
        whole = source.restore(source.table.set_column(1, "other", pa.array(["*"] * 3)))["x"]
        assert whole.equals(series)
        assert whole.dtype == series.dtype

    def test_values_that_nobody_has_leave_an_enumeration(self) -> None:
        series = pl.Series(["a", None, "b"], dtype=pl.Enum(["b", "a", "c"]))
        source = read(pl.DataFrame({"x": series}))
        assert source.restore(source.table)["x"].dtype == pl.Enum(["b", "a"])

    def test_what_is_one_value_comes_back_as_one(self) -> None:
        source = read(pl.DataFrame({"x": [1.5, float("nan"), None, 0.0, -0.0]}))
        released = source.restore(source.table)["x"].to_list()
        assert released[1:3] == [None, None]
        assert str(released[3:]) == "[0.0, 0.0]"

    def test_a_lazy_frame_comes_back_lazy(self) -> None:
        source = read(pl.LazyFrame({"age": [1, 2]}))
        released = source.restore(source.table)
        assert isinstance(released, pl.LazyFrame)
        assert released.collect().to_dict(as_series=False) == {"age": [1, 2]}

    def test_python_objects_are_refused_by_name(self) -> None:
        with refused(InputError, "'x'", "Object"):
            read(pl.DataFrame({"x": pl.Series([object()], dtype=pl.Object)}))
        with refused(InputError, "'x'", "Int128"):
            read(pl.DataFrame({"x": pl.Series([1], dtype=pl.Int128)}))


class TestPyarrow:
    def test_types_of_unchanged_columns_and_no_metadata(self) -> None:
        schema = pa.schema(
            {"a": pa.string_view(), "b": pa.large_string(), "c": pa.dictionary(pa.int8(), pa.large_string())},
            metadata={"about": "patients"},
        )
        table = pa.table(
            [
                pa.array(["x", None], pa.string_view()),
                pa.array(["y", "z"], pa.large_string()),
                pa.array(["u", "v"], pa.large_string()).dictionary_encode().cast(schema.field("c").type),
            ],
            schema=schema,
        )
        source = read(table)
        assert source.table.schema.types == [pa.string(), pa.string(), pa.dictionary(pa.int8(), pa.string())]
        released = source.restore(source.table)
        assert released.schema == schema.remove_metadata()
        assert released.schema.metadata is None
        dropped = source.restore(source.table.slice(1), np.array([1]))
        assert dropped.schema == schema.remove_metadata()
        assert dropped.to_pydict() == {"a": [None], "b": ["z"], "c": ["v"]}

    def test_duplicate_names(self) -> None:
        with refused(InputError, "more than one", "'a'"):
            read(pa.table([[1], [2]], names=["a", "a"]))

    def test_whatever_speaks_the_stream_interface_is_read(self) -> None:
        class Relation:
            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                return pa.table({"age": [1]}).__arrow_c_stream__(requested_schema)

        source = read(Relation())
        assert (source.kind, source.table.to_pydict()) == ("pyarrow", {"age": [1]})


@pytest.mark.parametrize("thing", [[1, 2], {"age": [1]}, None, pl.Series([1]), pd.Series([1])])
def test_what_is_not_a_table(thing: object) -> None:
    with refused(InputError, f"a {type(thing).__name__} is", "not a table"):
        read(thing)


def python(code: str, *arguments: Path) -> str:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.strip()


def test_importing_loads_no_dataframe_library() -> None:
    loaded = "[name for name in ('pandas', 'polars', 'openpyxl') if name in sys.modules]"
    assert python(f"import sys, veil.tables; print({loaded})") == "[]"


def test_files_need_no_dataframe_library(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('age,cost,born,name\n1,1.50,2020-01-31,""\n,2.25,,Ann\n')
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pandas", "polars", "openpyxl", "narwhals"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from veil.tables import read, write
source = read(sys.argv[1])
write(source.restore(source.table), sys.argv[1], format=source.format)
"""
    before = path.read_text()
    python(code, path)
    assert path.read_text() == before
