from __future__ import annotations

import csv
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import veil
from support.csv_text import column, parse
from support.refusals import refused
from support.tables import awkward_texts
from veil.errors import InputError, ParameterError
from veil.tables import Csv, Excel, output_format


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
