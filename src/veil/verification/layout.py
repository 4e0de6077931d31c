"""The layout of a file: whether the way in which records are written marks one of them.

The same cells can be written in different ways: quotes around one record, another line ending, a blank line
before it, a row group or a batch of its own. Two copies, or knowledge of the mark, then lead back to that
record. A CSV file is written again, and the bytes are compared. If a style of another program explains every
byte, no record is marked, but the file was not written by Veil. The layout of other formats is checked by
rules. Oddities are reported by channel and place, never by content.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import gzip
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.tables import Csv, Excel, Format, Parquet
from veil.tables.columns import is_text
from veil.tables.csv import dialect
from veil.tables.csv.writer import VEIL, Encoded, Style, header_line, write_records
from veil.tables.formats import is_gzip
from veil.tables.source import RowsOrTypes
from veil.verification.files import csv_batches
from veil.verification.workbook import layout_of_workbook, other_parts

QUOTES = "quotes around some records only"
LINE_ENDS = "line endings of several kinds"
BLANK_LINES = "blank lines between records"
SPELLINGS = "values of a column that are spelled in several ways"
GROUPS = "row groups of several sizes"
BATCHES = "batches of several sizes"
ENCODINGS = "several encodings of a column"
FOREIGN = "not written by Veil as it stands"

_FIRST, _PIECE = 1 << 8, 1 << 16
"""Rows that are written at a time: few at first, because most styles fail there."""

_STYLES = [
    Style(end, quotes, quotes_missing, point)
    for end in ("\n", "\r\n", "\r")
    for quotes in ("cautious", "needed", "texts", "all")
    for quotes_missing in (False, True)[: 1 + (quotes in ("texts", "all"))]
    for point in (False, True)
]
"""The styles of most programs, Veil's own first."""
_WORDS = {
    "\r\n": "Windows line endings",
    "\r": "line endings of old Macs",
    "needed": "quotes only where they have to be",
    "texts": "quotes around every text",
    "all": "quotes around every field",
}


def layout_of(path: Path, format: Format, rows: RowsOrTypes) -> Iterator[str]:
    r"""Describe ways in which records are written, if several, and how a CSV file differs from Veil's style.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp(), "a.csv")
    >>> _ = file.write_text('age,ill\n20,flu\n30,"flu"\n')
    >>> list(layout_of(file, Csv(), pa.table({"age": [20, 30], "ill": ["flu", "flu"]})))
    ["quotes around some records only, first in line 3, column 'ill'"]
    """
    if isinstance(format, Csv):
        yield from _layout_of_csv(path, format, rows)
    elif isinstance(format, Excel):
        yield from layout_of_workbook(path, header=format.header)
        if parts := list(other_parts(path, rows, format)):
            yield f"{FOREIGN}: other {', '.join(parts[:3])}{' and others' if parts[3:] else ''}"
    elif isinstance(format, Parquet):
        yield from layout_of_parquet(path)
    else:
        with pa.OSFile(str(path)) as file, pa.ipc.open_file(file) as parsed:
            sizes = [parsed.get_batch(each).num_rows for each in range(parsed.num_record_batches)]
        if not equal_but_last(sizes):
            yield BATCHES


def equal_but_last(sizes: Sequence[int]) -> bool:
    """Whether pieces have one size, and the last is not larger.

    >>> equal_but_last([5, 5, 2]), equal_but_last([5, 1, 5]), equal_but_last([])
    (True, False, True)
    """
    return len(set(sizes[:-1])) <= 1 and all(size >= sizes[-1] > 0 for size in sizes[:-1])


# --- CSV ------------------------------------------------------------------------------------------


def _layout_of_csv(path: Path, format: Csv, rows: RowsOrTypes) -> Iterator[str]:
    """Write the file again in the style that reproduces most of it, Veil's own first."""
    head = _Head.of(path, format)
    best = _compare_in_style(path, format, rows, head, VEIL)
    ends = head.above or "\r\n"
    others = [each for each in _STYLES[1:] if format.quote is not None and each.end in ends]
    for style in others if best.difference is not None else ():
        other = _compare_in_style(path, format, rows, head, style)
        if other.difference is None or other.reach > best.reach:
            best = other
        if best.difference is None:
            break
    if best.difference is not None:
        yield best.difference
    elif any(
        _has_needless_exponents(each) for piece in _pieces(path, format, rows) for each in piece.columns
    ):
        yield SPELLINGS
    elif words := [*_words(best.style), *best.further]:
        yield f"{FOREIGN}: {'; '.join(words)}, in all records alike"


def _words(style: Style) -> Iterator[str]:
    yield from (_WORDS[each] for each in (style.end, style.quotes) if each in _WORDS)
    if style.quotes_missing:
        yield "quotes around missing values"
    if style.point:
        yield "a decimal place in whole numbers"


class _Differs(Exception):
    """The file differs from the bytes that would be written."""


class _Comparison:
    """A file object that compares an existing file with the bytes written to it."""

    def __init__(
        self, file: BinaryIO, encoding: str, format: Csv, style: Style, names: Sequence[str]
    ) -> None:
        self._file, self._format, self._names, self.style = file, format, names, style
        self._encoding = encoding.removesuffix("-sig")
        self.further: list[str] = []
        self.difference: str | None = None
        self.reach = self._lines = 0

    def write(self, data: bytes | memoryview) -> None:
        data = bytes(data)
        there = self._file.read(len(data))
        if there == data:
            self.reach += len(data)
            self._lines += data.count(self.style.end[-1].encode())
        elif there == data.removesuffix(self.style.end.encode(self._encoding)) and not self._file.read(1):
            self.further.append("no line ending after the last record")
        else:
            self._differ(data, there)

    def _differ(self, data: bytes, there: bytes) -> None:
        """Describe the kind and the place of the first difference."""
        size = min(len(data), len(there))
        other = np.array(list(data[:size])) != np.array(list(there[:size]))
        at = int(other.argmax()) if other.any() else size
        self.reach += at
        same = data[:at].decode(self._encoding, "ignore")
        ours, theirs = (each.decode(self._encoding, "ignore")[len(same) :] for each in (data, there))
        options = cast("Any", dialect.options(self._format.separator or ",", self._format))
        records = list(csv.reader(io.StringIO(same, newline=""), **options))
        is_start = not same or same.endswith(self.style.end)
        column = self._names[0 if is_start else min(len(records[-1]), len(self._names)) - 1]
        line = self._lines + same.count(self.style.end[-1]) + 1
        quote, ends = self._format.quote or "", ("\r", "\n")
        if is_start and theirs.startswith(ends):
            kind = BLANK_LINES
        elif ours.startswith(ends) and theirs.startswith(ends):
            kind = LINE_ENDS
        elif quote and quote in (ours[:1], theirs[:1]):
            kind = QUOTES
        else:
            kind = SPELLINGS
        self.difference = f"{kind}, first in line {line:,}, column {column!r}"
        raise _Differs

    def finish(self) -> None:
        """Check that nothing is left."""
        if left := self._file.read(1 << 10):
            self._differ(b"", left)


class _Head(NamedTuple):
    """The encoding of a file with its byte order, the text above the records, and the header in it."""

    encoding: str
    above: str
    header: tuple[str, ...]

    @classmethod
    def of(cls, path: Path, format: Csv) -> _Head:
        with _open(path) as file:
            data = file.read(1 << 20)
        encoding = codecs.lookup(format.encoding or dialect.marked_encoding(data) or "utf-8").name
        if encoding in ("utf-16", "utf-32"):
            encoding += "-be" if data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)) else "-le"
        text = codecs.getincrementaldecoder(encoding)().decode(data)
        below = dialect.without_titles(text.removeprefix("\ufeff").encode(), format.skip, path)
        header = dialect.read_header(below.decode(), format, path)
        return cls(encoding, text[: len(text) - len(below[header.body :].decode())], header.fields)


def _open(path: Path) -> BinaryIO:
    return cast("BinaryIO", (gzip.open if is_gzip(path) else open)(path, "rb"))


def _compare_in_style(path: Path, format: Csv, rows: RowsOrTypes, head: _Head, style: Style) -> _Comparison:
    """Compare a file with its rows written in a style."""
    names = list(rows.column_names if isinstance(rows, pa.Table) else rows)
    with _open(path) as file:
        comparison = _Comparison(file, head.encoding, format, style, names)
        out = Encoded(cast("BinaryIO", comparison), head.encoding)
        header = header_line(head.header, format, style) if format.header else ""
        if not format.skip and head.above.removeprefix("\ufeff") != header:
            comparison.further.append("a header in a style of its own")
        with contextlib.suppress(_Differs):
            out.write(head.above)
            for piece in _pieces(path, format, rows):
                write_records(piece, out, format, style)
            comparison.finish()
    return comparison


def _pieces(path: Path, format: Csv, rows: RowsOrTypes) -> Iterator[pa.Table]:
    """Yield the rows of a file, a small piece first."""
    if isinstance(rows, pa.Table):
        yield rows.slice(0, _FIRST)
        for at in range(_FIRST, rows.num_rows, _PIECE):
            yield rows.slice(at, _PIECE)
        return
    with _open(path) as file:
        for batch in csv_batches(file, format, list(rows), foreign=True):
            columns = zip(batch.columns, rows.values(), strict=True)
            yield pa.table([_typed(text, kind, format) for text, kind in columns], list(rows))


def _typed(text: pa.Array, kind: pa.DataType, format: Csv) -> pa.Array:
    if is_text(kind):
        return text
    values = pc.if_else(pc.equal(text, ""), None, text)
    return (pc.replace_substring(values, ",", ".") if format.decimal == "," else values).cast(kind)


def _has_needless_exponents(texts: pa.ChunkedArray) -> bool:
    """Whether texts are numbers, some with an exponent that no writer gives to their size: 1e2 beside 10."""
    if not is_text(texts.type):
        return False
    values = pc.unique(texts).drop_null()
    numbers = pc.match_substring_regex(values, r"^[+-]?[0-9]+([.,][0-9]+)?([eE][+-]?[0-9]+)?$")
    if not len(values) or not pc.all(numbers).as_py():
        return False
    exponents = values.filter(pc.match_substring_regex(values, "[eE]")).to_pylist()
    return any(1e-3 <= abs(float(each.replace(",", "."))) < 1e9 for each in exponents)


# --- Parquet --------------------------------------------------------------------------------------


def layout_of_parquet(path: Path, *, foreign: bool = True) -> Iterator[str]:
    """Describe how row groups differ: in size, or, in files of other writers, in the encoding of a column."""
    import pyarrow.parquet as pq

    head = pq.read_metadata(path)
    groups = [head.row_group(each) for each in range(head.num_row_groups)]
    if not equal_but_last([group.num_rows for group in groups]):
        yield GROUPS
    for number in range(head.num_columns) if foreign else ():
        encodings = {_packing(group.column(number)) for group in groups}
        if len(encodings) > 1:
            yield f"{ENCODINGS} (column {head.schema.column(number).name!r})"


def _packing(chunk: Any) -> tuple[object, ...]:
    return (chunk.compression, frozenset(chunk.encodings), chunk.is_stats_set, chunk.has_dictionary_page)
