"""CSV read line by line: no line changes how another is read, and none is an error.

An unclosed quote, an invalid byte or a surplus field would otherwise change how the rest of the file is read,
or have it refused: an answer about one record that is not charged to the budget. So every line is a row. One
with the wrong number of fields, an unclosed quote or more than a megabyte is no record: all its cells are
missing. So are the parts of a record with a line break in a field, which needs another format. Invalid bytes
become U+FFFD, line by line; separator and names follow from the first line alone.
"""

from __future__ import annotations

import codecs
import dataclasses
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import InputError, Say
from veil.tables.csv import dialect
from veil.tables.csv.reader import column_names, parse
from veil.tables.formats import Csv
from veil.tables.reading import read_bytes

_LONGEST = 1 << 20
"""Largest number of bytes of a record, so that every parser holds it in one block."""


def read_lines(path: Path, format: Csv) -> tuple[pa.Table, NDArray[np.bool_], Csv]:
    """Read the lines of a CSV file as rows of text; also return a mask of records and the detected format."""
    data, encoding = _decode(read_bytes(path), format.encoding)
    data = dialect.without_titles(data.replace(b"\0", "\ufffd".encode()), format.skip, path)
    first = re.compile(rb"[\r\n]*([^\r\n]*)(?:\r\n|\r|\n)?").match(data)
    if not format.header and format.columns is None:
        raise InputError(
            f"{path}: how many columns there are must not follow from a record. Name them with ",
            Say("format", "Csv", header=False, columns=...),
        )
    assert first is not None  # the pattern matches the empty text
    line = first[1].decode("utf-8", "replace")
    separator = "," if not format.header else dialect.detect_separator(line, True, format)
    format = dataclasses.replace(format, separator=format.separator or separator, encoding=encoding)
    body = data
    if format.header:
        names = column_names(dialect.read_header(line, format, path).fields, format, path)
        body = data[first.end() :]
    else:
        names = list(format.columns or ())
    lines = body.splitlines()
    if not lines:
        return pa.table({name: pa.array([], pa.string()) for name in names}), np.ones(0, np.bool_), format
    is_whole = _whole_record(len(names), format)
    whole = np.array([is_whole(line) for line in lines], np.bool_)
    blank = (format.separator or ",").encode() * (len(names) - 1)
    for at in np.flatnonzero(~whole).tolist():
        lines[at] = blank
    lines.append(b"")
    table = parse(b"\n".join(lines), len(names), format, path).rename_columns(names)
    if not whole.all():
        columns = [pc.if_else(pa.array(whole), column, None) for column in table.columns]
        table = pa.table(columns, names=names)
    return table, whole, format


def _decode(data: bytes, encoding: str | None) -> tuple[bytes, str]:
    r"""Return a text as UTF-8 without a byte order mark or invalid bytes, and the name of its encoding.

    Each line is decoded by itself, as some encodings have a state that lasts beyond a line. A line break in
    another spelling is no line break.

    >>> _decode(b"age\n+\n34\n", "utf-7")[0].decode().splitlines()[2]
    '34'
    """
    name = codecs.lookup(encoding).name if encoding is not None else dialect.marked_encoding(data) or "utf-8"
    if name in ("utf-8", "utf-8-sig"):
        name = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
        return data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace").encode(), name
    if "\n".encode(name) != b"\n":  # stateless, as UTF-16
        return data.decode(name, "replace").removeprefix("\ufeff").encode(), name
    lines = (line.decode(name, "replace") for line in data.splitlines())
    text = "\n".join(["\ufffd".join(re.split("[\r\n]", line)) for line in lines])
    return text.removeprefix("\ufeff").encode(), name


def _whole_record(width: int, format: Csv) -> Callable[[bytes], bool]:
    r"""Return a test of lines: a record has a field for every column, and no open quote or escape.

    >>> is_whole = _whole_record(2, Csv(separator=","))
    >>> [is_whole(line) for line in (b'1,"a"', b'2,"b', b'3,c"d', b'4,"e""f"', b"5", b"")]
    [True, False, True, True, False, False]
    """
    separator, quote, escape = (
        re.escape(mark) if mark else "" for mark in (format.separator, format.quote, format.escape)
    )
    escaped = rf"{escape}[^\r\n]|" if escape else ""
    bare = rf"(?:{escaped}[^{separator}{escape}\r\n])*+"
    quoted = rf"{quote}(?:{escaped}{quote}{quote}|[^{quote}{escape}\r\n])*+{quote}" if quote else ""
    field = rf"(?:{quoted}|(?!{quote}){bare})" if quote else bare
    record = re.compile(rf"{field}(?:{separator}{field}){{{width - 1}}}".encode())
    plain, marks = (format.separator or ",").encode(), (format.quote or "") + (format.escape or "")
    special = re.compile(b"[%s]" % re.escape(marks.encode())) if marks else None

    def is_whole(line: bytes) -> bool:
        if len(line) > _LONGEST:
            return False
        if special is None or special.search(line) is None:
            return line.count(plain) == width - 1
        return record.fullmatch(line) is not None

    return is_whole
