"""Workbooks that are damaged, or made to harm: each is refused in a sentence, soon and in little memory."""

from __future__ import annotations

import contextlib
import io
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from veil.errors import InputError
from veil.tables import read, write

SHEET = "xl/worksheets/sheet1.xml"
TABLE = pa.table({"name": ["Ada", "Bob"], "age": [23, 27]})
LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


def changed(path: Path, change: Callable[[str], str | bytes], part: str = SHEET) -> Path:
    """Write a workbook of which one part was changed."""
    write(TABLE, path)
    with zipfile.ZipFile(path) as parts:
        held = {name: parts.read(name) for name in parts.namelist()}
    made = change(held[part].decode())
    held[part] = made.encode() if isinstance(made, str) else made
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as again:
        for name, content in held.items():
            again.writestr(name, content)
    path.write_bytes(packed.getvalue())
    return path


def sheet(rows: str) -> str:
    space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{space}"><sheetData>{rows}</sheetData></worksheet>'


def after_prolog(text: str, added: str) -> str:
    return added + text.partition("?>")[2] if text.startswith("<?xml") else added + text


CASES: dict[str, tuple[Callable[[str], str | bytes], str]] = {
    "a billion laughs": (lambda text: after_prolog(text, LAUGHS), "has a document type"),
    "an external entity": (
        lambda text: after_prolog(text, '<!DOCTYPE x SYSTEM "file:///etc/hostname">'),
        "has a document type",
    ),
    "a document type in UTF-16": (
        lambda text: ('<?xml version="1.0" encoding="utf-16"?>' + after_prolog(text, LAUGHS)).encode("utf-16"),
        "has a document type",
    ),
    "an encoding of letters that look like others": (
        lambda text: b'<?xml version="1.0" encoding="cp037"?>' + text.encode("cp037"),
        "is written in 'cp037'",
    ),
    "a row far below": (
        lambda _: sheet('<row r="1"><c r="A1"><v>1</v></c></row><row r="999999999"><c r="A999999999"><v>1</v></c></row>'),
        "spans more than 1,048,576 rows",
    ),
    "rows as wide as can be": (
        lambda _: sheet("".join(f'<row r="{at}"><c r="XFD{at}"><v>1</v></c></row>' for at in range(1, 4001))),
        "50,000,000 cells",
    ),
    "a wide row above many": (
        lambda _: sheet(
            '<row r="1"><c r="XFD1"><v>1</v></c></row>'
            + "".join(f'<row r="{at}"><c r="A{at}"><v>1</v></c></row>' for at in range(2, 4001))
        ),
        "50,000,000 cells",
    ),
    "far more than it is": (lambda _: sheet(" " * 150_000_000), "which is suspiciously large"),
    "half a sheet": (lambda text: text[: len(text) // 2], "not a readable Excel workbook"),
    "no sheet": (lambda _: "", "not a readable Excel workbook"),
    "a cell nowhere": (lambda text: text.replace('r="A1"', 'r="??"'), "not a readable Excel workbook"),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_hostile_workbooks_are_refused_soon(tmp_path: Path, case: str) -> None:
    change, told = CASES[case]
    path = changed(tmp_path / "table.xlsx", change)
    if "wide" in case or "far more" in case:  # which takes its time
        tracemalloc.start()
    begun = time.process_time()
    with pytest.raises(InputError) as found:
        read(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert told in str(found.value)
    assert "table.xlsx" in str(found.value)
    assert time.process_time() - begun < 100  # three seconds, and thirty where lines and memory are traced
    assert most < 700e6


def test_every_place_may_be_damaged(tmp_path: Path) -> None:
    """Cut off, or with a wrong byte, at many places: a table, or a sentence."""
    path = tmp_path / "table.xlsx"
    write(TABLE, path)
    whole = path.read_bytes()
    for at in range(0, len(whole), 61):
        for content in (whole[:at], whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :]):
            path.write_bytes(content)
            with contextlib.suppress(InputError):
                read(path)


def test_what_stands_in_cells_is_not_told(tmp_path: Path) -> None:
    path = changed(tmp_path / "table.xlsx", lambda text: text.replace("<v>23</v>", "<v>Quasimodo</v>"))
    with pytest.raises(InputError) as found:
        read(path)
    assert "Quasimodo" not in str(found.value)


def test_blank_cells_around_a_table_are_left_out(tmp_path: Path) -> None:
    rows = '<row r="1"><c r="A1" t="inlineStr"><is><t>age</t></is></c><c r="ZZ1"/></row><row r="2"><c r="A2"><v>7</v></c></row>'
    path = changed(tmp_path / "t.xlsx", lambda _: sheet(rows + '<row r="90000"><c r="C90000"/></row>'))
    assert read(path).table.to_pydict() == {"age": [7]}
