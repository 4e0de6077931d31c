"""Finding the line at fault once the fast parser has refused a CSV file. Slow, and only run then."""

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

_HIGH = 20  # lines that a title and what else stands above a table may take
_LOOKED_AT = 200  # lines that show how many fields a table has
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
            start = _first_line_of_table(text, format) if title else None
            return _ragged_error(len(fields), line, width, start, format, path)
        line = reader.line_num + 1
        seen += bool(fields)
    return None


def _first_line_of_table(text: str, format: Csv) -> int:
    """Return the first line that has as many fields as most lines: what stands above is a title and its like."""
    lines = io.StringIO(text, newline="")
    reader = csv.reader(lines, **options(format.separator or ",", format))  # type: ignore[arg-type]
    widths: dict[int, int] = {}
    line = 1
    for fields in itertools.islice(reader, _LOOKED_AT):
        widths[line], line = len(fields), reader.line_num + 1
    usual = Counter(widths.values()).most_common(1)[0][0]
    return next(at for at, found in widths.items() if found == usual)


def _ragged_error(
    found: int, line: int, width: int, start: int | None, format: Csv, path: Path
) -> InputError:
    expected = f"the header has {width}" if format.header else f"{width} are expected"
    # What was said about the file already has to be said again.
    told = {} if (format.encoding or "utf-8") in ("utf-8", "utf8") else {"encoding": format.encoding}
    skip: Words = (
        (
            f". If the table begins in line {start}, below a title, say ",
            Say("format", "Csv", **told, skip=start - 1),
        )
        if start is not None
        else ()
    )
    return InputError(
        f"{path}, line {line}: {found} {'field' if found == 1 else 'fields'}, where {expected} (separator "
        f"{format.separator!r}). Correct the line, quote fields that hold the separator, or say another separator, "
        "for example ",
        Say("format", "Csv", **told, separator="," if format.separator == ";" else ";"),
        *skip,
    )
