"""Dialects of CSV files: separators, encodings, quotes and headers."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from support.csv_text import parse
from support.refusals import refused
from veil.errors import InputError
from veil.tables import Csv


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
