"""Reading CSV: Arrow's threaded parser for the rows, own code for dialect, types and errors."""

from __future__ import annotations

import codecs
import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from pyarrow import csv as arrow_csv

from veil.errors import InputError, Say, did_you_mean
from veil.tables.csv import dialect, faults
from veil.tables.csv.types import convert, infer
from veil.tables.formats import Csv
from veil.tables.reading import read_bytes

_BLOCK = 1 << 22


def read_csv(
    path: Path, format: Csv, *, as_text: bool = False, may_be_empty: bool = False
) -> tuple[pa.Table, Csv]:
    """Read a CSV file; also return the format with all detected parameters.

    With `as_text` no column gets a type, even if the format names one.
    """
    data, encoding = dialect.decode(read_bytes(path), format.encoding, path)
    dialect.check_text(data, path)
    data = dialect.without_titles(data, format.skip, path)
    sample, whole = dialect.sample_of(data, path)
    separator = format.separator or dialect.detect_separator(sample, whole, format)
    format = dataclasses.replace(format, separator=separator, encoding=encoding)
    quotes = data.count(format.quote.encode()) if format.quote is not None else 0
    if quotes % 2:
        # Possibly an unclosed quote, which the parser would take for the start of a long field.
        _raise(faults.explain(data, None, format, path))
    header = dialect.read_header(sample, format, path)
    names = column_names(header.fields, format, path)
    check_types(names, format, path)
    if re.compile(b"." if len(names) == 1 else b"[^\r\n]", re.DOTALL).search(data, header.body) is None:
        if may_be_empty:
            return pa.table({name: pa.array([], pa.string()) for name in names}), format
        raise InputError(f"{path}: a header but no rows. The table should hold at least one row")
    texts = parse(data, len(names), format, path, start=header.body)
    return (texts.rename_columns(names), format) if as_text else _convert_types(texts, names, format, path)


def column_names(first: Sequence[str], format: Csv, path: Path) -> list[str]:
    """Return the names of the columns, from the format or from the first record."""
    if format.columns is not None:
        if len(format.columns) != len(first):
            raise InputError(
                f"{path}: `columns` gives {len(format.columns)} names, but the first record has {len(first)} "
                f"fields (separator {format.separator!r}). Name every column or say the separator"
            )
        names = list(format.columns)
    elif format.header:
        names = [name or f"column_{number}" for number, name in enumerate(first, 1)]
    else:
        names = [f"column_{number}" for number in range(1, len(first) + 1)]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise InputError(
            f"{path}: more than one column is named {', '.join(map(repr, twice))}. Rename them in the file "
            "or with ",
            Say("format", "Csv", columns=...),
            "; if the file has no header line, say ",
            Say("format", "Csv", header=False),
        )
    return names


def check_types(names: list[str], format: Csv, path: Path) -> None:
    """Refuse types of columns that do not exist."""
    for name in format.types:
        if name not in names:
            raise InputError(
                f"{path}: `types` names a column {name!r} that does not exist.{did_you_mean(name, names)}"
            )


def parse(data: bytes, width: int, format: Csv, path: Path, *, start: int = 0) -> pa.Table:
    """Return the fields from byte `start` on as text; unquoted missing values are null."""
    quoted = format.quote is not None and format.quote.encode() in data
    body = pa.py_buffer(data).slice(start)
    if data.startswith(codecs.BOM_UTF8, start):
        # The parser drops one byte order mark; here it belongs to the first value.
        body = pa.py_buffer(codecs.BOM_UTF8 + data[start:])
    parse_options = arrow_csv.ParseOptions(
        delimiter=format.separator,
        quote_char=format.quote if format.quote is not None else False,
        escape_char=format.escape if format.escape is not None else False,
        # Without quotes, lines split faster.
        newlines_in_values=quoted or format.escape is not None,
        # In a table of one column, a blank line is a record: its value is missing.
        ignore_empty_lines=width > 1,
    )
    names = [str(number) for number in range(width)]
    convert_options = arrow_csv.ConvertOptions(
        column_types=dict.fromkeys(names, pa.string()),
        null_values=list(format.missing),
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    for block in (_BLOCK, body.size + 1):
        read_options = arrow_csv.ReadOptions(column_names=names, block_size=block)
        try:
            return arrow_csv.read_csv(pa.BufferReader(body), read_options, parse_options, convert_options)
        except pa.ArrowInvalid as error:
            if "straddl" in str(error) and block == _BLOCK:
                continue  # a record longer than a block
            _raise(faults.explain(data, width, format, path))
            raise InputError(f"{path}: not readable as CSV: {error}") from None
    raise AssertionError("the last block holds the whole file")


def _raise(fault: InputError | None) -> None:
    if fault is not None:
        raise fault from None


def _convert_types(texts: pa.Table, names: list[str], format: Csv, path: Path) -> tuple[pa.Table, Csv]:
    columns = []
    for name, text in zip(names, texts.columns, strict=True):
        if name in format.types:
            try:
                column = convert(text, format.types[name], name, format)
            except InputError as error:
                raise error.after(f"{path}: ") from None
        else:
            column = infer(text, format)
        if format.time_separator is None and pa.types.is_timestamp(column.type):
            # One separator a file, so that every timestamp is written as it was read.
            first = text.drop_null()
            style = first[0].as_py()[10:11] if len(first) else ""
            format = dataclasses.replace(format, time_separator=" " if style == " " else "T")
        columns.append(column)
    return pa.table(columns, names=names), format
