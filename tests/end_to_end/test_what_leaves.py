"""What a person receives: frames and files, byte by byte. Nothing of a suppressed record stands below its blank cells."""

from __future__ import annotations

import datetime as dt
import io
import pickle
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.feather
import pytest

import veil
from support import refusals
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.errors import InputError, OutputError, VerificationError
from veil.masking import (
    MDAV,
    LocalSuppression,
    Mondrian,
    UnivariateMicroaggregation,
)
from veil.recoding import SinglePass

RARE: dict[str, Any] = {
    "age": 0x77665544,
    "born": dt.date(1901, 7, 7),
    "income": 7777.125,
    "cost": Decimal("98765.43"),
    "town": "Zwirbelingen",
    "seen": dt.datetime(1999, 9, 9, 9, 9, 9),
}
USUAL: dict[str, Any] = {
    "age": 30,
    "born": dt.date(1980, 1, 1),
    "income": 10.0,
    "cost": Decimal("1.00"),
    "town": "Ulm",
    "seen": dt.datetime(2020, 1, 1),
}
BYTES = {
    "age": np.int64(RARE["age"]).tobytes(),
    "born": np.int32((RARE["born"] - dt.date(1970, 1, 1)).days).tobytes(),
    "income": np.float64(RARE["income"]).tobytes(),
    "cost": (9876543).to_bytes(16, "little")[:8],
    "town": b"Zwirbelingen",
    "seen": np.int64((RARE["seen"] - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)).tobytes(),
}
"""How the rare values stand in memory."""


def people() -> pa.Table:
    """Nine alike, and one who is rare in every respect."""
    return pa.table({name: [USUAL[name]] * 9 + [RARE[name]] for name in RARE} | {"ward": ["a"] * 10})


def table_of(kind: str) -> Any:
    table = people()
    if kind == "pandas":
        return table.to_pandas()
    if kind == "pandas, nullable":
        return table.to_pandas().convert_dtypes()
    if kind == "pandas, Arrow":
        return table.to_pandas(types_mapper=pd.ArrowDtype)
    return pl.DataFrame(table) if kind == "polars" else table


def plan(**changes: Any) -> dict[str, Any]:
    given = {
        "quasi_identifiers": dict.fromkeys(RARE, "identity"),
        "models": KAnonymity(3),
        "suppression_limit": 0.1,
        "others": "keep",
    }
    return given | changes


WAYS: dict[str, Callable[[Any], Release]] = {
    "one transformation": lambda table: veil.anonymize(table, **plan()),
    "without a marker": lambda table: veil.anonymize(table, **plan(marker=None)),
    "dropped": lambda table: veil.anonymize(table, **plan(suppressed_rows="drop")),
    "local recoding": lambda table: veil.anonymize(table, **plan()).local_recoding(SinglePass()),
    "single cells": lambda table: veil.mask(table, LocalSuppression([*RARE], k=3)),
}
KINDS = ("pyarrow", "polars", "pandas", "pandas, nullable", "pandas, Arrow")


def bytes_of(frame: Any) -> bytes:
    """Whatever a frame holds, and what its library writes of it."""
    written = io.BytesIO()
    if isinstance(frame, pl.DataFrame):
        frame.write_ipc(written)
        return written.getvalue() + _buffers(frame.to_arrow())
    if isinstance(frame, pd.DataFrame):
        frame.to_feather(written)
        held = b"".join(
            part.tobytes()
            for name in frame.columns
            for part in (
                getattr(frame[name].array, "_data", None),
                getattr(frame[name].array, "_ndarray", None),
            )
            if isinstance(part, np.ndarray) and part.dtype != object
        )
        return written.getvalue() + pickle.dumps(frame) + held
    pyarrow.feather.write_feather(frame, written, compression="uncompressed")
    return written.getvalue() + _buffers(frame)


def _buffers(table: pa.Table) -> bytes:
    chunks = [chunk for column in table.columns for chunk in column.chunks]
    return b"".join(each.to_pybytes() for chunk in chunks for each in chunk.buffers() if each is not None)


def found_in(content: bytes) -> list[str]:
    return [name for name, each in BYTES.items() if each in content]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_no_suppressed_value_is_in_the_memory_of_the_frame(kind: str, way: str) -> None:
    release = WAYS[way](table_of(kind))
    assert found_in(bytes_of(release.table)) == []


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ending", ["feather", "parquet", "csv", "xlsx"])
def test_no_suppressed_value_is_in_the_file(ending: str, way: str, tmp_path: Path) -> None:
    path = tmp_path / f"release.{ending}"
    if (ending, way) == ("xlsx", "without a marker"):
        with refusals.refused(OutputError, "row are missing"):
            WAYS[way](people()).save(path)
        return
    WAYS[way](people()).save(path)
    assert found_in(path.read_bytes()) == []


RARE_TEXT = "Zwirbelingen an der Knatter"
FURTHER: dict[str, tuple[pa.Array, bytes]] = {
    "short floats": (pa.array(np.array([1] * 6 + [777], np.float16)), b""),
    "unsigned": (pa.array([1] * 6 + [0xDEADBEEFCAFEBABE], pa.uint64()), (0xDEADBEEFCAFEBABE).to_bytes(8, "little")),
    "times": (pa.array([1] * 6 + [77777777777], pa.time64("us")), (77777777777).to_bytes(8, "little")),
    "durations": (pa.array([1] * 6 + [0xDEADBEEFCAFE], pa.duration("ns")), (0xDEADBEEFCAFE).to_bytes(6, "little")),
    "long decimals": (pa.array([Decimal(1)] * 6 + [Decimal(0xDEADBEEFCAFEBABE)], pa.decimal256(60)), (0xDEADBEEFCAFEBABE).to_bytes(8, "little")),
    **{
        name: (pa.array([usual] * 6 + [rare], kind), RARE_TEXT.encode())
        for name, usual, rare, kind in [
            ("bytes", b"a", RARE_TEXT.encode(), pa.binary()),
            ("bytes of one length", b"a" * 27, RARE_TEXT.encode(), pa.binary(27)),
            ("large text", "a", RARE_TEXT, pa.large_string()),
            ("text in views", "a", RARE_TEXT, pa.string_view()),
            ("lists", ["a"], [RARE_TEXT, "b"], pa.list_(pa.string())),
            ("large lists", ["a"], [RARE_TEXT], pa.large_list(pa.string())),
            ("lists of one length", ["a"], [RARE_TEXT], pa.list_(pa.string(), 1)),
            ("records", {"x": "a"}, {"x": RARE_TEXT}, pa.struct({"x": pa.string()})),
            ("maps", [("k", "a")], [("k", RARE_TEXT)], pa.map_(pa.string(), pa.string())),
        ]
    },
    "categories": (pa.array(["a"] * 6 + [RARE_TEXT]).dictionary_encode(), RARE_TEXT.encode()),
    "ordered categories": (pa.DictionaryArray.from_arrays(pa.array([0] * 6 + [1]), pa.array(["a", RARE_TEXT]), ordered=True), RARE_TEXT.encode()),
}  # fmt: skip
"""Kept columns of every other type, whose last cell is that of the one suppressed record, and its bytes."""

AS_FRAMES: dict[str, Callable[[pa.Table], Any]] = {
    "pyarrow": lambda table: table,
    "pandas": pa.Table.to_pandas,
    "pandas with Arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.DataFrame,
}


@pytest.mark.parametrize("frame", AS_FRAMES)
@pytest.mark.parametrize("kind", FURTHER)
def test_nor_is_one_of_any_other_type(kind: str, frame: str, tmp_path: Path) -> None:
    """Types that few people use: each is delivered without the value, or refused with a reason."""
    column, rare = FURTHER[kind]
    if frame == "polars" and kind in ("long decimals", "maps"):
        pytest.skip("polars has no such type")
    table = AS_FRAMES[frame](pa.table({"q": ["x"] * 6 + ["y"], "v": column}))
    asked: Any = {"quasi_identifiers": {"q": "identity"}, "insensitive": ["v"], "models": KAnonymity(3)}
    if (kind, frame) == ("records", "pandas"):
        with refusals.refused(InputError, "'v'", "dictionaries", "keys"):
            veil.anonymize(table, **asked, suppression_limit=0.2)
        return
    release = veil.anonymize(table, **asked, suppression_limit=0.2)
    assert release.suppressed == 1
    told = bytes_of(release.table)
    for ending in ("feather", "parquet", "csv"):
        try:
            release.save(tmp_path / f"release.{ending}")
        except (OutputError, VerificationError) as refused:
            # Missing lists of a fixed length: pyarrow 19 does not write them to Parquet, or cannot read them back.
            known = ("non-zero length null components", "cannot read back")
            if ending != "csv" and not (
                kind == "lists of one length" and any(each in str(refused) for each in known)
            ):
                raise
            continue
        told += (tmp_path / f"release.{ending}").read_bytes()
    assert frame != "pyarrow" or rare in bytes_of(table)
    assert not rare or rare not in told


def test_the_test_would_find_a_value() -> None:
    """Arrow blanks a cell and leaves the value below: that is what this is about."""
    hidden = pa.array([False] * 9 + [True])
    blank = pa.table(
        {
            name: pc.if_else(hidden, pa.scalar(None, column.type), column)
            for name, column in zip(RARE, people().columns, strict=False)
        }
    )
    assert {"age", "income", "town", "seen"} <= set(found_in(bytes_of(blank)))
    assert found_in(bytes_of(people())) == [*RARE]


# --- the index ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "index", [pd.Index([f"person {i}" for i in range(10)], name="patient"), pd.RangeIndex(5, 15)]
)
def test_an_index_is_refused_with_the_way_out(index: Any) -> None:
    frame = people().to_pandas().set_index(index)
    for make in (WAYS["one transformation"], lambda each: veil.mask(each, Mondrian(["age"], KAnonymity(2)))):
        with pytest.raises(InputError, match=r"df.reset_index\(drop=True\)"):
            make(frame)
        released = make(frame.reset_index(drop=True)).table
        assert isinstance(released.index, pd.RangeIndex)
        assert (released.index.start, released.index.step, released.index.name) == (0, 1, None)


# --- what an engine holds ---------------------------------------------------------------------------


def test_no_suppressed_value_is_among_the_categories_of_what_an_engine_holds() -> None:
    ibis = pytest.importorskip("ibis")
    held = ibis.duckdb.connect().create_table("people", people())
    release = veil.anonymize(held, **plan())
    assert release.suppressed == 1
    assert found_in(_buffers(release.arrow.combine_chunks())) == []
    assert "Zwirbelingen" not in str(
        [
            chunk.dictionary
            for column in release.arrow.columns
            for chunk in column.chunks
            if pa.types.is_dictionary(chunk.type)
        ]
    )


# --- the order of members ---------------------------------------------------------------------------


def test_sets_do_not_tell_the_order_of_rows() -> None:
    rng = np.random.default_rng(5)
    ages = rng.permutation(np.arange(20, 80))
    table = pa.table({"age": ages, "sex": ["f", "m"] * 30, "ward": ["a"] * 30 + ["b"] * 30})
    by_class = veil.anonymize(
        table,
        quasi_identifiers={"ward": h.suppression()},
        microaggregated={"age": "set"},
        models=KAnonymity(5),
        others="keep",
    )
    ordered = veil.anonymize(
        table, quasi_identifiers={"age": h.ordering(6, order="data")}, models=KAnonymity(5), others="keep"
    )
    masked = [
        veil.mask(table, MDAV(["age"], 6, aggregate="set")),
        veil.mask(table, UnivariateMicroaggregation(["age"], 6, aggregate="set")),
    ]
    for release in (by_class, ordered, *masked):
        for text in set(release.arrow["age"].to_pylist()):
            members = [int(each) for each in text.strip("{}").split(", ")]
            assert len(members) > 5
            assert members == sorted(members)
