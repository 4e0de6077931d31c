"""Writing CSV so that it reads back as the same table.

A missing value is an unquoted empty field (or the first of the dialect's own spellings); a text that is
empty, or looks like a missing value, is quoted. Otherwise only fields that need quotes get them.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import BinaryIO, Literal

import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import OutputError, Say
from veil.tables.columns import is_text
from veil.tables.csv.dialect import SEPARATORS
from veil.tables.csv.text import spell
from veil.tables.formats import Csv
from veil.tables.formulas import heed_formulas

_WORTH_THREADS = 1 << 12
_ROWS = 1 << 14  # rows joined at a time: few enough to stay far below Arrow's 2 GB of text an array


@dataclass(frozen=True)
class Style:
    """Choices of a CSV writer besides the dialect; the defaults are Veil's.

    Attributes
    ----------
    end : str
        The end of a record.
    quotes : str
        Which texts are quoted: those that some reader could misread, those that need quotes, all texts, all fields.
    quotes_missing : bool
        Whether missing values are quoted.
    point : bool
        Whether integral floats have a decimal place.
    """

    end: str = "\n"
    quotes: Literal["cautious", "needed", "texts", "all"] = "cautious"
    quotes_missing: bool = False
    point: bool = False


VEIL = Style()


def write_csv(table: pa.Table, file: BinaryIO, format: Csv) -> None:
    """Write a table to an open binary file; the defaults of the format are comma and UTF-8."""
    heed_dialect(table, format)
    out = Encoded(file, format.encoding or "utf-8")
    if format.header:
        out.write(header_line(table.column_names, format))
    write_records(table, out, format)


def header_line(names: Sequence[str], format: Csv, style: Style = VEIL) -> str:
    """Return the header as the first line of a file."""
    separator = format.separator or ","
    header = pa.chunked_array([pa.array(names, pa.string())])
    return (
        separator.join(_quote_values(header, "the header", separator, format, style).to_pylist()) + style.end
    )


def write_records(table: pa.Table, out: Encoded, format: Csv, style: Style = VEIL) -> None:
    """Write the rows of a table."""
    separator = format.separator or ","
    names = table.column_names
    with ThreadPoolExecutor() as pool:  # Arrow lets other threads run while it computes
        each = map if table.num_rows < _WORTH_THREADS else pool.map
        texts = list(each(lambda name: _field(table.column(name), name, separator, format, style), names))
    fields = pa.table(texts, names=[str(number) for number in range(len(texts))])
    for batch in fields.to_batches(max_chunksize=_ROWS):
        out.write_rows(pc.binary_join_element_wise(*batch.columns, separator), style.end)


class BlankWarning(UserWarning):
    """A CSV file holds empty texts and missing values, which most programs do not distinguish."""


def heed_dialect(table: pa.Table, format: Csv) -> None:
    """Warn of or refuse values that other programs misread: formulas, empty texts beside missing values."""
    heed_formulas(table, format.formulas, "Csv")
    for name in table.column_names:
        column = table[name]
        if column.null_count and is_text(column.type) and pc.any(pc.equal(column, "")).as_py():
            warnings.warn(
                f"column {name!r} holds empty texts beside missing values: Veil reads them back as two values, but most "
                "programs take both for missing. Unify them in the input, or write Parquet",
                BlankWarning,
                stacklevel=3,
            )


class Encoded:
    """A binary file to which text is written; a byte order mark is written once, at the start."""

    def __init__(self, file: BinaryIO, encoding: str) -> None:
        self._file = file
        self._encoding = codecs.lookup(encoding).name
        self._encoder = codecs.getincrementalencoder(self._encoding)()

    def write(self, text: str) -> None:
        try:
            self._file.write(self._encoder.encode(text))
        except UnicodeEncodeError as error:
            bad = error.object[error.start : error.end]
            raise OutputError(
                f"{bad!r} cannot be written in {self._encoding.upper()}. Write with encoding='utf-8'"
            ) from None

    def write_rows(self, rows: pa.Array, end: str) -> None:
        lines = pc.binary_join_element_wise(rows, "", end)  # the same rows, each with a line end
        _, offsets, data = lines.buffers()
        if data is None:
            return
        bounds = memoryview(offsets).cast("i")
        text = memoryview(data)[bounds[lines.offset] : bounds[lines.offset + len(lines)]]
        if self._encoding == "utf-8":
            self._file.write(text)
        else:
            self.write(str(text, "utf-8"))


def _field(column: pa.ChunkedArray, name: str, separator: str, format: Csv, style: Style) -> pa.ChunkedArray:
    missing = "" if "" in format.missing or not format.missing else format.missing[0]
    _check_years(column, name)
    text = spell(column, name, decimal=format.decimal, time_separator=format.time_separator or "T")
    if style.point and pa.types.is_floating(column.type):
        texts = [None if each is None else repr(each) for each in column.to_pylist()]
        text = pc.replace_substring(pa.chunked_array([pa.array(texts, pa.string())]), ".", format.decimal)
    if format.quote is None and column.null_count and pc.any(pc.equal(text, missing)).as_py():
        raise OutputError(
            f"column {name!r} holds the text {missing!r} as well as missing values, which look the same "
            "without quotes. Write with ",
            Say("format", "Csv", quote='"'),
            ", or unify them in the input",
        )
    quoted = _quote_values(text, f"column {name!r}", separator, format, style, is_text(column.type))
    return quoted.fill_null(f"{format.quote}{missing}{format.quote}" if style.quotes_missing else missing)


def _check_years(column: pa.ChunkedArray, name: str) -> None:
    """Refuse dates and times whose year has not four digits, as readers of CSV require."""
    if not (pa.types.is_date(column.type) or pa.types.is_timestamp(column.type)):
        return
    for end in ("min", "max"):
        day = pc.min_max(column)[end]
        if day.is_valid and not 0 <= (year := pc.year(day).as_py()) <= 9999:
            raise OutputError(
                f"column {name!r} holds a date in the year {year}, and years of four digits are all that is read back from a "
                "CSV file. Write Parquet or Feather, turn the column into text, generalize it by years, or correct it in the input"
            )


def _quote_values(
    text: pa.ChunkedArray, where: str, separator: str, format: Csv, style: Style, texts: bool = True
) -> pa.ChunkedArray:
    """Quote or escape the values that would not be read back unchanged, and those that the style quotes."""
    marks = [mark for mark in (separator, format.quote, format.escape) if mark is not None]
    is_cautious = format.quote is not None and style.quotes == "cautious"
    if is_cautious:
        # A reader may guess any of these separators; but a decimal comma occurs in every row.
        marks += [mark for mark in SEPARATORS if mark != format.decimal]
    # \ufeff, because at the start of a file it would be taken for a byte order mark.
    special = f"[{re.escape(''.join(marks))}\r\n\0]|^\ufeff"
    if style.quotes == "all" or (texts and style.quotes == "texts"):
        special = ""  # matches all
    ambiguous = pa.array(["", *format.missing] if is_cautious else [], pa.string())
    chunks = []
    for chunk in text.chunks:
        needs = pc.or_(pc.match_substring_regex(chunk, special), pc.is_in(chunk, ambiguous)).fill_null(False)
        if pc.any(needs).as_py():
            chunk = pc.replace_with_mask(
                chunk, needs, _protect_values(chunk.filter(needs), where, separator, format)
            )
        chunks.append(chunk)
    return pa.chunked_array(chunks, pa.string())


def _protect_values(text: pa.Array, where: str, separator: str, format: Csv) -> pa.Array:
    if pc.any(pc.match_substring(text, "\0")).as_py():
        raise OutputError(
            f"{where} holds a NUL character, which a CSV file cannot hold. Write Parquet or Feather"
        )
    if format.escape is not None:
        text = pc.replace_substring(text, format.escape, format.escape * 2)
    if format.quote is not None:
        inner = pc.replace_substring(text, format.quote, format.quote * 2)
        return pc.binary_join_element_wise(format.quote, inner, format.quote, "")
    if format.escape is not None:
        escaped = format.escape.replace("\\", "\\\\") + r"\1"
        return pc.replace_substring_regex(text, f"([{re.escape(separator)}\r\n])", escaped)
    clash = text.filter(pc.match_substring_regex(text, f"[{re.escape(separator)}\r\n]"))
    if len(clash):
        raise OutputError(
            f"{where} holds {clash[0].as_py()!r}, which needs quotes, but the format does not allow them. "
            "Write with ",
            Say("format", "Csv", quote='"'),
            " or another separator",
        )
    return text
