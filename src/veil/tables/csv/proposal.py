"""Proposals of a format for a CSV file that could not be read, for the user to confirm.

The reader detects only what is certain. The guess made here is shown with the first lines as they would be
read, and is used only once the user has confirmed it.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections import Counter
from typing import Any

from veil.tables.csv.dialect import SEPARATORS, marked_encoding, options
from veil.tables.formats import Csv
from veil.tables.header import header_below

HEAD = 1 << 17
"""Bytes that suffice to detect the layout of a file."""

_COMMA = re.compile(r"[-+]?(\d{1,3}(\.\d{3})+|\d+),\d+")
_POINT = re.compile(r"[-+]?(\d{1,3}(,\d{3})+|\d+)\.\d+")


def propose_format(head: bytes) -> Csv:
    r"""Propose how to read a file that begins with these bytes.

    >>> it = propose_format("Klinik\nStand 2024\n\nName;Kosten\nJörg;1.664,71\nKäthe;770,27\n".encode("cp1252"))
    >>> it.encoding, it.separator, it.decimal, it.thousands, it.skip
    ('cp1252', ';', ',', '.', 3)
    """
    encoding = _encoding(head)
    text = decoded(head, encoding)
    separator, records = _records(text)
    width = _usual(records)
    wide = [(line, fields) for line, fields in records if len(fields) == width]
    # Spreadsheets pad the lines of a title with empty fields.
    below = header_below(wide[0][1], [fields for _, fields in wide[1:]]) if wide else None
    skip = wide[0 if below is None else below + 1][0] if wide else 0
    cells = [cell for line, fields in records if line > skip for cell in fields]
    comma, point = _numbers(_COMMA, cells, separator, "."), _numbers(_POINT, cells, separator, ",")
    decimal, grouped = (",", comma[1]) if comma[0] > point[0] else (".", point[1])
    thousands = ("." if decimal == "," else ",") if grouped else None
    return Csv(separator, encoding, decimal=decimal, thousands=thousands, skip=skip)  # type: ignore[arg-type]


def propose_reading(data: bytes) -> dict[str, Any]:
    r"""Propose the parameters of `Csv` that are needed to read a file.

    The marks of numbers are left out, as they decide their values.

    >>> propose_reading("Klinik\nStand 2024\n\nName;Kosten\nJörg;1.664,71\nKäthe;770,27\n".encode("cp1252"))
    {'encoding': 'cp1252', 'skip': 3}
    """
    encoding, skip = _encoding(data), propose_format(data[:HEAD]).skip
    if encoding is None and marked_encoding(data) is None:
        try:
            data.decode()
        except UnicodeDecodeError:  # only the last character is cut off, which `_encoding` allows in a sample
            encoding = "cp1252"
    return ({"encoding": encoding} if encoding else {}) | ({"skip": skip} if skip else {})


def decoded(head: bytes, encoding: str | None) -> str:
    """Read the beginning of a file as text, without a character that is cut off at its end."""
    name = encoding or marked_encoding(head) or "utf-8"
    return codecs.getincrementaldecoder(name)("replace").decode(head).removeprefix("\ufeff")


def _encoding(head: bytes) -> str | None:
    """Guess the encoding; None if it is detected: UTF-8, or that of a byte order mark."""
    if marked_encoding(head) is not None:
        return None
    if (nuls := head.count(b"\0")) > len(head) // 8:
        width = 32 if nuls > len(head) * 5 // 8 else 16
        return (
            f"utf-{width}-le"
            if head[1::2].count(b"\0") * 2 > nuls or head[:1] != b"\0"
            else f"utf-{width}-be"
        )
    for name in (None, "cp1252"):
        try:
            codecs.getincrementaldecoder(name or "utf-8")().decode(head)
        except UnicodeDecodeError:
            continue
        return name
    return "latin-1"  # has a character for every byte


def _records(text: str) -> tuple[str, list[tuple[int, list[str]]]]:
    """Return the separator by which most records are equally wide, and the records, with the lines above."""
    best: tuple[float, str, list[tuple[int, list[str]]]] = (-1.0, ",", [])
    for separator in SEPARATORS:
        records, above = [], 0
        reader = csv.reader(io.StringIO(text, newline=""), **options(separator, Csv()))  # type: ignore[arg-type]
        try:
            for fields in reader:
                records.append((above, fields))
                above = reader.line_num
        except csv.Error:
            pass  # a field beyond the limit of the csv module: the records so far have to do
        records = [(line, fields) for line, fields in records if fields]
        width = _usual(records)
        share = (
            sum(len(fields) == width for _, fields in records) / max(1, len(records)) if width > 1 else 0.0
        )
        if share > best[0]:
            best = (share, separator, records)
    return best[1:]


def _usual(records: list[tuple[int, list[str]]]) -> int:
    """Return the most frequent number of fields."""
    widths = Counter(len(fields) for _, fields in records)
    return widths.most_common(1)[0][0] if widths else 0


def _numbers(form: re.Pattern[str], cells: list[str], separator: str, group: str) -> tuple[int, bool]:
    """Count the cells that are numbers of a form, and return whether some have groups of three digits."""
    numbers = [cell.strip() for cell in cells if form.fullmatch(cell.strip())]
    return len(numbers), group != separator and any(group in cell for cell in numbers)
