"""CSV line by line: what a row says follows from its own line, whatever the others hold, in every encoding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.dp.poison import LINES
from veil.tables.csv import lines as lines_module
from veil.tables.csv.lines import read_lines
from veil.tables.formats import Csv

FORMATS = [
    Csv(),
    Csv(separator=";", quote="'"),
    Csv(quote=None),
    Csv(escape="\\"),
    Csv(quote=None, escape="^"),
    Csv(separator="\t", missing=("NA",)),
]
PIECES = [
    b'"',
    b'""',
    b"'",
    b",",
    b";",
    b"\t",
    b"\\",
    b"^",
    b"a",
    b"7",
    b" ",
    b"\0",
    b"\xff",
    b"\xe2\x82",
    b"NA",
]
LINE = st.lists(st.sampled_from([*PIECES, "\ufeff".encode(), "\u2028\x85\x0b\x1c".encode()]), max_size=7).map(
    b"".join
)


def rows_of(lines: list[bytes], format: Csv, names: str, place: Path, end: bytes = b"\n") -> list[Any]:
    """Return each row of a file with some lines, and whether it is a record."""
    header = (format.separator or ",").join(names).encode()
    file = place / "lines.csv"
    file.write_bytes(end.join([header, *lines, b""]))
    table, is_record, _ = read_lines(file, format)
    return list(zip((tuple(row.values()) for row in table.to_pylist()), is_record.tolist(), strict=True))


@settings(max_examples=600)
@given(
    lines=st.lists(LINE, min_size=1, max_size=6),
    format=st.sampled_from(FORMATS),
    names=st.sampled_from(["a", "ab", "abc"]),
    end=st.sampled_from([b"\n", b"\r\n", b"\r"]),
)
def test_a_row_follows_from_its_own_line(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], format: Csv, names: str, end: bytes
) -> None:
    place = tmp_path_factory.getbasetemp()
    found = rows_of(lines, format, names, place, end)
    assert found == [row for line in lines for row in rows_of([line], format, names, place)]
    assert len(found) == len(lines)
    assert all(is_record or not any(row) for row, is_record in found)


@pytest.mark.parametrize("name", LINES)
def test_a_line_of_any_kind_is_one_row(tmp_path: Path, name: str) -> None:
    before, after = [b"A,30,f"] * 3, [b'B,"31",m', b"C,32,f"]
    plain = rows_of([*before, b"X,1,m", *after], Csv(), "abc", tmp_path)
    strange = rows_of([*before, LINES[name], *after], Csv(), "abc", tmp_path)
    assert [*strange[:3], *strange[4:]] == [*plain[:3], *plain[4:]]


STATEFUL = ("utf-7", "hz", "iso2022_jp", "iso2022_jp_2004", "iso2022_kr", "shift_jis", "gb18030", "cp037")


@pytest.mark.parametrize("encoding", STATEFUL)
def test_no_sign_of_an_encoding_holds_beyond_its_line(tmp_path: Path, encoding: str) -> None:
    """Those that shift, open a block, or end in half of a character; and spell a line break otherwise."""
    signs = [b"+", b"+AAo-", b"~{", b"~", b"\x1b$B", b"\x1b$", b"\x1b(", b"\x0e", b"\x81", b"\x81\x30\x81"]
    end = "\n".encode(encoding)
    first, rest = ([text.encode(encoding) for text in texts] for texts in (["a,b"], ["1,2", "3,4"]))
    for sign in signs:
        (tmp_path / "lines.csv").write_bytes(end.join([*first, sign, *rest, b""]))
        table, is_record, _ = read_lines(tmp_path / "lines.csv", Csv(encoding=encoding))
        assert table["a"].to_pylist()[1:] == ["1", "3"], sign
        assert is_record.tolist()[1:] == [True, True]


def test_a_line_longer_than_any_parser_holds_is_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "_LONGEST", 10)
    found = rows_of([b"1,2", b"1," + b"2" * 20, b"3,4"], Csv(), "ab", tmp_path)
    assert found == [(("1", "2"), True), ((None, None), False), (("3", "4"), True)]
