"""A table seen from outside: classes, histograms and suppressed rows, against plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
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
from veil.published.table import Published
from veil.tables import read
from veil.tables.columns import encode_columns, encode_values
from veil.tables.rows import Rows

VALUES: list[list[Any]] = [
    ["a", "b", "*", None],
    [1, 2, None],
    [0.5, -1.0, float("nan"), None],
    [True, False, None],
    [["x"], ["x", "y"], [], [None], None],
]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Draw a table of quasi-identifiers and a sensitive column of any kind, in one chunk or more."""
    rows = draw(st.integers(0, 25))
    columns = {}
    for name in ["s", "r", "q", "p"][: draw(st.integers(2, 4))][::-1]:
        values = draw(st.sampled_from(VALUES if name == "s" else VALUES[:4]))
        cells = draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))
        kind = pa.array(values).type
        column = pa.array(cells, kind)
        if pa.types.is_string(kind):
            column = column.cast(draw(st.sampled_from([pa.string(), pa.large_string(), pa.string_view()])))
            if column.type == pa.string() and draw(st.booleans()):
                column = column.dictionary_encode()
        cut = draw(st.integers(0, rows))
        columns[name] = pa.chunked_array([column[:cut], column[cut:]])
    return pa.table(columns)


def comparable(cell: Any) -> Any:
    """Lists as tuples, and one not-a-number that equals itself."""
    if isinstance(cell, list):
        return tuple(cell)
    return "NaN" if isinstance(cell, float) and cell != cell else cell


def rows_of(table: pa.Table, names: list[str]) -> list[tuple[Any, ...]]:
    columns = [[comparable(cell) for cell in table[name].to_pylist()] for name in names]
    return list(zip(*columns, strict=True))


@settings(max_examples=300, deadline=None)
@given(tables(), st.booleans())
def test_classes_and_histograms_are_what_counting_finds(table: pa.Table, untouched: bool) -> None:
    names = table.column_names[:-1]
    published = Published(Rows.of(table), names, suppressed="none" if untouched else "by cells")
    records, whole = rows_of(table, names), rows_of(table, table.column_names)
    texts = [pa.types.is_dictionary(t) or "string" in str(t)[:12] for t in table.schema.types]
    # A further column without any value may have become one of text in a file.
    texts[-1] &= table["s"].null_count < table.num_rows
    blank = tuple("*" if text else None for text in texts)
    kept = [row for row in range(table.num_rows) if untouched or whole[row] != blank]
    assert published.suppressed_records == table.num_rows - len(kept)
    assert np.flatnonzero(~published.suppressed).tolist() == kept

    sizes = Counter(records[row] for row in kept)  # in order of first appearance
    numbers = {record: i for i, record in enumerate(sizes)}
    assert published.sizes.tolist() == list(sizes.values())
    assert published.classes.tolist() == [numbers[records[row]] for row in kept]
    assert rows_of(published.labels, names) == list(sizes)

    secrets = rows_of(table, ["s"])
    expected = Counter((numbers[records[row]], secrets[row][0]) for row in kept)
    number, value, count = published.histograms("s")
    found = {
        (i, comparable(v)): n
        for i, v, n in zip(number.tolist(), value.to_pylist(), count.tolist(), strict=True)
    }
    assert found == expected
    assert len(number) == len(expected)
    assert (np.diff(number) >= 0).all()
    assert published.histograms("s")[0] is number


def test_zero_columns_are_one_class() -> None:
    assert Published(Rows.of(pa.table({"s": ["a", "b"]})), []).sizes.tolist() == [2]
    assert Published(Rows.of(pa.table({"s": pa.array([], pa.string())})), []).sizes.tolist() == []


def test_many_columns_with_many_values_do_not_overflow() -> None:
    """Records that differ in the first of eight columns only, of 4096 values each."""
    values = np.arange(4096)
    names = [f"c{j}" for j in range(8)]
    table = pa.table({name: np.concatenate([values, values]) for name in names})
    assert set(Published(Rows.of(table), names).sizes.tolist()) == {2}
    shifted = table.set_column(0, "c0", pa.array(np.concatenate([values, np.roll(values, 1)])))
    assert set(Published(Rows.of(shifted), names).sizes.tolist()) == {1}


def test_results_are_shared_and_therefore_read_only() -> None:
    published = Published(Rows.of(pa.table({"q": ["a"], "s": ["b"]})), ["q"])
    number, _, count = published.histograms("s")
    for array in (published.sizes, number, count):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7


def test_long_columns_are_encoded_on_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [pa.chunked_array([["b", "a"], ["b"]]), pa.chunked_array([[1, 2, None]])]
    alone = encode_columns(columns)
    monkeypatch.setattr("veil.tables.columns._LONG", 1)
    for (values, codes), (others, other_codes) in zip(alone, encode_columns(columns), strict=True):
        assert values.equals(others)
        assert codes.tolist() == other_codes.tolist()


# --- suppressed rows ------------------------------------------------------------------------------


def suppressed(columns: dict[str, Any], **options: Any) -> list[bool]:
    names = [name for name in columns if name != "suppressed"]
    return Published(Rows.of(pa.table(columns)), names, **options).suppressed.tolist()


def test_a_suppressed_row_shows_nothing_anywhere() -> None:
    ages = pa.array([1, None, None, None])
    assert suppressed({"age": ages, "zip": ["*", "1", "*", None]}) == [False, False, True, False]
    assert suppressed({"zip": ["*", "**", None]}) == [True, False, False]
    assert suppressed({"zip": ["*", "-", None]}, marker="-") == [False, True, False]
    assert suppressed({"zip": ["*", "-", None]}, marker=None) == [False, False, True]
    assert suppressed({"zip": ["*"]}, suppressed="none") == [False]
    categories = pa.array(["*", "x", None]).dictionary_encode()
    assert suppressed({"zip": categories}) == [True, False, False]


def test_a_row_with_blank_quasi_identifiers_that_shows_something_is_in_a_class() -> None:
    table = pa.table({"zip": ["*", "*", "*", "1"], "disease": ["HIV", "*", None, "flu"]})
    published = Published(Rows.of(table), ["zip"])
    assert published.suppressed.tolist() == [False, True, False, False]
    assert published.sizes.tolist() == [2, 1]


def test_of_people_everything_may_be_missing() -> None:
    """Whoever knows which rows were suppressed says so."""
    table = pa.table({"age": pa.array([None, None, 30], pa.int64())})
    assert Published(Rows.of(table), ["age"]).suppressed.tolist() == [True, True, False]
    published = Published(Rows.of(table), ["age"], suppressed=np.array([True, False, True]))
    assert published.suppressed.tolist() == [True, False, False]
    assert published.sizes.tolist() == [1, 1]


def test_a_flag_must_be_borne_out_by_the_cells() -> None:
    """Else a table could call every row suppressed, show all values, and pass."""
    told = {"age": ["*", "*", "20"], "suppressed": [True, False, True]}
    assert suppressed(told, flag="suppressed") == [True, False, False]


def test_a_flag_column_that_is_none_is_refused() -> None:
    for cells, what in (([True, None], "missing values"), (["yes", "no"], "values of type string")):
        with refused(InputError, "'suppressed'", what, "rename"):
            suppressed({"age": ["*", "*"], "suppressed": cells}, flag="suppressed")


# --- any frame ------------------------------------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_kind_of_frame_looks_the_same(frame: Callable[..., Any]) -> None:
    columns = {
        "age": [21, 21, None, 35, None],
        "zip": ["1", "1", "*", None, "*"],
        "s": ["a", "b", "*", None, "c"],
    }
    published = Published(Rows.of(read(frame(columns)).table), ["age", "zip"])
    assert published.suppressed.tolist() == [False, False, True, False, False]
    assert published.sizes.tolist() == [2, 1, 1]
    assert published.histograms("s")[1].to_pylist() == ["a", "b", None, "c"]


def test_categories_with_different_codes_are_the_same_values() -> None:
    first, second = (pa.array(cells).dictionary_encode() for cells in (["a", "b"], ["b", "a", None]))
    values, codes = encode_values(pa.chunked_array([first, second]))
    assert values.to_pylist() == ["a", "b", None]
    assert codes.tolist() == [0, 1, 1, 0, 2]


def test_lists_that_hide_items_behind_missing_values() -> None:
    """Arrow may keep items of a missing list, and of rows that were sliced away."""
    items, offsets = pa.array(["a", "b", "c", "a", "d"]), pa.array([0, 1, 3, 4, 5], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, items, mask=pa.array([False, True, False, False]))
    values, codes = encode_values(pa.chunked_array([lists]))
    assert (values.to_pylist(), codes.tolist()) == ([["a"], None, ["d"]], [0, 1, 0, 2])
    values, codes = encode_values(pa.chunked_array([lists[2:], lists[:1]]))
    assert (values.to_pylist(), codes.tolist()) == ([["a"], ["d"]], [0, 1, 0])
