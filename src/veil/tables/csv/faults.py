"""The line at fault in a CSV file that the fast parser has refused. Slow, and only run then."""

from __future__ import annotations

import csv
import io
import itertools
import sys
from collections import Counter
from pathlib import Path

from veil.errors import InputError, Say, Words
from veil.tables.csv.dialect import options, wrong_encoding
from veil.tables.formats import Csv

_HIGH = 20  # lines above a table, such as a title, at most
_SAMPLE = 200  # lines from which the usual number of fields is taken
_END = "\0end"  # cannot be in a file: NUL bytes are refused before


def explain(data: bytes, width: int | None, format: Csv, path: Path) -> InputError | None:
    """Return an error that names the first line at fault, or ``None`` if there is no fault.

    Faults are bytes that are not text, a quote that is never closed, and, if `width` is given, a number of
    fields that differs from it. `data` is the whole file as UTF-8, `format` a dialect without unknowns.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        return wrong_encoding(data, error, "utf-8", path)
    limit = csv.field_size_limit(sys.maxsize)
    try:
        return _first_fault(text, width, format, path)
    finally:
        csv.field_size_limit(limit)


def _first_fault(text: str, width: int | None, format: Csv, path: Path) -> InputError | None:
    lines = itertools.chain(io.StringIO(text, newline=""), [_END])
    reader = csv.reader(lines, **options(format.separator or ",", format))  # type: ignore[arg-type]
    line, records = 1, 0
    for fields in reader:
        if fields == [_END]:
            return None
        if any(field.endswith(_END) for field in fields):
            # The end mark became part of a field: a quote is still open.
            return InputError(
                f"{path}, line {line}: a quote ({format.quote}) is opened in this line and never closed. "
                "Close or remove it; if quotes have no special meaning in this file, say ",
                Say("format", "Csv", quote=None),
            )
        if fields and width is not None and len(fields) != width:  # blank lines are never at fault
            title = len(fields) > width and (records == 1 or width == 1) and line <= _HIGH
            start = _first_line_of_table(text, format) if title else None
            return _ragged_error(len(fields), line, width, start, format, path)
        line = reader.line_num + 1
        records += bool(fields)
    return None


def _first_line_of_table(text: str, format: Csv) -> int:
    """Return the first line that has as many fields as most lines; those above are a title or the like."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, **options(format.separator or ",", format))  # type: ignore[arg-type]
    widths: dict[int, int] = {}
    line = 1
    for fields in itertools.islice(reader, _SAMPLE):
        widths[line], line = len(fields), reader.line_num + 1
    usual = Counter(widths.values()).most_common(1)[0][0]
    return next(at for at, width in widths.items() if width == usual)


def _ragged_error(
    fields: int, line: int, width: int, start: int | None, format: Csv, path: Path
) -> InputError:
    expected = f"the header has {width}" if format.header else f"{width} are expected"
    # A way out repeats the encoding that was given.
    encoding = {} if (format.encoding or "utf-8") in ("utf-8", "utf8") else {"encoding": format.encoding}
    skip: Words = (
        (
            f". If the table begins in line {start}, below a title, say ",
            Say("format", "Csv", **encoding, skip=start - 1),
        )
        if start is not None
        else ()
    )
    return InputError(
        f"{path}, line {line}: {fields} {'field' if fields == 1 else 'fields'}, where {expected} (separator "
        f"{format.separator!r}). Correct the line, quote fields that hold the separator, or say another separator, "
        "for example ",
        Say("format", "Csv", **encoding, separator="," if format.separator == ";" else ";"),
        *skip,
    )
