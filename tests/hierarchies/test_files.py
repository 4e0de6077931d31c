"""Files of hierarchies: read, saved, and read again."""

from __future__ import annotations

import pytest
from hypothesis import given

from support.hierarchies import AGE, trees
from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, OutputError
from veil.hierarchies import Hierarchy


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0;[0,4]\n5;[5,9]\n", [("0", "[0,4]"), ("5", "[5,9]")]),
        ("0;[0,4]\r\n5;[5,9]", [("0", "[0,4]"), ("5", "[5,9]")]),
        ("a,x,*\nb,x,*\n", [("a", "x", "*"), ("b", "x", "*")]),
        ("a\tx, y\nb\tx, y\n", [("a", "x, y"), ("b", "x, y")]),
        ("a|x\n\nb|y\n", [("a", "x"), ("b", "y")]),
        ('"a;1";x\n"b ""2""";x\n', [("a;1", "x"), ('b "2"', "x")]),
        ("a\nb\n", [("a",), ("b",)]),
        ("\ufeffa;*\n", [("a", "*")]),
        (";*\nb;*\n", [("", "*"), ("b", "*")]),
    ],
)
def test_read(tmp_path, text, rows):
    path = tmp_path / "x.csv"
    path.write_bytes(text.encode())
    assert h.read(path).to_rows() == rows


def test_read_with_options(tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes("stadt:land\nKöln:NRW\n".encode("latin-1"))
    made = h.read(path, separator=":", header=True, encoding="latin-1")
    assert made.to_rows() == [("Köln", "NRW")]
    assert made.level_names == ("stadt", "land")
    assert h.file(str(path), ":", True, "latin-1").read() == made


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"a;*\n\nb;x;*\n", r"row 3 \(value 'b'\): expected 2 columns as in row 1, found 3"),
        (b"a;x\nb;x\na;y\n", "'x' in row 1 and 'y' in row 3"),
        (b"a;*\nK\xf6ln;*\n", "line 2: byte 0xf6 is not utf-8"),
        (b"a;*\nb\0;*\n", "line 2: the file contains a NUL byte"),
        (b'a;*\n"b;*\n', "line 2"),
    ],
)
def test_bad_files(tmp_path, content, message):
    path = tmp_path / "bad.csv"
    path.write_bytes(content)
    with pytest.raises(HierarchyError, match=message) as caught:
        h.read(path)
    assert "bad.csv" in str(caught.value)


def test_file_that_is_not_there(tmp_path):
    with refused(HierarchyError, "nowhere.csv'", "not exist"):
        h.read(tmp_path / "nowhere.csv")
    with refused(HierarchyError, "cannot be read"):
        h.read(tmp_path)


def test_save_and_read_again(tmp_path, build):
    path = tmp_path / "age.csv"
    made = build(Hierarchy.from_rows(AGE), [21, None])
    made.save(path)
    assert path.read_text() == "21;20-29;*\n23;20-29;*\n35;30-39;*\n38;30-39;*\n47;40-49;*\nNULL;NULL;*\n"
    assert h.read(path) == made
    assert [each.name for each in tmp_path.iterdir()] == ["age.csv"]


@pytest.mark.parametrize(
    "text", ["a;b", 'say "a"', "a\nb", "a\rb", "\ufeffa", "a,b", "", " a ", "*", "a\tb|c"]
)
@pytest.mark.parametrize("more", [[], ["*"]])
def test_any_text_survives_saving(tmp_path, text, more):
    made = Hierarchy.from_rows([[text, *more], ["other", *more]])
    made.save(tmp_path / "x.csv")
    assert h.read(tmp_path / "x.csv") == made


def test_save_where_it_cannot(tmp_path):
    with refused(OutputError, "written", "directory", "not exist"):
        Hierarchy.from_rows(AGE).save(tmp_path / "no" / "age.csv")


def test_the_text_null_cannot_be_saved_as_if_it_were_missing(tmp_path, build):
    with refused(HierarchyError, "'Null'", "cannot be saved"):
        build(h.suppression(), ["Null", "a"]).save(tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


@given(trees())
def test_saved_hierarchies_load_equal(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("saved") / "h.csv"
    made = Hierarchy.from_rows(rows)
    made.save(path)
    assert Hierarchy.read(path) == made
