"""Workbooks of strangers: zip files of XML, looked through before a reader builds anything of them.

What unpacks to far more than it is, has a document type by which text can be fetched and multiplied, or spans more cells than
a table has, is refused. Whatever else a reader meets in a damaged file becomes one sentence.
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
"""So many cells a sheet may span, blank ones among them: as many as take a few gigabytes of memory."""

_MOST_BYTES = 4 << 30
_SURELY_FINE = 100 << 20
_MOST_PACKED = 250
"""Sheets unpack to ten or twenty times of what they are; only what repeats itself without end to so many times."""

_PIECE = 1 << 20
_TYPE = re.compile(rb"<!\s*(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_FORMULA = re.compile(rb"<(?:\w+:)?f[\s/>]")
_ENCODING = re.compile(rb"""^<\?xml[^>]*?encoding\s*=\s*["']([^"']*)["']""")
_ENCODINGS = (b"utf-8", b"utf-16", b"us-ascii", b"ascii", b"iso-8859-1")
_TELLING = (zipfile.BadZipFile, KeyError, ParseError, zlib.error, EOFError, OSError)
"""Errors whose words are about the file, not about what stands in it."""


@contextmanager
def reading_workbook(path: Path) -> Iterator[None]:
    """Turn what goes wrong into one sentence: readers raise whatever they happen to meet. Nor do they warn anybody."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    except (VeilError, MemoryError):
        raise
    except Exception as error:
        told = str(error) if isinstance(error, _TELLING) and str(error) else type(error).__name__
        raise InputError(
            f"{path}: not a readable Excel workbook ({told}). Open it in Excel and save it as .xlsx without a password"
        ) from None


def check_workbook(path: Path) -> bool:
    """Refuse a workbook that is made to harm; say whether it has formulas."""
    formulas = False
    with zipfile.ZipFile(path) as parts:
        listed = parts.infolist()
        size = sum(each.file_size for each in listed)
        packed = max(path.stat().st_size, 1)
        if size > _MOST_BYTES or (size > _SURELY_FINE and size > _MOST_PACKED * packed):
            raise InputError(
                f"{path}: unpacks from {packed:,} to {size:,} bytes, which is suspiciously large. Save it as CSV or Parquet"
            )
        for each in listed:
            if each.filename.lower().endswith((".xml", ".rels", ".vml")):
                with parts.open(each) as part:
                    found = _look_through(iter(lambda: part.read(_PIECE), b""), f"{path}, {each.filename}")
                formulas |= found and each.filename.startswith("xl/worksheets/")
    return formulas


def _look_through(pieces: Iterator[bytes], where: str) -> bool:
    """Refuse a document type, however it is encoded; say whether there is a formula."""
    formula, before = False, b""
    for piece in pieces:
        if not before:
            told = _ENCODING.search(piece[:300].replace(b"\0", b"").lstrip(b"\xef\xbb\xbf\xff\xfe\r\n\t "))
            if told is not None and told[1].lower() not in _ENCODINGS:
                raise InputError(f"{where}: is written in {told[1].decode('latin-1')!r}. Save it in UTF-8")
        text = (before + piece).replace(b"\0", b"")  # as UTF-16 has them
        if _TYPE.search(text):
            raise InputError(
                f"{where}: has a document type (DOCTYPE), which can be used to fetch or multiply text. "
                "Remove it"
            )
        formula = formula or _FORMULA.search(text) is not None
        before = text[-64:]
    return formula


def rectangle(rows: Iterable[Sequence[Any]], where: str) -> list[list[Any]]:
    """Cut off what is blank below and to the right; make all rows equally long."""
    kept: list[list[Any]] = []
    width, blank, spanned = 0, 0, 0
    for row in rows:
        cells = list(row)
        spanned += len(cells)
        while cells and (cells[-1] is None or cells[-1] == ""):
            cells.pop()
        if cells:
            kept += [[] for _ in range(blank)]
            kept.append([None if value == "" else value for value in cells])
            width, blank = max(width, len(cells)), 0
        else:
            blank += 1
        if len(kept) + blank > MOST_ROWS or max(spanned, len(kept) * width) > MOST_CELLS:
            raise InputError(
                f"{where}: spans more than {MOST_ROWS:,} rows or {MOST_CELLS:,} cells, including blank "
                "ones. Delete blank rows "
                "and columns, or save it as CSV or Parquet"
            )
    return [row + [None] * (width - len(row)) for row in kept]
