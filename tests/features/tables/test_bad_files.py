"""Every kind of bad file gets one clear error that names the file, the place and the way out."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from veil.errors import InputError
from veil.tables import Csv, Excel, Feather, Format, Parquet, read


def refusal(path: Path, format: Format | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read(path, format=format)
    message = str(caught.value)
    assert message.startswith(str(path)), "the file is named"
    return message.removeprefix(str(path))


def csv_refusal(folder: Path, content: str | bytes, format: Csv | None = None) -> str:
    path = folder / "bad.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return refusal(path, format)


def test_missing_file(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text("a\n1\n")
    assert all(fact in refusal(tmp_path / "patient.csv") for fact in ("no such file", "mean 'patients.csv'?"))
    assert "no such file" in refusal(tmp_path / "zzz.parquet")
    assert "no directory" in refusal(tmp_path / "nowhere" / "patients.csv")


@pytest.mark.parametrize("name", ["d.csv", "d.parquet", "d.feather", "d.xlsx"])
def test_directory(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    assert "is a directory" in refusal(tmp_path / name)


@pytest.mark.parametrize("name", ["e.csv", "e.parquet", "e.feather", "e.xlsx"])
def test_empty_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    assert "is empty" in refusal(tmp_path / name)


@pytest.mark.parametrize("content", ["\n", "\r\n\r\n", "\ufeff", "\ufeff\n"])
def test_a_file_of_nothing(tmp_path: Path, content: str) -> None:
    assert "is empty" in csv_refusal(tmp_path, content)


@pytest.mark.parametrize("content", ["age,zip", "age,zip\n", "age,zip\r\n\r\n", "age\n", "  \n"])
def test_header_only(tmp_path: Path, content: str) -> None:
    assert "no rows" in csv_refusal(tmp_path, content)


def test_one_row_is_fine(tmp_path: Path) -> None:
    path = tmp_path / "one.csv"
    path.write_text("age,zip\n34,02139")
    assert read(path).table.to_pydict() == {"age": [34], "zip": ["02139"]}


@pytest.mark.parametrize(
    ("content", "place"),
    [
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3: 2 fields, where the header has 3"),
        ("a,b,c\n1,2,3\n4,5,6,7\n", "line 3: 4 fields, where the header has 3"),
        ('a,b\n"1\n2",3\n4\n', "line 4: 1 field, where the header has 2"),
        ("\n\na,b\n1,2\n\n3\n", "line 6: 1 field"),
        ("a;b\n1;2\n3;4;5\n", "line 3: 3 fields, where the header has 2 (separator ';')"),
        ("a,b\n1,2\n   \n", "line 3: 1 field"),
        ("id,age\n" + "1,2\n" * 70_000 + "1\n" + "1,2\n" * 5, "line 70002: 1 field"),
        ("comment\nfine\nyes, and no\n", "line 3: 2 fields, where the header has 1"),
    ],
    ids=lambda text: text[:12].strip(),
)
def test_ragged_rows(tmp_path: Path, content: str, place: str) -> None:
    message = csv_refusal(tmp_path, content)
    assert message.startswith(f", {place}")
    other = "," if "separator ';'" in message else ";"
    assert f'Csv(separator="{other}")' in message


def test_ragged_rows_without_header(tmp_path: Path) -> None:
    message = csv_refusal(tmp_path, "1,2\n3,4\n5\n", Csv(header=False))
    assert message.startswith(", line 3: 1 field, where 2 are expected")


def test_duplicate_column_names(tmp_path: Path) -> None:
    message = csv_refusal(tmp_path, "zip,age,age,zip,sex\n1,2,3,4,5\n")
    assert "'age', 'zip'" in message
    assert "Csv(header=False)" in message


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"a,b\n1,2\n3,\x004\n", ", line 3: a NUL byte at offset 10"),
        (b"a\0,b\n1,2\n", ", line 1: a NUL byte at offset 1"),
        ("a,b\n1,2\n".encode("utf-16-le"), ", line 1: a NUL byte at offset 1"),
    ],
)
def test_nul_bytes(tmp_path: Path, content: bytes, place: str) -> None:
    message = csv_refusal(tmp_path, content)
    assert message.startswith(place)
    assert 'encoding="utf-16-le"' in message


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (
            "name,age\nAnn,1\nJosé,2\n".encode("latin-1"),
            ", line 3: the bytes at offset 18 (e9 2c 32 0a) are not UTF-8",
        ),
        ("naïve,age\nAnn,1\n".encode("cp1252"), ", line 1: the bytes at offset 2"),
        (b"a,b\n" + b"1,2\n" * 300_000 + b"\xff,2\n", ", line 300002: the bytes at offset 1200004"),
        (b"a,b\n1,\xe2\x82", ", line 2: the bytes at offset 6"),
    ],
    ids=["value", "header", "far", "cut off"],
)
def test_wrong_encoding(tmp_path: Path, content: bytes, place: str) -> None:
    message = csv_refusal(tmp_path, content)
    assert message.startswith(place)
    assert 'format=Csv(encoding="cp1252")' in message


def test_wrong_encoding_that_was_said(tmp_path: Path) -> None:
    message = csv_refusal(tmp_path, "a,b\né,1\n".encode(), Csv(encoding="ascii"))
    assert "line 2" in message
    assert "offset 4" in message
    assert "not ASCII" in message


@pytest.mark.parametrize(
    ("content", "line"),
    [('a,b\n1,2\n3,"x\n4,5\n6,7\n', 3), ('a,b\n"x,2\n3,4\n', 2), ('"a,b\n1,2\n', 1), ('a,b\n1,"x', 2)],
)
def test_a_quote_that_never_closes(tmp_path: Path, content: str, line: int) -> None:
    message = csv_refusal(tmp_path, content)
    assert message.startswith(f', line {line}: a quote (") is opened in this line and never closed')
    assert "Csv(quote=None)" in message


def test_no_permission(ordinary_user: Path) -> None:
    for name in ("p.csv", "p.parquet", "p.xlsx"):
        path = ordinary_user / name
        path.write_bytes(b"a\n1\n")
        path.chmod(0)
        assert "no permission" in refusal(path)


@pytest.mark.parametrize("name", ["t.xls", "t", "t.json", "t.parquet.gz"])
def test_unknown_ending(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("a\n1\n")
    message = refusal(tmp_path / name)
    assert "format=Csv()" in message
    assert (
        read(tmp_path / name if name != "t.parquet.gz" else _packed(tmp_path), format=Csv()).table.num_rows
        == 1
    )


def _packed(folder: Path) -> Path:
    path = folder / "t.gz"
    path.write_bytes(gzip.compress(b"a\n1\n"))
    return path


def test_a_broken_gzip_file(tmp_path: Path) -> None:
    path = tmp_path / "t.csv.gz"
    for content in (b"a\n1\n", gzip.compress(b"a\n1\n" * 1000)[:-10]):
        path.write_bytes(content)
        assert "gzip file" in refusal(path)


def test_a_csv_file_called_something_else(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    for format in (Parquet(), Feather(), Excel()):
        assert "not a readable" in refusal(path, format)
