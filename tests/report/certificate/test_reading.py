"""A right file is never called another: every type of column, through every kind of file."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veil
from veil import KAnonymity
from veil.api.release import Release
from veil.errors import OutputError
from veil.models import DistinctLDiversity
from veil.tables import Csv

BERLIN = ZoneInfo("Europe/Berlin")
NOON, MIDNIGHT = dt.datetime(2020, 1, 31, 12, 0), dt.datetime(2020, 1, 31)
COLUMNS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["a", "b,c", 'say "x"', "ä"]),
    "text of numbers": (pa.string(), ["1", "1.0", "01", "1e5"]),
    "text of equal numbers": (pa.string(), ["1.0", "1.50", "1.0", "2"]),
    "text of whole numbers": (pa.string(), ["1", "2", "3", "4"]),
    "text of days": (pa.string(), ["2020-01-31", "2020-02-01"]),
    "text of times": (pa.string(), ["2020-01-31T00:00:00", "2020-02-01T00:00:00"]),
    "text of truths": (pa.string(), ["true", "false"]),
    "empty text": (pa.string(), ["", "a"]),
    "empty text among numbers": (pa.string(), ["", "1"]),
    "empty or missing": (pa.string(), ["", None, "a"]),
    "missing among numbers": (pa.string(), [None, "1.50"]),
    "nothing": (pa.string(), [None, None]),
    "no type": (pa.null(), [None, None]),
    "wide text": (pa.large_string(), ["a", None]),
    "category": (pa.dictionary(pa.int8(), pa.string()), ["a", None, "b"]),
    "category of numbers": (pa.dictionary(pa.int8(), pa.int64()), [1, 2]),
    "int8": (pa.int8(), [1, None, -3]),
    "int64": (pa.int64(), [1, 2**53 + 1, 2**53]),
    "uint64": (pa.uint64(), [1, 2**64 - 1]),
    "float16": (pa.float16(), [np.float16(0.5), np.float16(1.5)]),
    "float32": (pa.float32(), [0.1, 1.0, None]),
    "float64": (pa.float64(), [0.1 + 0.2, 1 / 3, 1.0, None]),
    "whole floats": (pa.float64(), [1.0, 2.0]),
    "far floats": (pa.float64(), [1e-7, 1e20, 1.5e300, 123456789012345680.0]),
    "infinite": (pa.float64(), [float("inf"), 1.0]),
    "decimal": (pa.decimal128(7, 2), [Decimal("1.50"), Decimal("2.00"), None]),
    "whole decimal": (pa.decimal128(7, 0), [Decimal("1"), Decimal("200")]),
    "long decimal": (pa.decimal128(38, 20), [Decimal("1.00000000000000000001"), Decimal("2")]),
    "wide decimal": (pa.decimal256(50, 2), [Decimal("1.50"), Decimal("2.00")]),
    "truth": (pa.bool_(), [True, None, False]),
    "day": (pa.date32(), [dt.date(2020, 1, 31), None]),
    "early day": (pa.date32(), [dt.date(1801, 1, 31), dt.date(2020, 1, 31)]),
    "day in milliseconds": (pa.date64(), [dt.date(2020, 1, 31), None]),
    "seconds": (pa.timestamp("s"), [NOON, None]),
    "milliseconds": (pa.timestamp("ms"), [NOON, NOON + dt.timedelta(milliseconds=7)]),
    "microseconds": (pa.timestamp("us"), [NOON, NOON + dt.timedelta(microseconds=7)]),
    "nanoseconds": (pa.timestamp("ns"), [10**18 + 1, 10**18]),
    "midnights": (pa.timestamp("us"), [MIDNIGHT, MIDNIGHT + dt.timedelta(days=1)]),
    "a midnight": (pa.timestamp("us"), [MIDNIGHT, NOON]),
    "zoned": (pa.timestamp("us", "UTC"), [NOON.replace(tzinfo=dt.UTC), None]),
    "zoned midnights": (pa.timestamp("s", "Europe/Berlin"), [MIDNIGHT.replace(tzinfo=BERLIN), None]),
    "clocks go back": (
        pa.timestamp("us", "Europe/Berlin"),
        [dt.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold) for fold in (0, 1)],
    ),
    "time of day": (pa.time64("us"), [dt.time(12, 30), dt.time(12, 30, 1, 5000)]),
    "time in seconds": (pa.time32("s"), [dt.time(12, 30), None]),
    "binary": (pa.binary(), [b"abc", None]),
    "duration": (pa.duration("s"), [dt.timedelta(1), None]),
    "list": (pa.list_(pa.int64()), [[1, 2], None, []]),
}
FILES = ("t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.feather", "t.xlsx")
REFUSED = {
    ("t.xlsx", "empty or missing"),
    ("t.xlsx", "infinite"),
    ("t.xlsx", "binary"),
    ("t.xlsx", "duration"),
    *((name, "list") for name in ("t.csv", "t.tsv", "t.csv.gz", "t.xlsx")),
}


def release_of(column: str) -> Release:
    kind, cells = COLUMNS[column]
    cells = cells * 4
    array = (
        pa.array(cells, kind.value_type).dictionary_encode()
        if "category" in column
        else pa.array(cells, kind)
    )
    table = pa.table({"q": ["a"] * len(cells), "x": array})
    return veil.anonymize(
        table, quasi_identifiers={"q": "suppression"}, insensitive=["x"], models=[KAnonymity(2)]
    )


def called(release: Release, table: Any, folder: Path) -> list[str]:
    certificate = release.certificate(folder / "certificate.json", overwrite=True)
    return [str(each) for each in veil.verify(table, certificate=certificate).broken]


@pytest.mark.parametrize("column", COLUMNS)
def test_every_type_through_every_file(column: str, tmp_path: Path) -> None:
    release = release_of(column)
    assert called(release, release.table, tmp_path) == []
    for name in FILES:
        if (name, column) in REFUSED:
            with pytest.raises(OutputError):
                release.save(tmp_path / name)
            continue
        release.save(tmp_path / name)
        assert called(release, tmp_path / name, tmp_path) == [], name


@pytest.mark.parametrize(
    "column", sorted(set(COLUMNS) - {"long decimal", "wide decimal", "list", "duration", "binary"})
)
def test_every_type_through_every_library(column: str, tmp_path: Path) -> None:
    release = release_of(column)
    for frame in (pl.from_arrow(release.table), release.table.to_pandas(types_mapper=pd.ArrowDtype)):
        assert called(release, frame, tmp_path) == []


def test_what_is_spelled_without_quotes(tmp_path: Path) -> None:
    """A dialect with its own marks of decimals, and nothing to tell an empty text from a missing one."""
    (tmp_path / "in.csv").write_text("q;x;y\n" + "a;1,5;\na;2,25;b\n" * 3)
    plan = {"quasi_identifiers": {"q": "suppression"}, "insensitive": ["x", "y"], "models": [KAnonymity(2)]}
    dialect = Csv(separator=";", decimal=",", quote=None)
    release = veil.anonymize(tmp_path / "in.csv", **plan, format=dialect)
    release.save(tmp_path / "out.csv")
    certificate = release.certificate(tmp_path / "c.json")
    assert not veil.verify(tmp_path / "out.csv", certificate=certificate, format=dialect).broken


@pytest.mark.parametrize("name", FILES)
def test_what_a_file_reads_as_numbers_is_judged_as_the_texts_it_was(name: str, tmp_path: Path) -> None:
    """ "1.0" and "1" are two diagnoses; read as numbers, they would be one, and a right promise broken."""
    table = pa.table({"q": ["a"] * 4, "x": ["1.0", "1", "1.0", "1"]})
    release = veil.anonymize(
        table, quasi_identifiers={"q": "suppression"}, sensitive=["x"], models=[DistinctLDiversity("x", 2)]
    )
    release.save(tmp_path / name)
    found = veil.verify(tmp_path / name, certificate=release.certificate(tmp_path / "c.json"))
    assert not found.broken, found


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize(
    ("shown", "other"),
    [
        (["1.0", "2"], ["1", "2"]),
        ([1, 2], [1, 3]),
        ([1.5, 2.5], [1.5, 2.500001]),
        (["a", None], ["a", "b"]),
        ([NOON, MIDNIGHT], [NOON, MIDNIGHT + dt.timedelta(seconds=1)]),
        ([True, False], [True, True]),
        ([2**53, 1], [2**53 + 1, 1]),
    ],
)
def test_another_cell_is_found(name: str, shown: list[Any], other: list[Any], tmp_path: Path) -> None:
    """The control: whatever files make of types, another value is another table."""
    plan = {"quasi_identifiers": {"q": "suppression"}, "insensitive": ["x"], "models": [KAnonymity(2)]}
    one, two = (
        veil.anonymize(pa.table({"q": ["a"] * 4, "x": cells * 2}), **plan, order="input")
        for cells in (shown, other)
    )
    two.save(tmp_path / name)
    assert any("SHA-256" in each for each in called(one, tmp_path / name, tmp_path))


@pytest.mark.parametrize("name", FILES)
def test_an_empty_release_can_be_verified(name: str, tmp_path: Path) -> None:
    table = pa.table({"q": ["a", "b"], "x": [1, 2]})
    release = veil.anonymize(
        table,
        quasi_identifiers={"q": "identity"},
        insensitive=["x"],
        models=[KAnonymity(2)],
        suppression_limit=1,
        suppressed_rows="drop",
    )
    assert release.table.num_rows == 0
    release.save(tmp_path / name)
    certificate = release.certificate(tmp_path / "c.json")
    for given in (release.table, tmp_path / name):
        assert not veil.verify(given, certificate=certificate).broken
        assert not veil.verify(given, release.plan).broken
