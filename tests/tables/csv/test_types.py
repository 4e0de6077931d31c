"""Types of CSV columns: those that lose nothing, and those that are requested."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.csv_text import column, parse
from support.refusals import refused
from veil.errors import InputError
from veil.tables import Csv


class TestTypes:
    @pytest.mark.parametrize(
        ("fields", "type", "expected"),
        [
            (["1", "-20", "0", ""], pa.int64(), [1, -20, 0, None]),
            (["9223372036854775807"], pa.int64(), [9223372036854775807]),
            (["1.50", "-0.05"], pa.decimal128(38, 2), [Decimal("1.50"), Decimal("-0.05")]),
            (["0.00000001"], pa.decimal128(38, 8), [Decimal("0.00000001")]),
            (["1.5", "2.25", "3"], pa.float64(), [1.5, 2.25, 3.0]),
            (["39.0", "2.25"], pa.float64(), [39.0, 2.25]),
            (["0.5", "1.5e-07", "1e+16"], pa.float64(), [0.5, 1.5e-07, 1e16]),
            (["0.5", "1e-7"], pa.float64(), [0.5, 1e-7]),
            (
                ["0.1234567890123456789", "2.5"],  # more than a float holds
                pa.decimal128(38, 19),
                [Decimal("0.1234567890123456789"), Decimal("2.5000000000000000000")],
            ),
            (["2020-01-31", ""], pa.date32(), [dt.date(2020, 1, 31), None]),
            (["2020-01-31T12:00:00"], pa.timestamp("s"), [dt.datetime(2020, 1, 31, 12)]),
            (["2020-01-31 12:00:00.250"], pa.timestamp("ms"), [dt.datetime(2020, 1, 31, 12, 0, 0, 250_000)]),
            (["true", "false", ""], pa.bool_(), [True, False, None]),
        ],
        ids=lambda value: ",".join(value) if isinstance(value, list) and isinstance(value[0], str) else "",
    )
    def test_types_that_lose_nothing(
        self, tmp_path: Path, fields: list[str], type: pa.DataType, expected: list[Any]
    ) -> None:
        found = column(tmp_path, *fields)
        assert (found.type, found.to_pylist()) == (type, expected)

    @pytest.mark.parametrize(
        "fields",
        [
            ["02139", "10001"],
            ["+5", "6"],
            ["-0", "1"],
            ["1e5", "2e5"],
            ["1e-05"],  # no plain number beside it: an identifier
            ["5.", "6."],
            [".5"],
            [" 5"],
            ["007.50", "1.50"],
            ["-0.00", "1.00"],
            ["12345678901234567890"],
            ["9223372036854775808"],
            ["0." + "1" * 39],
            ["2020-02-30"],
            ["2020-1-1"],
            ["31.01.2020"],
            ["2020-01-31T12:00"],
            ["2020-01-31T12:00:00.5"],
            ["2020-01-31T12:00:00", "2020-01-31 12:00:00"],
            ["2020-01-31T25:00:00"],
            ["True", "False"],
            ["true", "1"],
            ["nan", "1.5"],
            ["inf", "1.5"],
            ["1_000"],
            ["٣"],
            ["NA", "NULL"],
        ],
        ids=lambda fields: ",".join(fields)[:25],
    )
    def test_text_stays_text(self, tmp_path: Path, fields: list[str]) -> None:
        found = column(tmp_path, *fields)
        assert (found.type, found.to_pylist()) == (pa.string(), fields)

    def test_a_late_exception_keeps_the_whole_column_text(self, tmp_path: Path) -> None:
        fields = ["10001"] * 5000 + ["02139"]
        assert column(tmp_path, *fields).to_pylist() == fields

    def test_a_column_without_values_is_text(self, tmp_path: Path) -> None:
        assert column(tmp_path, "", "").type == pa.string()

    def test_utc_timestamps(self, tmp_path: Path) -> None:
        found = column(tmp_path, "2020-01-31T12:00:00Z")
        assert found.type == pa.timestamp("s", "UTC")

    def test_one_time_separator_a_file(self, tmp_path: Path) -> None:
        source = parse(tmp_path, "a,b\n2020-01-31 12:00:00,2020-01-31T12:00:00\n")
        assert source.table.schema.types == [pa.timestamp("s"), pa.string()]
        assert isinstance(source.format, Csv)
        assert source.format.time_separator == " "

    def test_decimal_comma(self, tmp_path: Path) -> None:
        content = "a;b;c\n1,50;1,5;1.5\n2,25;2;2.5\n"
        table = parse(tmp_path, content, Csv(decimal=",")).table
        assert table.to_pydict() == {
            "a": [Decimal("1.50"), Decimal("2.25")],
            "b": [1.5, 2.0],
            "c": ["1.5", "2.5"],
        }
        assert parse(tmp_path, content).table["a"].to_pylist() == ["1,50", "2,25"]


class TestAskedTypes:
    @pytest.mark.parametrize(
        ("type", "fields", "expected"),
        [
            ("string", ["1", "", "2"], ["1", None, "2"]),
            ("integer", ["007", "", '""'], [7, None, None]),
            ("decimal", ["1.5", "2.25", "+3"], [Decimal("1.50"), Decimal("2.25"), Decimal("3.00")]),
            ("float", ["1e5", "1.50"], [100000.0, 1.5]),
            ("date", ["2020-01-31", ""], [dt.date(2020, 1, 31), None]),
            ("timestamp", ["2020-01-31 12:00", "2020-01-31T12:00:00.5"], None),
            ("boolean", ["true", "0"], [True, False]),
        ],
    )
    def test_a_type_can_be_asked_for(
        self, tmp_path: Path, type: str, fields: list[str], expected: list[Any] | None
    ) -> None:
        expected = expected or [dt.datetime(2020, 1, 31, 12), dt.datetime(2020, 1, 31, 12, 0, 0, 500_000)]
        assert column(tmp_path, *fields, types={"x": type}).to_pylist() == expected

    @pytest.mark.parametrize(
        ("type", "bad"),
        [
            ("integer", "x"),
            ("integer", "1.5"),
            ("decimal", "1e5"),
            ("float", "1,5 kg"),
            ("date", "2020-02-30"),
            ("timestamp", "noon"),
            ("boolean", "yes"),
        ],
    )
    def test_the_first_misfit_is_named(self, tmp_path: Path, type: str, bad: str) -> None:
        good = {"integer": "7", "decimal": "7.1", "float": "7.1", "date": "2020-01-01"}
        good |= {"timestamp": "2020-01-01T00:00:00", "boolean": "true"}
        fields = [good[type]] * 12 + [f'"{bad}"', good[type], f'"{bad}!"']
        with pytest.raises(InputError) as caught:
            column(tmp_path, *fields, types={"x": type})
        assert f"t.csv: column 'x', row 13: {bad!r} is not of type {type}" in str(caught.value)
        assert "types={'x': \"string\"}" in str(caught.value)

    def test_an_absent_column(self, tmp_path: Path) -> None:
        with refused(InputError, "mean 'zip'", "`types`", "'zipp'", "not exist"):
            parse(tmp_path, "zip,age\n1,2\n", Csv(types={"zipp": "string"}))
