"""Columns of every kind that a file can hold: each command takes them, or refuses them in a sentence."""

from __future__ import annotations

import os
import shlex
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather as feather
import pytest

from support.cli import veil

ROWS = 12
AGES = {"age": [20, 21, 22] * 4, "sex": ["f", "m"] * 6}


def column(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array((values * ROWS)[:ROWS], kind)


KINDS: dict[str, pa.Array] = {
    "small integers": column([1, 2], pa.int8()),
    "huge integers": column([2**64 - 1, 1], pa.uint64()),
    "odd floats": column([float("nan"), float("inf"), -0.0], pa.float64()),
    "short floats": column([1.5, None], pa.float32()),
    "decimals": column([Decimal("1.50"), None], pa.decimal128(38, 2)),
    "wide decimals": column([Decimal("1.50")], pa.decimal256(70, 2)),
    "far days": column([2932897, -800000, 0], pa.date32()),
    "far days in milliseconds": column([253402300800000], pa.date64()),
    "times after 9999": column([253402300800], pa.timestamp("s")),
    "the last time": column([2**63 - 1], pa.timestamp("s")),
    "times before year 1": column([-62135596801], pa.timestamp("s")),
    "nanoseconds": column([1], pa.timestamp("ns")),
    "zoned times": column([0, 1], pa.timestamp("us", "Europe/Berlin")),
    "times of day": column([1], pa.time64("ns")),
    "durations": column([1], pa.duration("s")),
    "months": column([pa.MonthDayNano([1, 2, 3])], pa.month_day_nano_interval()),
    "bytes": column([b"a", b"\xff", None], pa.binary()),
    "bytes of one length": column([b"ab"], pa.binary(2)),
    "text views": column(["a", None], pa.string_view()),
    "text that controls": column(["a\x00b\x1b[31m\ufffe"], pa.string()),
    "lists": column([["a"], []], pa.list_(pa.string())),
    "lists of one length": column([["a", "b"]], pa.list_(pa.string(), 2)),
    "lists of lists": column([[["a"]]], pa.list_(pa.list_(pa.string()))),
    "structures": column([{"x": 1, "y": None}, None], pa.struct({"x": pa.int64(), "y": pa.string()})),
    "maps": column([[("k", 1)], None], pa.map_(pa.string(), pa.int64())),
    "lists of structures": column([[{"x": 1}]], pa.list_(pa.struct({"x": pa.int64()}))),
    "categories": column(["a", "b"], pa.string()).dictionary_encode(),
    "categories of lists": pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), [["a"]]),
    "nothing": pa.nulls(ROWS),
    "truth values": column([True, None], pa.bool_()),
    "views of lists": column([["a"]], pa.list_view(pa.string())),
    "runs": pa.RunEndEncodedArray.from_arrays(pa.array([ROWS], pa.int32()), pa.array(["a"])),
    "identifiers": column([b"0123456789abcdef"], pa.uuid()),
}
"""One column of each kind; some lie beyond what Python, CSV or Excel can hold."""

ANONYMIZE = "anonymize t.feather --overwrite -q --others keep --model k-anonymity:2 --person null"
ALONE = (
    "risk t.feather --qi x --json",
    "assess t.feather --qi age,x --sensitive sex",
    "assess t.feather --qi age --sensitive x",
    "utility t.feather t.feather --qi x",
    f"{ANONYMIZE} -o o.csv --qi x=auto",
    f"{ANONYMIZE} -o o.parquet --qi x=dates:month,year",
    f"{ANONYMIZE} -o o.feather --qi age=intervals:10 --sensitive x --model distinct-l-diversity:x,1 --certificate c.json",
)
TOGETHER = (
    "identify t.feather",
    "risk t.feather --qi age,sex",
    "utility t.feather t.feather --qi age",
    f"{ANONYMIZE} -o o.feather --qi age=intervals:10",
    f"{ANONYMIZE} -o o.xlsx --qi age=intervals:10",
    "mask t.feather -o m.feather --overwrite --step rank-swapping:age,p=5",
)


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(command: str) -> None:
    ran = veil(*shlex.split(command))
    assert ran.code in (0, 1, 2, 3, 4), (command, ran)
    assert "Traceback" not in ran.out + ran.err


def written(columns: dict[str, pa.Array]) -> None:
    feather.write_feather(pa.table(AGES | columns), "t.feather", compression="uncompressed")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_column_that_a_command_looks_at(kind: str) -> None:
    try:
        written({"x": KINDS[kind]})
    except pa.ArrowException:
        pytest.skip("Arrow does not write it")
    for command in ALONE:
        run(command)


def test_columns_beside_those_that_a_command_looks_at() -> None:
    there = {}
    for name, values in KINDS.items():
        try:
            written({name: values})
            there[name] = values
        except pa.ArrowException:
            os.remove("t.feather")
    written(there)
    assert len(there) > 25
    for command in TOGETHER:
        run(command)


def test_a_zone_that_nobody_knows() -> None:
    written({"x": column([0], pa.timestamp("us", "Mars/Olympus"))})
    ran = veil("identify", "t.feather")
    assert ran.code == 2
    assert "'x'" in ran.err
    assert "'Mars/Olympus'" in ran.err
