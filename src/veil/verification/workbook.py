"""The check of an Excel workbook, part by part: a package of XML files, read with Python's parser."""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import re
import xml.etree.ElementTree as ET
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.tables.columns import is_text
from veil.tables.excel import as_doubles, write_excel
from veil.tables.formats import Excel
from veil.tables.text import canonical_text, python_values

_SHEET = "xl/worksheets/sheet1.xml"
_TEXTS = "xl/sharedStrings.xml"
_PARTS = {
    "[Content_Types].xml",
    "_rels/.rels",
    "docProps/app.xml",
    "docProps/core.xml",
    "xl/_rels/workbook.xml.rels",
    "xl/styles.xml",
    "xl/theme/theme1.xml",
    "xl/workbook.xml",
    _SHEET,
    _TEXTS,
}
_PROPERTIES = {"coreProperties", "creator", "created", "modified", "Properties", "Application", "AppVersion"}
_BESIDE_CELLS = {"sheetPr", "dimension", "sheetViews", "sheetFormatPr", "cols", "sheetData", "pageMargins"}
_PROGRAM = ("openpyxl", "Veil", "Microsoft Excel")
_DAY_ZERO = dt.datetime(1899, 12, 30)
_INSTANT = 1e-8
"""Days, about a millisecond: the precision of a time in Excel."""


def in_workbook(path: Path, verified: pa.Table, *, header: bool) -> Iterator[str]:
    """Describe what a workbook holds besides the cells of a verified table."""
    with zipfile.ZipFile(path) as package:
        names = package.namelist()
        if set(names) - _PARTS or len(set(names)) != len(names) or package.comment:
            yield "parts besides its sheet"
            return
        if any(each.comment or each.extra for each in package.infolist()):
            yield "notes on its parts"
        if not all(map(_is_plain_property, _properties(package))):
            yield "document properties"
        book = ET.fromstring(package.read("xl/workbook.xml"))
        if len(_inside(book, "sheets")) != 1 or len(_inside(book, "definedNames")):
            yield "sheets or names besides its sheet"
        shared = _shared_texts(package) if _TEXTS in names else []
        yield from _in_sheet(package, shared, verified, header=header)


def _properties(package: zipfile.ZipFile) -> Iterator[ET.Element]:
    for name in ("docProps/core.xml", "docProps/app.xml"):
        yield from ET.fromstring(package.read(name)).iter()


def _is_plain_property(element: ET.Element) -> bool:
    name, text = _name(element), element.text or ""
    return name in _PROPERTIES and (
        name not in ("creator", "Application") or not text or text.startswith(_PROGRAM)
    )


def _inside(book: ET.Element, name: str) -> list[ET.Element]:
    return [inner for each in book if _name(each) == name for inner in each]


def _shared_texts(package: zipfile.ZipFile) -> list[str]:
    return ["".join(each.itertext()) for each in ET.fromstring(package.read(_TEXTS))]


def _in_sheet(
    package: zipfile.ZipFile, shared: list[str], verified: pa.Table, *, header: bool
) -> Iterator[str]:
    expected = _rows(verified, header=header)
    used: set[int] = set()
    with package.open(_SHEET) as file:
        parsed: Any = ET.iterparse(file)
        for _, element in parsed:
            if not element.tag.endswith("}row"):
                continue
            row = next(expected, None)
            if row is None:
                yield "another number of rows than was verified"
                return
            cells = {_place(cell): _value(cell, shared, used) for cell in element}
            for number, (value, text) in enumerate(row):
                if not _is_same(cells.pop(number, None), value, text):
                    yield f"other cells than were verified (column {verified.column_names[number]!r})"
                    return
            if any(each not in (None, "") for each in cells.values()):
                yield "other columns than were verified"
                return
            element.clear()
    if {_name(each) for each in parsed.root} - _BESIDE_CELLS:
        yield "more than cells on its sheet"
    if any(value not in (None, "") for row in expected for value, _ in row):
        yield "another number of rows than was verified"
    if len(used) != len(shared):
        yield "texts that no cell has"


def forms_in_workbook(path: Path, names: list[str], *, header: bool) -> Iterator[str]:
    """Describe columns of a sheet with one value in several forms: number and text, more zeros, or styles."""
    with zipfile.ZipFile(path) as package:
        parts = package.namelist()
        shared = _shared_texts(package) if _TEXTS in parts else []
        if _SHEET not in parts:
            return
        forms_of: dict[tuple[int, str], set[tuple[str, ...]]] = {}
        with package.open(_SHEET) as file:
            parsed: Any = ET.iterparse(file)
            is_first = header
            for _, element in parsed:
                if not element.tag.endswith("}row"):
                    continue
                for cell in () if is_first else element:
                    value = _value(cell, shared, set())
                    if value not in (None, ""):
                        text = repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
                        form = (cell.get("t", "n"), cell.get("s", "0"), "".join(cell.itertext()))
                        # A list of shared texts may contain the same one twice.
                        form = form if form[0] in ("n", "b") else (*form[:2], str(value))
                        forms_of.setdefault((_place(cell), text), set()).add(form)
                is_first = False
                element.clear()
    twice = {number for (number, _), cell_forms in forms_of.items() if len(cell_forms) > 1}
    yield from (
        f"one value in several spellings (column {names[number]!r})"
        for number in sorted(twice)
        if number < len(names)
    )


def layout_of_workbook(path: Path, *, header: bool) -> Iterator[str]:
    """Describe rows of a sheet that are written otherwise: hidden, or of other height, style or spelling."""
    with zipfile.ZipFile(path) as package:
        if _SHEET not in package.namelist():
            return
        shared = ET.fromstring(package.read(_TEXTS)) if _TEXTS in package.namelist() else ET.Element("sst")
        texts = ["".join(each.itertext()) for each in shared]
        odd = set()
        if len(set(texts)) < len(texts) or {_name(each) for each in shared.iter()} - {"sst", "si", "t"}:
            odd.add("one text in several forms")
        rows: set[frozenset[tuple[str, str]]] = set()
        looks: dict[int, set[tuple[str | None, ...]]] = {}
        last = None
        if _BETWEEN.search(package.read(_SHEET)):
            odd.add("notes or blanks between cells")
        with package.open(_SHEET) as file:
            for number, element in enumerate(
                each for _, each in ET.iterparse(file) if each.tag.endswith("}row")
            ):
                at = int(element.get("r", number + 1))
                odd |= {"blank rows between records"} if last is not None and at != last + 1 else set()
                last = at
                if header and number == 0:
                    continue
                rows.add(
                    frozenset(
                        (name, "" if name == "spans" else value)
                        for name, value in element.items()
                        if name != "r"
                    )
                )
                for cell in element:
                    odd |= _oddities(cell, texts, looks)
                element.clear()
    if len(rows) > 1:
        odd.add("rows that are hidden, high or styled otherwise")
    if any(len(each) > 1 for each in looks.values()):
        odd.add("cells of a column in several types, styles or spellings")
    yield from sorted(odd)


def other_parts(path: Path, table: pa.Table, format: Excel) -> Iterator[str]:
    """Name the parts of the package, or its properties, that differ from what this version of Veil writes."""
    columns = [
        pa.array(["text"]) if is_text(each.type) else each.drop_null().slice(0, 1).combine_chunks()
        for each in table.columns
    ]
    # A row of missing values would not be written.
    cells = [each if len(each) else pa.array(["text"]) for each in columns]
    packed = io.BytesIO()
    sample = pa.table(cells, table.column_names)
    write_excel(sample, packed, dataclasses.replace(format, skip=0, formulas="keep"))
    with zipfile.ZipFile(path) as package, zipfile.ZipFile(packed) as again:
        if list(map(_entry, package.infolist())) != list(map(_entry, again.infolist())) or _has_gaps(
            package, path
        ):
            yield "times, order or packing of its parts"
        for name in sorted({*package.namelist(), *again.namelist()}):
            both = [each.read(name) if name in each.namelist() else b"" for each in (package, again)]
            if name == _SHEET:
                both = [_ROWS.sub(b"", each) for each in both]
            if both[0] != both[1]:
                yield name


_ROWS = re.compile(rb"<sheetData>.*</sheetData>", re.DOTALL)
_BETWEEN = re.compile(rb"<!--|<\?(?!xml )|[^?]>\s+<(?!/t>)")
"""Text between the cells of a sheet, which no reader shows."""


def _entry(part: zipfile.ZipInfo) -> tuple[object, ...]:
    return (
        part.filename, part.date_time, part.compress_type, part.create_system, part.flag_bits, part.external_attr,
        part.comment, part.extra,
    )  # fmt: skip


def _has_gaps(package: zipfile.ZipFile, path: Path) -> bool:
    """Whether bytes precede, separate or follow the parts of a package and its directory."""
    at = size = 0
    for part in package.infolist():
        if part.header_offset != at:
            return True
        at += 30 + len(part.filename.encode()) + part.compress_size
        size += 46 + len(part.filename.encode())
    return at + size + 22 != path.stat().st_size


_AS_TEXT = re.compile(r"-?[0-9]{15,}|[0-9]+-[0-9]{2}-[0-9]{2}.*")
"""Numbers and dates that a workbook cannot represent and has as text."""


def _oddities(cell: ET.Element, shared: list[str], looks: dict[int, set[tuple[str | None, ...]]]) -> set[str]:
    """Describe what a cell holds besides its value; collect type, style and spelling of numbers by column."""
    inside = {_name(each) for each in cell.iter()} - {"c", "v", "is", "t"}
    if inside or set(cell.keys()) - {"r", "s", "t"}:
        return {"formulas or formats inside of cells"}
    odd: set[str] = set()
    kind, value = cell.get("t", "n"), _value(cell, shared, set())
    if value is None or (isinstance(value, str) and (not value or _AS_TEXT.fullmatch(value))):
        return odd
    looks.setdefault(_place(cell), set()).add((kind, cell.get("s")))
    text = "".join(cell.itertext())
    if isinstance(value, float) and value.is_integer() and text in (repr(value), repr(value)[:-2]):
        looks.setdefault(-1 - _place(cell), set()).add((text[-2:] if text.endswith(".0") else None,))
    elif isinstance(value, float) and text not in _spellings(value):
        odd.add("numbers in a spelling of their own")
    return odd


def _spellings(number: float) -> set[str]:
    """Return the ways in which writers spell a number."""
    spellings = {str(int(number)) if number.is_integer() else repr(number)}
    spellings |= {f"{number:.{digits}g}" for digits in (15, 16, 17)}
    return spellings | {each.replace("e", "E") for each in spellings}


def _rows(verified: pa.Table, *, header: bool) -> Iterator[tuple[tuple[Any, str | None], ...]]:
    """Yield rows of values, each with the text that may represent it."""
    if header:
        yield tuple((name, name) for name in verified.column_names)
    for at in range(0, verified.num_rows, 1 << 14):
        piece = verified.slice(at, 1 << 14)
        columns = [zip(python_values(as_doubles(each)), _texts(each), strict=True) for each in piece.columns]
        yield from zip(*columns, strict=True)


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if (
        pa.types.is_timestamp(kind)
        or pa.types.is_date(kind)
        or pa.types.is_string(kind)
        or _has_long_numbers(kind)
    ):
        return canonical_text(column)
    return [None] * len(column)


def _has_long_numbers(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_decimal(kind))


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2]


def _place(cell: ET.Element) -> int:
    """Return the number of a column, from its letters.

    >>> _place(ET.Element("c", r="AB7"))
    27
    """
    number = 0
    for letter in cell.get("r", "").rstrip("0123456789"):
        number = 26 * number + ord(letter) - ord("A") + 1
    return number - 1


def _value(cell: ET.Element, shared: list[str], used: set[int]) -> Any:
    text = "".join(cell.itertext())
    kind = cell.get("t", "n")
    if kind == "s":
        used.add(int(text))
        return shared[int(text)]
    if kind in ("inlineStr", "str"):
        return text
    return None if not text else text == "1" if kind == "b" else float(text)


def _is_same(cell: Any, value: Any, text: str | None) -> bool:
    if isinstance(cell, str) or cell is None:
        return (cell or None) == (text or None) and (value is None or text is not None)
    if value is None or isinstance(cell, bool) is not isinstance(value, bool):
        return False
    if isinstance(value, dt.datetime):
        return bool(abs((value - _DAY_ZERO) / dt.timedelta(days=1) - cell) < _INSTANT)
    if isinstance(value, dt.date):
        return bool((value - _DAY_ZERO.date()).days == cell)
    if isinstance(value, dt.time):
        time = dt.timedelta(
            hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
        )
        return bool(abs(time / dt.timedelta(days=1) - cell) < _INSTANT)
    return not isinstance(value, str) and cell == float(value)
