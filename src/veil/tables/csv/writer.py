"""Writing CSV so that it reads back as the same table.

A missing value is an unquoted empty field (or the first of the dialect's own spellings); a text that is
empty, or that looks like a missing value, is quoted. Otherwise only what needs quotes gets them.
"""

from __future__ import annotations

import codecs
import re
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import OutputError, Say
from veil.tables.columns import is_text
from veil.tables.csv.dialect import SEPARATORS
from veil.tables.csv.text import spell
from veil.tables.formats import Csv
from veil.tables.formulas import heed_formulas

_ROWS = 1 << 14  # rows joined at a time: few enough to stay far below Arrow's 2 GB of text an array


def write_csv(table: pa.Table, file: BinaryIO, format: Csv) -> None:
    """Write a table to an open binary file. What is unknown in the format is written with , and UTF-8."""
    heed_formulas(table, format.formulas, "Csv")
    _warn_of_blanks(table)
    separator = format.separator or ","
    out = _Encoded(file, format.encoding or "utf-8")
    if format.header:
        header = pa.chunked_array([pa.array(table.column_names, pa.string())])
        out.write(separator.join(_quote_values(header, "the header", separator, format).to_pylist()) + "\n")
    missing = "" if "" in format.missing or not format.missing else format.missing[0]
    names = table.column_names
    with ThreadPoolExecutor() as pool:  # Arrow lets other threads run while it computes
        texts = list(
            pool.map(lambda name: _field(table.column(name), name, separator, missing, format), names)
        )
    fields = pa.table(texts, names=[str(number) for number in range(len(texts))])
    for batch in fields.to_batches(max_chunksize=_ROWS):
        out.write_rows(pc.binary_join_element_wise(*batch.columns, separator))


class BlankWarning(UserWarning):
    """A CSV file holds empty texts beside missing values, which most programs read as the same."""


def _warn_of_blanks(table: pa.Table) -> None:
    for name in table.column_names:
        column = table[name]
        if column.null_count and is_text(column.type) and pc.any(pc.equal(column, "")).as_py():
            warnings.warn(
                f"column {name!r} holds empty texts beside missing values: Veil reads them back as two values, but most "
                "programs take both for missing. Unify them in the input, or write Parquet",
                BlankWarning,
                stacklevel=3,
            )


class _Encoded:
    """Text into a binary file. Encodings with a byte order mark get it once, at the start."""

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

    def write_rows(self, rows: pa.Array) -> None:
        lines = pc.binary_join_element_wise(rows, "", "\n")  # the same rows, each with a line end
        _, offsets, data = lines.buffers()
        if data is None:
            return
        bounds = memoryview(offsets).cast("i")
        text = memoryview(data)[bounds[lines.offset] : bounds[lines.offset + len(lines)]]
        if self._encoding == "utf-8":
            self._file.write(text)
        else:
            self.write(str(text, "utf-8"))


def _field(column: pa.ChunkedArray, name: str, separator: str, missing: str, format: Csv) -> pa.ChunkedArray:
    text = spell(column, name, decimal=format.decimal, time_separator=format.time_separator or "T")
    if format.quote is None and column.null_count and pc.any(pc.equal(text, missing)).as_py():
        raise OutputError(
            f"column {name!r} holds the text {missing!r} as well as missing values, which look the same "
            "without quotes. Write with ",
            Say("format", "Csv", quote='"'),
            ", or unify them in the input",
        )
    return _quote_values(text, f"column {name!r}", separator, format).fill_null(missing)


def _quote_values(text: pa.ChunkedArray, where: str, separator: str, format: Csv) -> pa.ChunkedArray:
    """Quote or escape the values that would not be read back as they are."""
    marks = [mark for mark in (separator, format.quote, format.escape) if mark is not None]
    if format.quote is not None:
        # Whoever reads the file may guess at any of these; a decimal comma stands in every row.
        marks += [mark for mark in SEPARATORS if mark != format.decimal]
    # \ufeff, because at the start of a file it would be taken for a byte order mark.
    special = f"[{re.escape(''.join(marks))}\r\n\0]|^\ufeff"
    ambiguous = pa.array(["", *format.missing] if format.quote is not None else [], pa.string())
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
