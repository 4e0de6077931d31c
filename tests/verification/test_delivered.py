"""Faults planted where a frame is handed over: each is a channel by which something leaves that nobody has verified."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support import refusals
from veil import KAnonymity
from veil.api.release import Release
from veil.errors import VerificationError
from veil.masking import UnivariateMicroaggregation
from veil.outcome import aggregates
from veil.tables.source import Source
from veil.verification.delivered import check_frame, different_cells

SECRET = "Zwirbelingen"
ROWS = 10


class Named(str):
    """A text that carries more than its letters."""


def people() -> pa.Table:
    """Nine alike, and one who is rare and will be suppressed."""
    rare = ROWS - 1
    return pa.table(
        {
            "town": ["Ulm"] * rare + [SECRET],
            "age": [30] * rare + [77],
            "income": [10.0] * rare + [7777.125],
            "cost": [Decimal("1.50")] * rare + [Decimal("98.76")],
            "seen": [dt.datetime(2020, 1, 1)] * rare + [dt.datetime(1999, 9, 9)],
            "kind": pa.array(["a"] * rare + [SECRET]).dictionary_encode(),
            "what happened": ["nothing that is worth a word"] * rare + [f"nothing, says {SECRET}"],
        }
    )


KINDS: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "polars": pl.from_arrow,
    "polars, lazy": lambda table: pl.DataFrame(table).lazy(),
    "pandas": lambda table: table.to_pandas(),
    "pandas, objects": lambda table: table.to_pandas().astype(object),
    "pandas, nullable": lambda table: table.to_pandas().convert_dtypes(),
    "pandas, Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
}


def release_of(kind: str) -> Release:
    return veil.anonymize(
        KINDS[kind](people()),
        quasi_identifiers={"town": "identity", "age": "identity"},
        models=KAnonymity(3),
        suppression_limit=0.1,
        others="keep",
        order="input",
    )


def planted(monkeypatch: pytest.MonkeyPatch, fault: Callable[[Any], Any]) -> None:
    restore = Source.restore
    monkeypatch.setattr(Source, "restore", lambda *given, **how: fault(restore(*given, **how)))


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_fault_the_frame_is_handed_over(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    planted(monkeypatch, lambda frame: frame)
    release = release_of(kind)
    assert release.suppressed == 1
    assert type(release.table) is type(KINDS[kind](people()))


# --- pandas ---------------------------------------------------------------------------------------


def named_columns(frame: Any) -> Any:
    frame.columns.name = SECRET
    return frame


def with_attribute(frame: Any) -> Any:
    object.__setattr__(frame, "note", SECRET)
    return frame


def with_attrs(frame: Any) -> Any:
    frame.attrs["from"] = SECRET
    return frame


def objects(name: str, values: list[Any]) -> Callable[[Any], Any]:
    def put(frame: Any) -> Any:
        made = np.empty(ROWS, object)
        made[:] = values
        return frame.assign(**{name: pd.Series(made, dtype=object)})

    return put


def not_a_number_with_a_payload(frame: Any) -> Any:
    values = frame["income"].to_numpy(copy=True)
    values.view(np.uint64)[-1] += 77
    return frame.assign(income=values)


def part_of_a_larger_array(frame: Any) -> Any:
    cells = np.append(frame["income"].to_numpy(), 7777.125)
    # `assign` of pandas 2 copies what it gets.
    return pd.DataFrame({**frame, "income": pd.Series(cells[:ROWS], copy=False)}, copy=False)


def part_of_a_larger_column(frame: Any) -> Any:
    part = pa.array([*[30] * (ROWS - 1), None, 77])[:ROWS]
    return frame.assign(age=pd.arrays.ArrowExtensionArray(part))


def below_the_mask(frame: Any) -> Any:
    frame["age"].array._data[-1] = 77
    return frame


IN_PANDAS: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "an index": ("pandas", lambda frame: frame.set_index(pd.Index(list("abcdefghij"))), "an index"),
    "a name of the index": ("pandas", lambda frame: frame.rename_axis(SECRET), "an index"),
    "gaps in the index": ("pandas", lambda frame: frame.set_axis(pd.RangeIndex(0, 2 * ROWS, 2)), "an index"),
    "attrs": ("pandas", with_attrs, "attributes"),
    "flags": ("pandas", lambda frame: frame.set_flags(allows_duplicate_labels=False), "attributes"),
    "an attribute": ("pandas", with_attribute, "attributes of its own"),
    "a subclass": ("pandas", lambda frame: type("Mine", (pd.DataFrame,), {})(frame), "a Mine"),
    "a name of the columns": ("pandas", named_columns, "column labels"),
    "a label that is more": (
        "pandas",
        lambda f: f.set_axis(pd.Index([Named(c) for c in f], dtype=object), axis=1),
        "column labels",
    ),
    "another column": ("pandas", lambda frame: frame.assign(name=SECRET), "other columns"),
    "another cell": ("pandas", lambda frame: frame.assign(age=frame["age"].fillna(77)), "other cells"),
    "another order": ("pandas", lambda f: f.iloc[::-1].reset_index(drop=True), "other cells"),
    "unused categories": (
        "pandas",
        lambda frame: frame.assign(kind=frame["kind"].cat.add_categories([SECRET])),
        "categories that no cell has",
    ),
    "categories that are more": (
        "pandas",
        lambda f: f.assign(
            kind=pd.Categorical.from_codes([0] * 9 + [1], pd.Index([Named("a"), "*"], dtype=object))
        ),
        "categories that are more",
    ),
    "values below the mask": ("pandas, nullable", below_the_mask, "below blank cells"),
    "a part of a larger array": ("pandas", part_of_a_larger_array, "memory of other rows"),
    "not a number in two ways": ("pandas", not_a_number_with_a_payload, "missing values of two kinds"),
    "a text that is more": (
        "pandas, objects",
        objects("town", [*["Ulm"] * 8, Named("Ulm"), "*"]),
        "more than their value",
    ),
    "1 and 1.0": ("pandas, objects", objects("age", [30] * 8 + [30.0, None]), "several types"),
    "1 and a number of numpy": (
        "pandas, objects",
        objects("age", [30] * 8 + [np.int8(30), None]),
        "more than their value",
    ),
    "1.5 and 1.50": (
        "pandas, objects",
        objects("cost", [Decimal("1.50")] * 8 + [Decimal("1.5"), None]),
        "several spellings",
    ),
    "None and not a number": (
        "pandas, objects",
        lambda frame: objects("age", [*[30] * 8, None, float("nan")])(frame),
        "missing values of two kinds",
    ),
    "pieces of Arrow": (
        "pandas, Arrow",
        lambda f: f.assign(age=pd.concat([f["age"][:4], f["age"][4:]])),
        "pieces",
    ),
    "a part of Arrow": (
        "pandas, Arrow",
        part_of_a_larger_column,
        "memory of other rows",
    ),
}


@pytest.mark.parametrize("fault", IN_PANDAS)
def test_a_fault_in_pandas_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind, plant, channel = IN_PANDAS[fault]
    refused(monkeypatch, kind, plant, channel)


def test_a_part_of_a_larger_array_that_two_columns_share_is_caught() -> None:
    part = pd.Series(np.arange(2.0 * ROWS)[:ROWS], copy=False)
    verified = pa.table({"a": np.arange(1.0 * ROWS), "b": np.arange(1.0 * ROWS)})
    check_frame(pd.DataFrame({"a": part.copy(), "b": part.copy()}, copy=False), verified)
    with refusals.refused(VerificationError, "other rows"):
        check_frame(pd.DataFrame({"a": part, "b": part}, copy=False), verified)


# --- polars ---------------------------------------------------------------------------------------


IN_POLARS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "unused categories": (
        lambda f: f.with_columns(kind=f["kind"].cast(pl.String).cast(pl.Enum(["a", "*", SECRET]))),
        "categories that no cell has",
    ),
    "a part of a larger frame": (lambda frame: pl.concat([frame, frame], rechunk=True)[:ROWS], "other rows"),
    "a part of texts": (
        lambda f: f.with_columns(
            pl.Series("what happened", [SECRET * 3, *f["what happened"]]).slice(1).alias("what happened")
        ),
        "other rows",
    ),
    "texts that a filter left": (
        lambda f: f.with_columns(
            pl.Series("what happened", [SECRET * 3, *f["what happened"]])
            .filter([False, *[True] * ROWS])
            .alias("what happened")
        ),
        "other rows",
    ),
    "pieces": (lambda frame: pl.concat([frame[:4], frame[4:]], rechunk=False), "pieces"),
    "NaN beside null": (
        lambda f: f.with_columns(income=pl.Series([float("nan"), *[10.0] * 8, None])),
        "missing values of two kinds",
    ),
    "-0.0 beside 0.0": (
        lambda f: f.with_columns(income=pl.Series([-0.0, 0.0, *[10.0] * 8])),
        "zeros of two kinds",
    ),
    "another type": (lambda f: f.with_columns(age=f["age"].cast(pl.String)), "another type"),
    "another column": (lambda f: f.with_columns(name=pl.lit(SECRET)), "other columns"),
}


@pytest.mark.parametrize("fault", IN_POLARS)
def test_a_fault_in_polars_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(monkeypatch, "polars", *IN_POLARS[fault])


def test_a_fault_in_a_lazy_frame_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    plant = lambda frame: frame.with_columns(name=pl.lit(SECRET))  # noqa: E731
    refused(monkeypatch, "polars, lazy", plant, "other columns")


# --- pyarrow --------------------------------------------------------------------------------------


def put(frame: pa.Table, name: str, column: Any, **field: Any) -> pa.Table:
    return frame.set_column(frame.column_names.index(name), pa.field(name, column.type, **field), column)


def blanked(name: str) -> Callable[[Any], Any]:
    """Blank the last cell as Arrow does, which leaves the value below."""
    hidden = pa.array([False] * (ROWS - 1) + [True])
    return lambda frame: put(
        frame, name, pc.if_else(hidden, pa.scalar(None, people()[name].type), people()[name])
    )


def below_a_struct(frame: pa.Table) -> pa.Table:
    inner = pa.array([{"x": 1}] * 8 + [{"x": 77}] * 2)
    shown = pa.array([True] * 8 + [False] * 2)
    made = pa.StructArray.from_arrays(inner.flatten(), ["x"], mask=pc.invert(shown))
    return put(frame, "age", made)


IN_ARROW: dict[str, tuple[Callable[[Any], Any], str]] = {
    "metadata": (lambda frame: frame.replace_schema_metadata({"from": SECRET}), "metadata"),
    "metadata of a field": (lambda f: put(f, "age", f["age"], metadata={"from": SECRET}), "metadata"),
    "a part of a larger table": (lambda f: pa.concat_tables([f, f]).combine_chunks()[:ROWS], "other rows"),
    "the end of a larger table": (lambda f: pa.concat_tables([f, f]).combine_chunks()[ROWS:], "other rows"),
    "integers below": (blanked("age"), "below blank cells"),
    "floats below": (blanked("income"), "below blank cells"),
    "times below": (blanked("seen"), "below blank cells"),
    "cells of a struct below": (below_a_struct, "below blank cells"),
    "unused categories": (
        lambda f: put(
            f, "kind", pa.DictionaryArray.from_arrays(pa.array([0] * 9 + [1]), pa.array(["a", "*", SECRET]))
        ),
        "categories that no cell has",
    ),
    "pieces": (lambda frame: pa.concat_tables([frame[:4], frame[4:]]), "pieces"),
    "another cell": (lambda f: put(f, "town", pa.array(["Ulm"] * 9 + [SECRET])), "other cells"),
}


@pytest.mark.parametrize("fault", IN_ARROW)
def test_a_fault_in_pyarrow_is_caught(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    refused(monkeypatch, "pyarrow", *IN_ARROW[fault])


def test_what_is_no_frame_is_refused() -> None:
    with pytest.raises(VerificationError, match="a dict"):
        check_frame({"town": [SECRET]}, people())


def test_a_set_in_the_order_of_rows_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def publish() -> Any:
        return veil.anonymize(
            pa.table({"ward": ["a"] * 3, "age": [52, 20, 31]}),
            quasi_identifiers={"ward": "identity"},
            microaggregated={"age": "set"},
            models=KAnonymity(3),
        )

    assert publish().table["age"].to_pylist() == ["{20, 31, 52}"] * 3
    monkeypatch.setattr(aggregates, "_ranks", lambda values, name: np.arange(len(values)))
    with refusals.refused(VerificationError, "the set", "its class"):
        publish()


def test_a_mask_is_looked_at_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    release = veil.mask(people().to_pandas(), UnivariateMicroaggregation(["age"], 3))
    planted(monkeypatch, with_attrs)
    with pytest.raises(VerificationError, match="attributes"):
        release.table  # noqa: B018


def refused(monkeypatch: pytest.MonkeyPatch, kind: str, plant: Callable[[Any], Any], channel: str) -> None:
    release = release_of(kind)
    planted(monkeypatch, plant)
    with pytest.raises(VerificationError, match=channel) as caught:
        release.table  # noqa: B018
    for told in (SECRET, "77", "98.76", "1999"):
        assert told not in str(caught.value)


# --- cells that are compared by their categories ---------------------------------------------------


@st.composite
def categories(draw: st.DrawFn, size: int) -> pa.DictionaryArray:
    """A column in which a text may be listed twice, and missing cells be listed or not."""
    listed = draw(st.lists(st.sampled_from(["a", "b", "", None]), min_size=1, max_size=5))
    numbers = st.one_of(st.none(), st.integers(0, len(listed) - 1))
    indices = draw(st.lists(numbers, min_size=size, max_size=size))
    kind = draw(st.sampled_from([pa.int8(), pa.int32()]))
    return pa.DictionaryArray.from_arrays(pa.array(indices, kind), pa.array(listed, pa.string()))


@given(st.data())
def test_categories_are_the_same_if_their_cells_are(data: st.DataObject) -> None:
    size = data.draw(st.integers(0, 3))
    one, other = data.draw(categories(size)), data.draw(categories(size))
    same = one.to_pylist() == other.to_pylist()
    assert (different_cells(one, pa.chunked_array([other])) is None) == same
    # A slice is what a file is compared with, piece by piece.
    longer = pa.chunked_array([pa.concat_arrays([other.slice(0, 0), other, other])]).slice(size)
    assert (different_cells(one, longer) is None) == same
