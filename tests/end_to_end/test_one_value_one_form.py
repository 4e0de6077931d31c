"""What was counted as one value is delivered as one: whoever gets the frame or the file cannot tell its cells apart."""

from __future__ import annotations

import datetime as dt
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import veil
from support import refusals
from veil import KAnonymity
from veil.errors import InputError, NoSolutionError, OutputError
from veil.masking import Rounding
from veil.tables import Csv, read, write

VIENNA, UTC = dt.timezone(dt.timedelta(hours=1)), dt.UTC
NAN, ZEROS = float("nan"), [0.0, -0.0]


def forms(frame: Any, name: str = "x") -> set[Any]:
    """The different cells of a column, as a program can tell them apart that looks below equality."""
    if isinstance(frame, pd.DataFrame) and frame[name].dtype == object:
        return {(type(each), repr(each), *vars(each).items()) if hasattr(each, "__dict__") else (type(each), repr(each))
                for each in frame[name].tolist()}  # fmt: skip
    if isinstance(frame, pd.DataFrame):
        codes = frame[name].cat.codes if isinstance(frame[name].dtype, pd.CategoricalDtype) else frame[name]
        if isinstance(codes.dtype, pd.ArrowDtype):
            return forms(pa.table({name: codes.array.__arrow_array__()}), name)
        return {
            (repr(each), struct.pack("d", each) if isinstance(each, float) else b"")
            for each in codes.tolist()
        }
    table = frame.select(name).to_arrow() if isinstance(frame, pl.DataFrame) else frame.select([name])
    return {_stored(table.column(0), row) for row in range(table.num_rows)}


def _stored(column: pa.ChunkedArray, row: int) -> str:
    """One cell, as it stands in memory."""
    kind = column.type
    if pa.types.is_date64(kind):
        column = pa.chunked_array([chunk.view(pa.int64()) for chunk in column.chunks])
    if isinstance(kind, pa.BaseExtensionType):
        column = pa.chunked_array([chunk.storage for chunk in column.chunks])
    if pa.types.is_dictionary(kind):
        column = pa.chunked_array([chunk.indices for chunk in column.unify_dictionaries().chunks])
    return repr(column[row].as_py())  # in which 0.0 and -0.0 differ


class Name(str):
    """A text that knows more than it shows."""


def named(text: str, whose: str) -> Name:
    made = Name(text)
    made.whose = whose  # type: ignore[attr-defined]
    return made


def objects(*values: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=object)})


def arrow(array: pa.Array) -> pa.Table:
    return pa.table({"x": array})


DAY = dt.date(2020, 1, 31)
PLANTED: dict[str, Any] = {
    "numbers": objects(1, 1.0, np.int8(1), np.float32(1)),
    "decimals": objects(Decimal("1.5"), Decimal("1.50")),
    "decimals and whole numbers": objects(Decimal("1.0"), 1),
    "missing": objects(None, NAN, pd.NA, pd.NaT),
    "days": objects(DAY, dt.datetime(2020, 1, 31)),
    "midnights": objects(dt.datetime(2020, 1, 31), pd.Timestamp("2020-01-31"), DAY),
    "instants": objects(dt.datetime(2020, 1, 1, 1, tzinfo=VIENNA), dt.datetime(2020, 1, 1, tzinfo=UTC)),
    "texts": objects("Ulm", named("Ulm", "Anna"), np.str_("Ulm")),
    "zeros of objects": objects(*ZEROS),
    "zeros of pandas": pd.DataFrame({"x": ZEROS}),
    "short zeros of pandas": pd.DataFrame({"x": np.array(ZEROS, np.float16)}),
    "zeros of nullable pandas": pd.DataFrame({"x": pd.array(ZEROS, "Float64")}),
    "zeros of Arrow in pandas": pd.DataFrame({"x": pd.array(ZEROS, pd.ArrowDtype(pa.float64()))}),
    "zeros of polars": pl.DataFrame({"x": ZEROS}),
    "not a number of polars": pl.DataFrame({"x": [NAN, None]}),
    "zeros of pyarrow": arrow(pa.array(ZEROS)),
    "short zeros of pyarrow": arrow(pa.array(np.array(ZEROS, np.float16))),
    "not a number of pyarrow": arrow(pa.array([NAN, None])),
    "zeros as categories": arrow(pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(ZEROS))),
    "a category listed twice": arrow(pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(["a", "a"]))),
    "a missing category": arrow(pa.DictionaryArray.from_arrays(pa.array([0, None]), pa.array([None, "a"]))),
    "days with a time": arrow(pa.array([0, 5], pa.int64()).view(pa.date64())),
    "true in two ways": arrow(pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1, 2], pa.int8()))),
}  # fmt: skip
"""Columns whose every cell is the same value, in several forms."""

NESTED: dict[str, Any] = {
    "lists of pandas": objects([0.0, NAN], [-0.0, None]),
    "lists of polars": pl.DataFrame({"x": [[0.0, NAN], [-0.0, None]]}),
    "arrays of polars": pl.DataFrame({"x": pl.Series([[0.0], [-0.0]], dtype=pl.Array(pl.Float64, 1))}),
    "structures of polars": pl.DataFrame({"x": [{"a": 0.0}, {"a": -0.0}]}),
    "structures": arrow(pa.array([{"a": 0.0}, {"a": -0.0}])),
    "lists of structures": arrow(pa.array([[{"a": NAN}], [{"a": None}]])),
    "maps": arrow(pa.array([[("a", 0.0)], [("a", -0.0)]], pa.map_(pa.string(), pa.float64()))),
    "views of lists": arrow(pa.array([[0.0], [-0.0]], pa.list_view(pa.float64()))),
    "lists of one length": arrow(pa.array([[0.0], [-0.0]], pa.list_(pa.float64(), 1))),
}  # fmt: skip


def stacked(frame: Any, times: int) -> Any:
    if isinstance(frame, pd.DataFrame):
        return pd.concat([frame] * times, ignore_index=True)
    return (
        pl.concat([frame] * times) if isinstance(frame, pl.DataFrame) else pa.concat_tables([frame] * times)
    )


def with_group(frame: Any) -> Any:
    if isinstance(frame, pd.DataFrame):
        return frame.assign(ward="a")
    if isinstance(frame, pl.DataFrame):
        return frame.with_columns(ward=pl.lit("a"))
    return frame.append_column("ward", pa.array(["a"] * frame.num_rows))


WAYS: dict[str, Callable[[Any], Any]] = {
    "quasi-identifying": lambda frame: veil.anonymize(
        frame, quasi_identifiers={"x": "identity"}, models=KAnonymity(2), others="keep"
    ),
    "kept": lambda frame: veil.anonymize(
        frame, quasi_identifiers={"ward": "identity"}, models=KAnonymity(2), others="keep"
    ),
}


@pytest.mark.parametrize("role", WAYS)
@pytest.mark.parametrize("kind", PLANTED)
def test_equal_values_are_delivered_alike(kind: str, role: str) -> None:
    frame = with_group(PLANTED[kind])
    assert len(forms(frame)) > 1  # the control: they can be told apart before
    release = WAYS[role](frame)
    assert release.suppressed == 0
    assert len(forms(release.table)) == 1
    assert len(forms(release.arrow)) == 1


@pytest.mark.parametrize("kind", NESTED)
def test_equal_items_are_delivered_alike(kind: str) -> None:
    frame = with_group(NESTED[kind])
    assert len(forms(frame)) > 1
    release = WAYS["kept"](frame)
    assert len(forms(release.table)) == 1
    assert len(forms(release.arrow)) == 1


def test_rounding_does_not_tell_a_sign() -> None:
    table = pa.table({"x": [-0.4, 0.4]})
    made = veil.mask(table, Rounding("x", 1))
    assert len(forms(made.table)) == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, True], r"'x' mixes values of type int \(first in row 1\), bool \(first in row 2\)"),
        ([1.0, True], "'x' mixes values of type float"),
        ([Decimal("1.5"), 1.5], "'x' mixes values of type Decimal"),
        (["a", b"a"], "'x' mixes values of type str"),
        (["1", 1], "'x' mixes values of type str"),
        ([dt.time(1), 1], "'x' mixes values of type time"),
        (
            [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, tzinfo=UTC)],
            "'x' mixes times that have a time zone",
        ),
        ([DAY, dt.datetime(2020, 1, 1, tzinfo=UTC)], "'x' mixes times that have a time zone"),
        ([{1, 2}, {2, 1}], "'x' holds sets"),
        ([{"a": 1}, {"b": 2}], "'x' holds dictionaries"),
    ],
)
def test_what_has_no_common_form_is_refused(values: list[Any], message: str) -> None:
    for frame in (objects(*values), *_as_categories(values)):
        with pytest.raises(InputError, match=message):
            read(frame)


def _as_categories(values: list[Any]) -> list[pd.DataFrame]:
    try:
        return [pd.DataFrame({"x": pd.Categorical([values[0]], pd.Index(values, dtype=object))})]
    except (TypeError, ValueError):  # pandas refuses it: equal, or not hashable
        return []


CELLS = st.sampled_from(
    [1, 1.0, np.int8(1), True, 0, 0.0, -0.0, Decimal("1.5"), Decimal("1.50"), Decimal(1), 1.5, "1", "1.5", Name("1"),
     b"1", None, NAN, pd.NA, pd.NaT, DAY, dt.datetime(2020, 1, 31), pd.Timestamp("2020-01-31"),
     dt.datetime(2020, 1, 31, tzinfo=UTC), dt.datetime(2020, 1, 31, 1, tzinfo=VIENNA), dt.time(1), dt.timedelta(1),
     pd.Timedelta(days=1), np.timedelta64(1, "D"), np.datetime64("2020-01-31"), uuid.UUID(int=5)]
)  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(CELLS, min_size=1, max_size=4))
@example([1, 1.0])
@example([np.datetime64("2020-01-31"), DAY])
def test_any_mixture_is_made_one_or_refused(values: list[Any]) -> None:
    """The slow twin counts forms; what Veil counts are values."""
    frame = objects(*values)
    try:
        source = read(frame)
    except InputError as error:
        refused = str(error)
    else:
        refused = None
    if refused is not None:
        assert "'x'" in refused
        return
    counted = len(pc.unique(source.table["x"]))
    assert len(forms(source.restore(source.table))) == counted
    assert counted <= len(forms(frame))


# --- empty text beside missing ----------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz"])
def test_empty_and_missing_are_two_values_and_are_written_apart(ending: str, tmp_path: Path) -> None:
    table = pa.table({"x": ["", "", None, None, "a", "a"]})
    made = WAYS["quasi-identifying"](table)
    made.save(tmp_path / f"out.{ending}")
    assert sorted(map(repr, read(tmp_path / f"out.{ending}").table["x"].to_pylist())) == sorted(
        map(repr, table["x"].to_pylist())
    )
    with pytest.raises(NoSolutionError):  # the control: counted as two
        WAYS["quasi-identifying"](pa.table({"x": ["", None, "a", "a"]}))


def test_spellings_of_a_missing_value_are_one_and_are_written_as_one(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,ward\nNA,a\n?,a\n,a\nu,a\nu,a\n")
    source = read(tmp_path / "in.csv", format=Csv(missing=["", "NA", "?"]))
    write(source.table, tmp_path / "out.csv", format=source.format)
    assert (tmp_path / "out.csv").read_text() == "x,ward\n,a\n,a\n,a\nu,a\nu,a\n"


@pytest.mark.parametrize(("text", "format"), [("", Csv(quote=None)), ("NA", Csv(quote=None, missing=["NA"]))])
def test_a_file_that_cannot_tell_them_apart_is_refused(text: str, format: Csv, tmp_path: Path) -> None:
    with refusals.refused(OutputError, "'x'", f"'{text}'", "missing values"):
        write(pa.table({"x": [text, None]}), tmp_path / "out.csv", format=format)
    write(pa.table({"x": [text, "b"]}), tmp_path / "out.csv", format=format)


def test_texts_that_look_alike_are_values_of_their_own() -> None:
    """Blanks at the end and ways to encode an accent are not made one: they count as two, and stay two."""
    table = pa.table({"x": ["Müller", "Mu\u0308ller", "Ulm", "Ulm "]})
    with pytest.raises(NoSolutionError):
        WAYS["quasi-identifying"](table)
    twice = WAYS["quasi-identifying"](pa.concat_tables([table, table]))
    assert set(twice.arrow["x"].to_pylist()) == set(table["x"].to_pylist())
