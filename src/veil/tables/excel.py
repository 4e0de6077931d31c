"""Excel workbooks, through openpyxl, which is installed only on demand.

A column has a type if all its cells agree on one; otherwise every cell becomes text. Excel has no decimals
and no empty text: decimals come back as floats, empty text as missing. Two values that a sheet would show as
one are refused, as promises that count values would not hold for a reader of the sheet.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import io
import math
import re
import zipfile
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from veil.errors import InputError, MissingDependencyError, OutputError, Say, did_you_mean
from veil.tables.formats import Excel
from veil.tables.formulas import heed_formulas
from veil.tables.header import header_below
from veil.tables.reading import check_readable
from veil.tables.text import canonical_text, python_values
from veil.tables.workbook import MOST_COLUMNS, MOST_ROWS, check_workbook, reading_workbook, rectangle

_MAX_TEXT = 32_767
_HOLDABLE = (type(None), bool, int, float, Decimal, dt.date, dt.time)
_ESCAPED = re.compile(r"_x[0-9A-Fa-f]{4}_")
"""Escapes of characters that XML cannot hold: Excel reads `_x0041_` as `A`."""

_NO_CHARACTER = re.compile("[\ufffe\uffff]")
"""Characters that no XML document can hold, besides control characters."""

_DIGITS = 15
"""Digits that Excel keeps of a number."""

_SAMPLE = 200
_LONG_AGO = dt.datetime(1980, 1, 1)  # the first time that a zip file can hold
_MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*(Z</dcterms:modified>)")
_FIRST_DAY = dt.date(1900, 3, 1)  # the calendar of Excel has a 29 February 1900; before it, days are off


def read_excel(
    path: Path, format: Excel, *, as_text: bool = False, may_be_empty: bool = False
) -> tuple[pa.Table, Excel]:
    """Read one sheet; also return the format with the name of the sheet.

    With `as_text` no column gets a type: every cell is spelled by itself, and none is checked.
    """
    check_readable(path)
    with reading_workbook(path):
        has_formulas = check_workbook(path)
    sheet, cells = _sheet(path, format.sheet, _cells(path, format.sheet))
    where = f"{path}, sheet {sheet!r}"
    if has_formulas and not as_text:
        _check_formulas(path, sheet, cells)
    cells = cells[format.skip :]
    while format.header and cells and all(value is None for value in cells[0]):
        del cells[0]
    rows = cells[1:] if format.header else cells
    if as_text:  # blank rows at the end are invisible, so that those above must not count either
        rows = [row for row in rows if any(value is not None for value in row)]
    if not rows and not (may_be_empty and cells):
        raise InputError(f"{where}: a header but no rows. The table should hold at least one row")
    below = header_below(cells[0], rows[:_SAMPLE]) if format.header and not as_text else None
    if below is not None:
        raise InputError(
            f"{where}, row {format.skip + 1}: does not name all columns, although most rows have values in "
            "them. If the rows above the header are not part of the table, such as a title, say ",
            Say("format", "Excel", skip=format.skip + below + 1),
            "; if this is the header, name the columns",
        )
    names = [
        str(value) if format.header and value is not None else f"column_{number}"
        for number, value in enumerate(cells[0], 1)
    ]
    if as_text and format.header:  # a cell beyond the last name makes no column
        beyond = sum(1 for _ in takewhile(lambda value: value is None, reversed(cells[0])))
        del names[len(names) - beyond :]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(f"{where}: more than one column is named {', '.join(map(repr, twice))}. Rename them")
    make = _text_column if as_text else _column
    columns = [make([row[number] for row in rows]) for number in range(len(names))]
    return pa.table(columns, names=names), dataclasses.replace(format, sheet=sheet)


def write_excel(table: pa.Table, file: BinaryIO, format: Excel) -> None:
    """Write a workbook with one sheet."""
    openpyxl = _openpyxl()
    if table.num_rows + format.header > MOST_ROWS or table.num_columns > MOST_COLUMNS:
        raise OutputError(
            f"an Excel sheet holds at most {MOST_ROWS:,} rows and {MOST_COLUMNS:,} columns, not "
            f"{table.num_rows:,} and {table.num_columns:,}. Write CSV or Parquet"
        )
    heed_formulas(table, format.formulas, "Excel")
    for name in table.column_names:
        _check_text(name, "the header", openpyxl)
    # Everything is checked before openpyxl begins, because it does not clean up after a failure.
    columns = [_values(table.column(name), name, openpyxl) for name in table.column_names]
    # Only the last row would be lost; but the order may be random, and a table is always refused or never.
    if any(all(value in (None, "") for value in row) for row in zip(*columns, strict=True)):
        raise OutputError(
            "all values of a row are missing, and an Excel sheet does not show such a row if it is the last "
            "one. Write CSV or Parquet, leave such rows out, or give suppressed ones a marker"
        )
    book = openpyxl.Workbook(write_only=True)
    # No author and no time: the same table gives the same file.
    book.properties = openpyxl.packaging.core.DocumentProperties(
        creator=None, created=_LONG_AGO, modified=_LONG_AGO
    )
    sheet = book.create_sheet(format.sheet or "Sheet1")
    if format.header:
        sheet.append([_cell(sheet, name, openpyxl) for name in table.column_names])
    for row in zip(*columns, strict=True):
        sheet.append([_cell(sheet, value, openpyxl) for value in row])
    packed = io.BytesIO()  # in memory: an unfinished zip file raises another error when it is collected
    book.save(packed)
    file.write(_without_times(packed))


def _without_times(packed: io.BytesIO) -> memoryview:
    """Pack a workbook again with a fixed time, as openpyxl writes the current one in two places."""
    result = io.BytesIO()
    with zipfile.ZipFile(packed) as parts, zipfile.ZipFile(result, "w") as again:
        for part in parts.infolist():
            content = parts.read(part)
            if part.filename == "docProps/core.xml":
                content = _MODIFIED.sub(rb"\g<1>%s\g<2>" % _LONG_AGO.isoformat().encode(), content)
            again.writestr(
                zipfile.ZipInfo(part.filename, _LONG_AGO.timetuple()[:6]), content, zipfile.ZIP_DEFLATED
            )
    return result.getbuffer()


def _openpyxl() -> Any:
    try:
        import openpyxl
    except ImportError:
        raise MissingDependencyError(
            "Excel files need openpyxl. Install it with: pip install 'veil-anonymizer[excel]'"
        ) from None
    return openpyxl


def _cells(path: Path, sheet: str | None, *, values: bool = True) -> dict[str, list[list[Any]]]:
    """Return the rows of one sheet, or of all sheets; formulas as their value or their text."""
    openpyxl = _openpyxl()
    with reading_workbook(path), path.open("rb") as file:
        book = openpyxl.load_workbook(file, read_only=True, data_only=values)
        if sheet is not None and sheet not in book.sheetnames:
            raise InputError(f"{path}: there is no sheet {sheet!r}.{did_you_mean(sheet, book.sheetnames)}")
        sheets = {}
        for each in book.worksheets:
            if sheet in (None, each.title):
                each.reset_dimensions()  # some programs write wrong ones
                # One row beyond the last possible one: rows with larger numbers are not waited for.
                rows = each.iter_rows(values_only=True, max_row=MOST_ROWS + 1)
                sheets[each.title] = rectangle(rows, f"{path}, sheet {each.title!r}")
        return sheets


def _sheet(path: Path, name: str | None, sheets: dict[str, list[list[Any]]]) -> tuple[str, list[list[Any]]]:
    filled = {title: rows for title, rows in sheets.items() if rows}
    if not filled:
        which = f"sheet {name!r}" if name is not None else "the workbook"
        raise InputError(f"{path}: {which} is empty. It should hold a table with at least one row")
    if len(filled) > 1:
        titles = ", ".join(map(repr, filled))
        raise InputError(
            f"{path}: more than one sheet holds data: {titles}. Choose with ",
            Say("format", "Excel", sheet=...),
        )
    return next(iter(filled.items()))


def _column(values: list[Any]) -> pa.Array:
    kinds = {type(value) for value in values if value is not None}
    try:
        if not kinds:
            return pa.nulls(len(values), pa.string())
        if kinds == {dt.datetime}:
            days = all(value is None or value.time() == dt.time() for value in values)
            return pa.array(values, pa.timestamp("us")).cast(pa.date32() if days else pa.timestamp("us"))
        if kinds == {int, float}:
            floats = [None if value is None else float(value) for value in values]
            if floats == values:
                return pa.array(floats, pa.float64())
        elif len(kinds) == 1 and kinds <= {int, float, bool, str, dt.date, dt.time}:
            return pa.array(values)
    except (pa.ArrowInvalid, OverflowError):
        pass
    return _text_column(values)


def _text_column(values: list[Any]) -> pa.Array:
    return pa.array([_as_text(value) for value in values], pa.string())


def _as_text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool | int | float | dt.datetime | dt.date) and not _huge(value):
        return canonical_text(pa.array([value]))[0]
    return str(value)


def _huge(value: Any) -> bool:
    return isinstance(value, int) and abs(value) >= 1 << 63


def _check_formulas(path: Path, sheet: str, stored: list[list[Any]]) -> None:
    """Refuse formulas without a stored value, which look like missing values."""
    for number, formulas in enumerate(_cells(path, sheet, values=False)[sheet]):
        row = stored[number] if number < len(stored) else []
        for place, formula in enumerate(formulas):
            value = row[place] if place < len(row) else None
            if value is None and formula is not None:
                raise InputError(
                    f"{path}, sheet {sheet!r}, row {number + 1}, column {place + 1}: the formula {formula!r} "
                    "has no stored value. Open the workbook in Excel and save it, so that it is calculated"
                )


def _values(column: pa.ChunkedArray, name: str, openpyxl: Any) -> list[Any]:
    """Return values for Excel; times that are zoned, early, far or too exact and long numbers become text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return canonical_text(column)
    column = as_doubles(column)
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        exact = column
        column = column.cast(pa.timestamp("us"), safe=False)
        if not column.cast(kind).equals(exact):
            return canonical_text(exact)
    values = python_values(column)
    if pa.types.is_temporal(kind) and any(isinstance(value, dt.date) and _early(value) for value in values):
        return canonical_text(column)
    if any(map(_is_too_exact, values)):
        return canonical_text(column)
    for value in values:
        if isinstance(value, str):
            _check_text(value, f"column {name!r}", openpyxl)
        elif not isinstance(value, _HOLDABLE):
            raise OutputError(
                f"column {name!r} has type {kind}, which an Excel sheet cannot hold. Write Parquet or "
                "Feather, turn the column into text, or drop it"
            )
        elif isinstance(value, float) and math.isinf(value):
            raise OutputError(
                f"column {name!r} holds {value}, and an Excel sheet cannot hold infinite numbers. Write CSV "
                "or Parquet"
            )
    _check_distinguishable(values, name)
    return values


def as_doubles(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return short floats as the doubles with the same spelling: 0.1, not 0.10000000149011612."""
    kind = column.type
    is_short = pa.types.is_floating(kind) and kind != pa.float64()
    return column.cast(pa.string()).cast(pa.float64()) if is_short else column


def _is_too_exact(value: Any) -> bool:
    """Whether Excel would cut digits off: it keeps fifteen of a number, and milliseconds of a time."""
    if isinstance(value, int | Decimal):
        return not isinstance(value, bool) and Decimal(f"{value:.{_DIGITS}g}") != value
    return isinstance(value, dt.datetime) and bool(value.microsecond % 1000)


def _check_distinguishable(values: list[Any], name: str) -> None:
    """Refuse a column with two values that a sheet would show as one."""
    first: dict[Any, Any] = {}
    for value in set(values):
        sheet_value = _sheet_value(value)
        if sheet_value in first:
            one, other = sorted(map(_name, (first[sheet_value], value)))
            raise OutputError(
                f"column {name!r} holds {one} and {other}, which look the same in an Excel sheet. Write CSV "
                "or Parquet, or unify them in the input"
            )
        first[sheet_value] = value


def _name(value: Any) -> str:
    return "a missing value" if value is None else "an empty text" if value == "" else str(value)


def _sheet_value(value: Any) -> Any:
    """Return a value as Excel keeps it: no empty text, and fifteen digits of a number."""
    if value is None or value == "":
        return None
    if isinstance(value, dt.time):
        return value.replace(microsecond=value.microsecond // 1000 * 1000)
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _early(value: dt.date) -> bool:
    return (value.date() if isinstance(value, dt.datetime) else value) < _FIRST_DAY


def _check_text(text: str, where: str, openpyxl: Any) -> None:
    if len(text) > _MAX_TEXT:
        raise OutputError(
            f"{where} holds a text of {len(text):,} characters; Excel allows {_MAX_TEXT:,}. Write CSV or Parquet"
        )
    if openpyxl.cell.cell.ILLEGAL_CHARACTERS_RE.search(text) or _NO_CHARACTER.search(text):
        raise OutputError(
            f"{where} holds {text!r} with control characters, which Excel refuses. Write CSV or Parquet"
        )
    if "\r" in text or _ESCAPED.search(text):
        raise OutputError(
            f"{where} holds {text!r}, which Excel would read as a different text. Write CSV or Parquet, or "
            "remove the carriage return or the escape sequence from it"
        )


def _cell(sheet: Any, value: Any, openpyxl: Any) -> Any:
    """Return a cell: text even if it looks like a formula, and floats with all digits."""
    if isinstance(value, float):
        cell = openpyxl.cell.WriteOnlyCell(sheet, 0.0)
        cell._value = repr(value)  # openpyxl would write sixteen digits
        return cell
    if not isinstance(value, str):
        return value
    cell = openpyxl.cell.WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell
