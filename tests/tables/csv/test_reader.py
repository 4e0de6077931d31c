from __future__ import annotations

import csv
import datetime as dt
import gzip
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from support.tables import awkward_texts
from veil.errors import InputError, ParameterError
from veil.tables import Csv, Excel, Source, output_format, read


def parse(folder: Path, content: str | bytes, format: Csv | None = None, name: str = "t.csv") -> Source:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return read(path, format=format)


def column(folder: Path, *fields: str, **options: Any) -> pa.ChunkedArray:
    """The column that these fields become, written with a second column so that an empty field is one."""
    content = "x,y\n" + "".join(f"{field},-\n" for field in fields)
    return parse(folder, content, Csv(separator=",", **options)).table["x"]


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


class TestMissing:
    def test_empty_is_missing_and_quoted_empty_is_a_text(self, tmp_path: Path) -> None:
        assert column(tmp_path, "", '""', "a").to_pylist() == [None, "", "a"]

    def test_quoted_empty_is_missing_among_numbers(self, tmp_path: Path) -> None:
        assert column(tmp_path, '"1"', '""', '"3"').to_pylist() == [1, None, 3]

    def test_but_not_where_both_kinds_occur(self, tmp_path: Path) -> None:
        assert column(tmp_path, "1", '""', "").to_pylist() == ["1", "", None]

    def test_na_may_be_namibia(self, tmp_path: Path) -> None:
        assert column(tmp_path, "NA", "NULL", "null", "nan").to_pylist() == ["NA", "NULL", "null", "nan"]

    def test_own_spellings_count_only_without_quotes(self, tmp_path: Path) -> None:
        found = column(tmp_path, "NA", '"NA"', "", "DE", missing=("", "NA"))
        assert found.to_pylist() == [None, "NA", None, "DE"]
        assert column(tmp_path, "1", "NA", "3", missing=("NA",)).to_pylist() == [1, None, 3]

    def test_empty_is_a_text_if_it_does_not_mean_missing(self, tmp_path: Path) -> None:
        assert column(tmp_path, "1", "", missing=("NA",)).to_pylist() == ["1", ""]
        assert column(tmp_path, "1", "", missing=()).to_pylist() == ["1", ""]

    def test_a_blank_line_is_a_missing_value_in_a_table_of_one_column(self, tmp_path: Path) -> None:
        assert parse(tmp_path, "age\n1\n\n3\n").table.to_pydict() == {"age": [1, None, 3]}
        assert parse(tmp_path, "age\n\n").table.to_pydict() == {"age": [None]}

    def test_blank_lines_are_no_records_otherwise(self, tmp_path: Path) -> None:
        assert parse(tmp_path, "\n\na,b\n1,2\n\n3,4\n\n").table.to_pydict() == {"a": [1, 3], "b": [2, 4]}

    def test_a_row_of_missing_values_only(self, tmp_path: Path) -> None:
        assert parse(tmp_path, "a\tb\n\t\n", name="t.tsv").table.to_pydict() == {"a": [None], "b": [None]}


class TestDialect:
    @pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
    def test_separators(self, tmp_path: Path, separator: str) -> None:
        content = "name,age,note\nAnn,34,x y\nBob,45,z\n".replace(",", separator)
        source = parse(tmp_path, content)
        assert source.table.to_pydict() == {"name": ["Ann", "Bob"], "age": [34, 45], "note": ["x y", "z"]}
        assert isinstance(source.format, Csv)
        assert source.format.separator == separator

    @pytest.mark.parametrize(
        ("content", "separator"),
        [
            ('name;note\nAnn;"a, b, c, d"\nBob;"e, f, g, h"\n', ";"),
            ('name,note\n"Ann","x;y;z"\n"Bob","u;v;w"\n', ","),
            ('"a;b",c\n"d;e",f\n', ","),
            ("weight;height\n61,5;1,80\n70,2;1,75\n", ";"),
            ('a;b\n"1\n2;3";4\n', ";"),
            ("age\n1\n2\n", ","),
            ("a|b\nx,y|z\n", "|"),
            ("a\tb c\nx, y\tz\n", "\t"),
        ],
    )
    def test_separators_inside_fields_do_not_mislead(
        self, tmp_path: Path, content: str, separator: str
    ) -> None:
        found = parse(tmp_path, content).format
        assert isinstance(found, Csv)
        assert found.separator == separator

    def test_a_sample_cut_short_does_not_mislead(self, tmp_path: Path) -> None:
        content = "a;b,c;d\n" + f"1;{'x,' * 300_000};3\n" * 4
        assert parse(tmp_path, content).table.column_names == ["a", "b,c", "d"]

    @pytest.mark.parametrize(
        ("encoding", "found"),
        [("utf-8", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-16", "utf-16"), ("utf-32", "utf-32")],
    )
    def test_encodings_that_show(self, tmp_path: Path, encoding: str, found: str) -> None:
        source = parse(tmp_path, "naïve,日本\né,1\n".encode(encoding))
        assert source.table.to_pydict() == {"naïve": ["é"], "日本": [1]}
        assert isinstance(source.format, Csv)
        assert source.format.encoding == found

    def test_big_endian_utf_16(self, tmp_path: Path) -> None:
        source = parse(tmp_path, b"\xfe\xff" + "a,b\né,1\n".encode("utf-16-be"))
        assert source.table.to_pydict() == {"a": ["é"], "b": [1]}

    @pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "shift_jis"])
    def test_encodings_that_are_said(self, tmp_path: Path, encoding: str) -> None:
        word = "日本" if encoding == "shift_jis" else "é"
        source = parse(tmp_path, f"a,b\n{word},1\n".encode(encoding), Csv(encoding=encoding))
        assert source.table.to_pydict() == {"a": [word], "b": [1]}

    def test_a_byte_order_mark_in_the_middle_is_text(self, tmp_path: Path) -> None:
        table = parse(tmp_path, "\ufeffa,b\n\ufeffx,\ufeff\n").table
        assert table.to_pydict() == {"a": ["\ufeffx"], "b": ["\ufeff"]}

    def test_quotes(self, tmp_path: Path) -> None:
        content = "a,b\n'x, ''y''\nz',\"1\n"
        table = parse(tmp_path, content, Csv(quote="'")).table
        assert table.to_pydict() == {"a": ["x, 'y'\nz"], "b": ['"1']}

    def test_no_quotes(self, tmp_path: Path) -> None:
        table = parse(tmp_path, 'a,b\n"x,y"\n5",6\n', Csv(quote=None)).table
        assert table.to_pydict() == {"a": ['"x', '5"'], "b": ['y"', "6"]}

    def test_a_quote_inside_a_field_is_itself(self, tmp_path: Path) -> None:
        assert parse(tmp_path, 'a,b\n5" pipe,1\n').table.to_pydict() == {"a": ['5" pipe'], "b": [1]}

    def test_escape(self, tmp_path: Path) -> None:
        table = parse(tmp_path, 'a,b\n"x \\"y\\"",1\nu\\,v,2\n', Csv(separator=",", escape="\\")).table
        assert table.to_pydict() == {"a": ['x "y"', "u,v"], "b": [1, 2]}

    def test_without_header(self, tmp_path: Path) -> None:
        table = parse(tmp_path, "1;2;x\n3;4;y\n", Csv(header=False)).table
        assert table.to_pydict() == {"column_1": [1, 3], "column_2": [2, 4], "column_3": ["x", "y"]}

    def test_own_names(self, tmp_path: Path) -> None:
        expected = {"x": [1], "y": [2]}
        assert parse(tmp_path, "1,2\n", Csv(header=False, columns=("x", "y"))).table.to_pydict() == expected
        assert parse(tmp_path, "a,a\n1,2\n", Csv(columns=("x", "y"))).table.to_pydict() == expected
        with refused(InputError, "`columns`", "1 names", "has 2"):
            parse(tmp_path, "1,2\n", Csv(header=False, columns=("x",)))

    def test_columns_without_a_name_get_one(self, tmp_path: Path) -> None:
        assert parse(tmp_path, ",age,\n1,2,3\n").table.column_names == ["column_1", "age", "column_3"]

    def test_a_header_over_two_lines(self, tmp_path: Path) -> None:
        assert parse(tmp_path, '"a\nb",c\n1,2\n').table.to_pydict() == {"a\nb": [1], "c": [2]}

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_line_ends(self, tmp_path: Path, end: str) -> None:
        assert parse(tmp_path, f"a,b{end}1,2{end}3,4").table.to_pydict() == {"a": [1, 3], "b": [2, 4]}

    def test_endings(self, tmp_path: Path) -> None:
        assert parse(tmp_path, "a\tb\n1\t2,5\n", name="t.tsv").table.num_columns == 2
        assert parse(tmp_path, gzip.compress(b"a;b\n1;2\n"), name="T.CSV.gz").table.num_columns == 2

    def test_a_record_longer_than_a_block(self, tmp_path: Path) -> None:
        long = "x" * 10_000_000
        assert parse(tmp_path, f'a,b\n1,2\n3,"{long}"\n').table["b"][1].as_py() == long

    def test_the_source_tells_all(self, tmp_path: Path) -> None:
        source = parse(tmp_path, "a;b\n1;2\n")
        assert (source.kind, source.path) == ("file", tmp_path / "t.csv")
        assert source.format == Csv(separator=";", encoding="utf-8")
        assert source.restore(source.table).equals(source.table)


@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
)
@given(
    rows=st.integers(2, 4).flatmap(
        lambda width: st.lists(st.lists(awkward_texts(), min_size=width, max_size=width), min_size=2)
    ),
    separator=st.sampled_from(",;\t|"),
    quote=st.sampled_from("\"'"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_reads_what_the_standard_library_wrote(
    tmp_path: Path, rows: list[list[str]], separator: str, quote: str, quoting: Any, end: str
) -> None:
    # That library leaves a lone carriage return without quotes.
    assume(quoting == csv.QUOTE_ALL or not any("\r" in field for row in rows for field in row))
    text = io.StringIO()
    csv.writer(text, delimiter=separator, quotechar=quote, quoting=quoting, lineterminator=end).writerows(
        rows
    )
    names = tuple(f"c{number}" for number in range(len(rows[0])))
    # The writer of the standard library does not quote a byte order mark.
    first = rows[0][0].removeprefix("\ufeff") if text.getvalue().startswith("\ufeff") else rows[0][0]
    expected = [[first, *rows[0][1:]], *rows[1:]]
    format = Csv(
        separator, quote=quote, header=False, columns=names, missing=(), types=dict.fromkeys(names, "string")
    )
    table = parse(tmp_path, text.getvalue(), format).table
    assert [list(row.values()) for row in table.to_pylist()] == expected


class TestTitles:
    """Lines above the table."""

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("title", ["Ward 3, confidential", 'a "quote', "", "zip;age;sex", "\ufefftitle"])
    def test_skipped(self, tmp_path: Path, title: str, end: str) -> None:
        content = end.join([title, "as of 2026-01-01", "age,sex", "34,m", "51,f", ""])
        found = parse(tmp_path, content, Csv(skip=2))
        assert found.table.to_pydict() == {"age": [34, 51], "sex": ["m", "f"]}

    @pytest.mark.parametrize("columns", [["x", "y"], ["x"]])
    def test_without_header(self, tmp_path: Path, columns: list[str]) -> None:
        rows = [["1", "a"], ["2", "b"]]
        body = "\n".join(",".join(row[: len(columns)]) for row in rows)
        found = parse(tmp_path, f"title\n\n{body}\n", Csv(separator=",", header=False, skip=2))
        assert list(found.table.to_pydict().values()) == [[1, 2], ["a", "b"]][: len(columns)]

    def test_lines_keep_their_numbers(self, tmp_path: Path) -> None:
        with refused(InputError, "line 5", "1 field", "has 2"):
            parse(tmp_path, "title\n\nage,sex\n34,m\n51\n", Csv(skip=2))

    @pytest.mark.parametrize(
        ("content", "lines"),
        [
            (
                "Report;;;\nas of today;;;\n\nage;sex;zip;ill\n34;m;81675;flu\n51;f;81677;gout\n36;m;8;flu\n",
                3,
            ),
            ("Report\n\nage,sex\n34,m\n", 2),
            ("Report, 2026\nage,sex,zip\n34,m,81675\n", 1),
        ],
    )
    def test_are_seen(self, tmp_path: Path, content: str, lines: int) -> None:
        with pytest.raises(InputError) as refusal:
            parse(tmp_path, content)
        assert f"Csv(skip={lines})" in str(refusal.value)
        assert parse(tmp_path, content, Csv(skip=lines)).table.column_names[:2] == ["age", "sex"]

    def test_columns_without_name_or_values_are_no_title(self, tmp_path: Path) -> None:
        found = parse(tmp_path, "age,sex,,,\n34,m,,,\n51,f,,,\n").table
        assert found.column_names == ["age", "sex", "column_3", "column_4", "column_5"]
        assert parse(tmp_path, ",age,sex\n0,34,m\n1,51,f\n").table.column_names == ["column_1", "age", "sex"]

    def test_more_lines_than_there_are(self, tmp_path: Path) -> None:
        with refused(InputError, "no lines", "`skip` (9)"):
            parse(tmp_path, "age,sex\n34,m\n", Csv(skip=9))

    def test_lines_are_counted_once(self, tmp_path: Path) -> None:
        """A line end of two characters is one, and no reason to try again."""
        with refused(InputError, "no lines left"):
            parse(tmp_path, "a,b\r\n" * 2000, Csv(skip=2001))

    def test_are_not_written(self, tmp_path: Path) -> None:
        assert output_format(tmp_path / "release.csv", Csv(separator=";", skip=3)) == Csv(separator=";")
        assert output_format(tmp_path / "release.xlsx", Excel(skip=3)) == Excel()


class TestThousands:
    def test_groups_of_three_digits(self, tmp_path: Path) -> None:
        content = "a;b;c\n16.092,04;1.234;1.2.2020\n7,50;12;3.2.2020\n"
        table = parse(tmp_path, content, Csv(decimal=",", thousands=".")).table
        assert table.to_pydict() == {
            "a": [Decimal("16092.04"), Decimal("7.50")],
            "b": [1234, 12],
            "c": ["1.2.2020", "3.2.2020"],
        }

    def test_what_is_no_group_stays_text(self, tmp_path: Path) -> None:
        table = parse(tmp_path, "a;b\n1.23;0.123\n1.234;1.234\n", Csv(decimal=",", thousands=".")).table
        assert table.to_pydict() == {"a": ["1.23", "1.234"], "b": ["0.123", "1.234"]}

    def test_types_that_are_asked_for(self, tmp_path: Path) -> None:
        format = Csv(decimal=",", thousands=".", types={"a": "float", "b": "string"})
        table = parse(tmp_path, "a;b\n16.092,5;1.234\n1;2\n", format).table
        assert table.to_pydict() == {"a": [16092.5, 1.0], "b": ["1.234", "2"]}

    def test_marks_differ(self) -> None:
        with pytest.raises(ParameterError, match="thousands"):
            Csv(decimal=",", thousands=",")

    def test_a_release_is_written_without_them(self, tmp_path: Path) -> None:
        path = tmp_path / "costs.csv"
        path.write_text("cost;sex\n" + "16.092,04;f\n1.007,50;f\n" * 3, encoding="utf-8")
        release = veil.anonymize(
            path,
            quasi_identifiers={"sex": "suppression"},
            sensitive="cost",
            models=veil.KAnonymity(2),
            format=Csv(decimal=",", thousands="."),
        )
        release.save(tmp_path / "release.csv")
        text = (tmp_path / "release.csv").read_text(encoding="utf-8")
        assert sorted(set(text.split())) == ["1007,50;f", "16092,04;f", "cost;sex"]
