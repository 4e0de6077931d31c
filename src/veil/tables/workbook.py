"""Untrusted workbooks: zip files of XML, checked before a reader builds anything of them.

A workbook that unpacks to far more than its size, has a document type (by which text can be fetched and
multiplied), or spans too many cells is refused. All other errors of a reader become one message.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

from veil.errors import InputError, VeilError

MOST_ROWS, MOST_COLUMNS = 1_048_576, 16_384
MOST_CELLS = 50_000_000
"""Largest number of cells of a sheet, with blank ones: they take a few gigabytes of memory."""

_MOST_BYTES = 4 << 30
_SURELY_FINE = 100 << 20
_MOST_PACKED = 250
"""Largest ratio of unpacked to packed size. Real sheets have ten or twenty; only repetition has more."""

_PIECE = 1 << 20
_TYPE = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_ENCODING = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([^"']*)["']""")
_ENCODINGS = (b"utf-8", b"utf-16", b"us-ascii", b"ascii", b"iso-8859-1")
_ABOUT_THE_FILE = (zipfile.BadZipFile, KeyError, ParseError, zlib.error, EOFError, OSError)
"""Errors whose messages are about the file, not about its content."""


@contextmanager
def reading_workbook(path: Path) -> Iterator[None]:
    """Turn all errors of a reader into an `InputError`, and silence its warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (VeilError, MemoryError):
        raise
    except Exception as error:
        reason = str(error) if isinstance(error, _ABOUT_THE_FILE) and str(error) else type(error).__name__
        raise InputError(
            f"{path}: not a readable Excel workbook ({reason}). Open it in Excel and save it as .xlsx without a password"
        ) from None


def check_workbook(path: Path) -> bool:
    """Refuse a malicious workbook; return whether it has formulas."""
    formulas = False
    with zipfile.ZipFile(path) as parts:
        entries = parts.infolist()
        size = sum(each.file_size for each in entries)
        packed = max(path.stat().st_size, 1)
        if size > _MOST_BYTES or (size > _SURELY_FINE and size > _MOST_PACKED * packed):
            raise InputError(
                f"{path}: unpacks from {packed:,} to {size:,} bytes, which is suspiciously large. Save it as CSV or Parquet"
            )
        for each in entries:
            if each.filename.lower().endswith((".xml", ".rels", ".vml")):
                with parts.open(each) as part:
                    has_formula = _check_document(
                        iter(lambda: part.read(_PIECE), b""), f"{path}, {each.filename}"
                    )
                formulas |= has_formula and each.filename.startswith("xl/worksheets/")
    return formulas


def _check_document(pieces: Iterator[bytes], where: str) -> bool:
    """Refuse a document type in any encoding; return whether there is a formula."""
    formula, before = False, b""
    for piece in pieces:
        if not before:
            encoding = _ENCODING.search(
                piece[:300].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe\r\n\t ")
            )
            if encoding is not None and encoding[1].lower() not in _ENCODINGS:
                raise InputError(
                    f"{where}: is written in {encoding[1].decode('latin-1')!r}. Save it in UTF-8"
                )
        text = (before + piece).replace(b"\0", b"")  # UTF-16 becomes searchable
        if _TYPE.search(text):
            raise InputError(
                f"{where}: has a document type (DOCTYPE), which can be used to fetch or multiply text. Remove it"
            )
        formula = formula or _FORMULA.search(text) is not None
        before = text[-64:]
    return formula


def rectangle(rows: Iterable[Sequence[Any]], where: str) -> list[list[Any]]:
    """Remove blank rows below and blank columns to the right; make all rows equally long."""
    result: list[list[Any]] = []
    width, blank, spanned = 0, 0, 0
    for row in rows:
        cells = list(row)
        spanned += len(cells)
        while cells and (cells[-1] is None or cells[-1] == ""):
            cells.pop()
        if cells:
            result += [[] for _ in range(blank)]
            result.append([None if value == "" else value for value in cells])
            width, blank = max(width, len(cells)), 0
        else:
            blank += 1
        if len(result) + blank > MOST_ROWS or max(spanned, len(result) * width) > MOST_CELLS:
            raise InputError(
                f"{where}: spans more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells, including blank "
                "ones. Delete blank rows and columns, or save it as CSV or Parquet"
            )
    return [row + [None] * (width - len(row)) for row in result]
