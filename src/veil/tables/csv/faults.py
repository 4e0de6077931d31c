"""Finding the line at fault once the fast parser has refused a CSV file. Slow, and only run then."""

from __future__ import annotations

import csv
import io
import itertools
import sys
from pathlib import Path

from veil.errors import InputError, Say, Words
from veil.tables.csv.dialect import options, wrong_encoding
from veil.tables.formats import Csv

_HIGH = 20  # lines that a title and what else stands above a table may take
_END = "\0end"  # cannot be in a file: NUL bytes are refused before


def explain(data: bytes, width: int | None, format: Csv, path: Path) -> InputError | None:
    """Return an error that names the first line at fault, or ``None`` if there is no fault to be found.

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
    line, seen = 1, 0
    for fields in reader:
        if fields == [_END]:
            return None
        if any(field.endswith(_END) for field in fields):
            # The mark behind the last line was swallowed: a quote is still open there.
            return InputError(
                f"{path}, line {line}: a quote ({format.quote}) is opened in this line and never closed. "
                "Close or remove it; if quotes have no special meaning in this file, say ",
                Say("format", "Csv", quote=None),
            )
        if fields and width is not None and len(fields) != width:  # blank lines are never at fault
            title = len(fields) > width and (seen == 1 or width == 1) and line <= _HIGH
            return _ragged_error(len(fields), line, width, title, format, path)
        line = reader.line_num + 1
        seen += bool(fields)
    return None


def _ragged_error(found: int, line: int, width: int, title: bool, format: Csv, path: Path) -> InputError:
    expected = f"the header has {width}" if format.header else f"{width} are expected"
    # What was said about the file already has to be said again.
    told = {} if (format.encoding or "utf-8") in ("utf-8", "utf8") else {"encoding": format.encoding}
    skip: Words = (
        (". If the lines above are a title, say ", Say("format", "Csv", **told, skip=line - 1))
        if title
        else ()
    )
    return InputError(
        f"{path}, line {line}: {found} {'field' if found == 1 else 'fields'}, where {expected} (separator "
        f"{format.separator!r}). Correct the line, quote fields that hold the separator, or say another separator, "
        "for example ",
        Say("format", "Csv", **told, separator="," if format.separator == ";" else ";"),
        *skip,
    )
