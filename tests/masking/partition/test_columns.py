"""Kinds of columns in a partition, and their labels."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from veil import hierarchies as h
from veil import models as m
from veil.base.randomness import Randomness
from veil.masking.partition.mondrian import Mondrian
from veil.outcome.outcome import Outcome
from veil.tables.rows import Rows


def masked(table: pa.Table, *args: Any, **options: Any) -> Outcome:
    """Mask with the labels of the literature, unless others are asked for."""
    return Mondrian(*args, **{"labels": "intervals", **options}).mask(Rows.of(table), Randomness())


def test_missing_values_are_a_value_of_their_own() -> None:
    table = pa.table({"x": [1.0, 2.0, None, float("nan"), 9.0, 9.0]})

    def found(k: int) -> list[str | None]:
        cells: list[str | None] = masked(table, "x", m.KAnonymity(k)).table["x"].to_pylist()
        return cells

    assert found(1) == ["1", "2", None, None, "9", "9"]
    assert found(2) == ["[1, 2]", "[1, 2]", None, None, "9", "9"]
    assert found(3) == ["{[1, 9], NULL}"] * 6
    rows = pa.table({"x": [1, 1, 1, 2, 3, None]})
    assert masked(rows, "x", m.KAnonymity(3)).table["x"].to_pylist() == ["1"] * 3 + ["{[2, 3], NULL}"] * 3


def test_dates_times_decimals_and_truth_values() -> None:
    table = pa.table(
        {
            "day": [datetime.date(2020, 1, day) for day in (1, 2, 30, 31)],
            "time": [datetime.datetime(2020, 1, 1, hour) for hour in (1, 2, 22, 23)],
            "money": [Decimal("1.10"), Decimal("1.20"), Decimal("9.00"), Decimal("9.10")],
            "well": [False, False, True, None],
            "word": pa.array(["b", "a", "c", "d"]).dictionary_encode(),
        }
    )
    expected = {
        "day": ("[2020-01-01, 2020-01-02]", "[2020-01-30, 2020-01-31]"),
        "time": ("[2020-01-01T01:00:00, 2020-01-01T02:00:00]", "[2020-01-01T22:00:00, 2020-01-01T23:00:00]"),
        "money": ("[1.10, 1.20]", "[9.00, 9.10]"),
        "well": ("false", "{true, NULL}"),
        "word": ("{a, b}", "{c, d}"),
    }
    for name, (first, last) in expected.items():
        for numbers in ("intervals", "means") if name != "money" else ("intervals",):
            found = masked(table.select([name]), name, m.KAnonymity(2), labels=numbers).table[name]
            assert found.to_pylist() == [first, first, last, last]


def test_means_of_numbers() -> None:
    table = pa.table({"x": [1, 2, None, 10, 13, 20], "w": ["a", "b", "c", "d", "e", "f"]})
    outcome = masked(table, ["x", "w"], m.KAnonymity(3), labels="means")
    assert outcome.table.schema.field("x").type == pa.float64()
    assert outcome.table["x"].to_pylist() == [
        pytest.approx(13 / 3),
        pytest.approx(13 / 3),
        16.5,
        pytest.approx(13 / 3),
        16.5,
        16.5,
    ]
    alone = masked(
        pa.table({"x": pa.array([None, None, 3, 4], pa.int64())}), "x", m.KAnonymity(2), labels="means"
    )
    assert alone.table["x"].to_pylist() == [None, None, 3.5, 3.5]


def test_a_forest_gets_a_root() -> None:
    hierarchy = h.table([["a", "A"], ["b", "A"], ["c", "C"], ["d", "C"]])
    table = pa.table({"x": ["a", "b", "c", "d"]})
    assert masked(table, {"x": hierarchy}, m.KAnonymity(4)).table["x"].to_pylist() == ["*"] * 4
    assert masked(table, {"x": hierarchy}, m.KAnonymity(2)).table["x"].to_pylist() == ["A", "A", "C", "C"]


@pytest.mark.parametrize("relaxed", [False, True])
def test_a_constant_column_is_never_cut(relaxed: bool) -> None:
    table = pa.table({"x": [7] * 4, "y": ["a"] * 4, "z": pa.nulls(4)})
    outcome = masked(table, ["x", "y", "z"], m.KAnonymity(1), relaxed)
    assert outcome.facts["partitions"] == 1
    assert outcome.facts["loss"] == 0.0
    assert outcome.table.to_pydict() == {"x": ["7"] * 4, "y": ["a"] * 4, "z": [None] * 4}
