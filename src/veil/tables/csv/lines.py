"""CSV read line by line: no line changes what another says, and none is an error.

A quote that never closes, a byte that is no text, a field too many would otherwise change how the rest of the file is
read, or have it refused: an answer about one record that nobody pays for. So a record is a line here. One that does not have
a field for every column, or a quote that is closed in it, is left out; so are records with a line break in a field. Bytes
that are no text become U+FFFD. That holds for encodings in which a line break is one byte that means nothing else: UTF-8 and
those of one byte a character. Separator and names follow from the first line alone.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pyarrow as pa

from veil.errors import InputError, Say
from veil.tables.csv import dialect
from veil.tables.csv.reader import column_names, parse
from veil.tables.formats import Csv
from veil.tables.reading import read_bytes


def read_lines(path: Path, format: Csv) -> tuple[pa.Table, Csv]:
    """Read the cells of a CSV file as text, each line by itself; also return the format with what was found filled in."""
    data, encoding = dialect.decode(read_bytes(path), format.encoding, path, errors="replace")
    data = dialect.without_titles(data.replace(b"\0", "\ufffd".encode()), format.skip, path)
    first = re.compile(rb"[\r\n]*([^\r\n]*)(?:\r\n|\r|\n)?").match(data)
    if not format.header and format.columns is None:
        raise InputError(
            f"{path}: how many columns there are must not follow from a record. Name them with ",
            Say("format", "Csv", header=False, columns=...),
        )
    assert first is not None  # as it matches nothing at all
    line = first[1].decode("utf-8", "replace")
    known = "," if not format.header else dialect.detect_separator(line, True, format)
    format = dataclasses.replace(format, separator=format.separator or known, encoding=encoding)
    body = data
    if format.header:
        names = column_names(dialect.read_header(line, format, path).fields, format, path)
        body = data[first.end() :]
    else:
        names = list(format.columns or ())
    records = _whole_lines(body, format)
    if not re.search(b"." if len(names) == 1 else rb"[^\r\n]", records, re.DOTALL):
        return pa.table({name: pa.array([], pa.string()) for name in names}), format
    texts = parse(records, len(names), format, path, skip=True)
    return texts.rename_columns(names), format


def _whole_lines(data: bytes, format: Csv) -> bytes:
    r"""Leave out lines with a quote or an escape that is not closed in them.

    >>> _whole_lines(b'1,"a"\n2,"b\n3,c"d\n4,"e""f"\n', Csv(separator=","))
    b'1,"a"\n3,c"d\n4,"e""f"\n'
    """
    marks = [mark for mark in (format.quote, format.escape) if mark is not None and mark.encode() in data]
    if not marks:
        return data
    separator, quote, escape = (
        re.escape(mark) if mark else "" for mark in (format.separator, format.quote, format.escape)
    )
    escaped = rf"{escape}[^\r\n]|" if escape else ""
    bare = rf"(?:{escaped}[^{separator}{escape}\r\n])*+"
    quoted = rf"{quote}(?:{escaped}{quote}{quote}|[^{quote}{escape}\r\n])*+{quote}" if quote else ""
    field = rf"(?:{quoted}|(?!{quote}){bare})" if quote else bare
    record = re.compile(rf"{field}(?:{separator}{field})*+".encode())
    lines = re.split(rb"(\r\n|\r|\n)", data)
    suspicious = [mark.encode() for mark in marks]
    kept = []
    for at in range(0, len(lines), 2):
        line = lines[at]
        if not any(mark in line for mark in suspicious) or record.fullmatch(line):
            kept += lines[at : at + 2]
    return b"".join(kept)
