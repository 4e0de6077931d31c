"""The dialect of a CSV file: its encoding, separator and header.

Only what is certain is detected. Bytes that are not UTF-8 and have no byte order mark are refused, because
every guess at an 8-bit encoding succeeds and most are wrong.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from veil.errors import InputError, Say
from veil.tables.formats import Csv
from veil.tables.header import header_below

# Comma last: it also occurs in numbers and sentences.
SEPARATORS = ("\t", ";", "|", ",")

_SAMPLE_BYTES = 1 << 20
_SAMPLE_RECORDS = 200
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Header:
    """The first record of a file, and where the records with data begin."""

    fields: tuple[str, ...]
    line: int
    body: int  # byte offset of the first data record


def marked_encoding(data: bytes) -> str | None:
    """Return the encoding of a byte order mark, or None."""
    return next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), None)


def decode(data: bytes, encoding: str | None, path: Path) -> tuple[bytes, str]:
    """Return the file's text as UTF-8 without a byte order mark, and the name of its encoding.

    UTF-8 is not checked here, but by the parser.
    """
    name = codecs.lookup(encoding).name if encoding is not None else marked_encoding(data) or "utf-8"
    if name in ("utf-8", "utf-8-sig"):
        variant = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
        return data.removeprefix(codecs.BOM_UTF8), variant
    try:
        text = data.decode(name)
    except UnicodeDecodeError as error:
        raise wrong_encoding(data, error, name, path) from None
    return text.removeprefix("\ufeff").encode(), name


def wrong_encoding(data: bytes, error: UnicodeDecodeError, encoding: str, path: Path) -> InputError:
    """Return an error that names the first undecodable bytes, and a format that could read the file."""
    from veil.tables.csv.proposal import propose_reading  # imports this module

    problem = (
        f"{path}, line {line_of(data, error.start)}: the bytes at offset {error.start} "
        f"({data[error.start : error.start + 4].hex(' ')}) are not {encoding.upper()}"
    )
    if encoding == marked_encoding(data):
        return InputError(
            f"{problem}, which the file begins as. It is cut off or damaged: copy or export it again"
        )
    return InputError(
        f"{problem}. Name the encoding of the file, for example ",
        Say("format", "Csv", **(propose_reading(data) or {"encoding": "cp1252"})),
        ", and check that its letters come out right; or save it as UTF-8",
    )


def check_text(data: bytes, path: Path) -> None:
    """Refuse NUL bytes, and with them UTF-16 without a byte order mark and most binary files."""
    nul = data.find(b"\0")
    if nul >= 0:
        raise InputError(
            f"{path}, line {line_of(data, nul)}: a NUL byte at offset {nul}. The file is damaged, not text, "
            "or UTF-16 without a byte order mark; if so, say ",
            Say("format", "Csv", encoding="utf-16-le"),
            ' or "utf-16-be"',
        )
    if re.search(rb"[^\r\n]", data) is None:
        raise InputError(f"{path}: the file is empty. It should hold a table with at least one row")


def without_titles(data: bytes, lines: int, path: Path) -> bytes:
    r"""Blank the lines above the table, so that the others keep their numbers.

    >>> without_titles(b"A title\nage,sex\n34,m\n", 1, Path("patients.csv"))
    b'\nage,sex\n34,m\n'
    """
    titles = re.match(rb"(?:[^\r\n]*(?>\r\n|\n|\r)){%d}" % lines, data)
    if titles is None:
        raise InputError(f"{path}: has no lines left after `skip` ({lines}). Skip fewer")
    return re.sub(rb"[^\r\n]+", b"", titles[0]) + data[titles.end() :] if lines else data


def line_of(data: bytes, offset: int) -> int:
    """Return the number of the line (from 1) that holds the byte at `offset`."""
    end = b"\n" if b"\n" in data or b"\r" not in data else b"\r"
    return data.count(end, 0, offset) + 1


def sample_of(data: bytes, path: Path) -> tuple[str, bool]:
    """Return the first megabyte as text, and whether that is the whole file."""
    head, whole = data[:_SAMPLE_BYTES], len(data) <= _SAMPLE_BYTES
    try:
        return codecs.getincrementaldecoder("utf-8")().decode(head, final=whole), whole
    except UnicodeDecodeError as error:
        raise wrong_encoding(data, error, "utf-8", path) from None


_MOST = 0.5
"""Share of the records that have as many fields as the first one, if that is the header."""


def detect_separator(sample: str, whole: bool, format: Csv) -> str:
    r"""Return the separator under which most records have as many fields as the first one.

    >>> detect_separator('name;weight\n"Doe; Jane";61,5\n', True, Csv())
    ';'
    """
    best, score = ",", (0.0, 0.0, 0, 0)
    for rank, separator in enumerate(reversed(SEPARATORS)):
        if separator in (format.quote, format.escape):
            continue
        records = itertools.islice(sample_records(sample, separator, format), _SAMPLE_RECORDS)
        widths = [len(fields) for fields, _ in records if fields]
        if not whole and 1 < len(widths) < _SAMPLE_RECORDS:
            del widths[-1]  # cut off by the end of the sample
        wide, share = Counter(width for width in widths if width > 1), 0.0
        if widths and widths[0] > 1:
            share = wide[widths[0]] / len(widths)
        width, often = wide.most_common(1)[0] if wide else (0, 0)
        usual = often / len(widths) if widths else 0.0
        # A title above the table may contain any separator, so that its own width does not count.
        rated = (share, usual, 0, rank) if share >= _MOST else (0.0, usual, width, rank)
        if (share, usual) > (0.0, 0.0) and rated > score:
            best, score = separator, rated
    return best


def read_header(sample: str, format: Csv, path: Path) -> Header:
    """Return the first record that is not blank; the body begins after it, or with it if it is data."""
    consumed = line = above = 0
    records = sample_records(sample, format.separator or ",", format)
    for fields, lines in records:
        start = line + 1
        line += len(lines)
        consumed += sum(len(each.encode()) for each in lines)
        above = consumed if line <= format.skip else above
        if fields:
            if format.header and format.columns is None:
                _check_names(fields, start, records, path)
            return Header(tuple(fields), start, consumed if format.header else above)
    raise InputError(f"{path}: the file is empty. It should hold a table with at least one row")


def _check_names(
    names: list[str], line: int, records: Iterator[tuple[list[str], list[str]]], path: Path
) -> None:
    rows, starts = [], []
    start = line + 1
    for fields, lines in itertools.islice(records, _SAMPLE_RECORDS):
        rows.append(fields)
        starts.append(start)
        start += len(lines)
    place = header_below(names, rows)
    if place is not None:
        raise InputError(
            f"{path}, line {line}: does not name all columns, although most records have values in them. If "
            "the lines above the header are not part of the table, such as a title, say ",
            Say("format", "Csv", skip=starts[place] - 1),
            "; if this is the header, name the columns in the file",
        )


def sample_records(text: str, separator: str, format: Csv) -> Iterator[tuple[list[str], list[str]]]:
    """Yield the fields of each record of a sample, with the lines that it spans."""
    spanned: list[str] = []

    def lines() -> Iterator[str]:
        for line in io.StringIO(text, newline=""):
            spanned.append(line)
            yield line

    try:
        for fields in csv.reader(lines(), **options(separator, format)):  # type: ignore[arg-type]
            yield fields, list(spanned)
            spanned.clear()
    except csv.Error:
        return  # a field beyond the limit of the csv module: the records so far have to do


def options(separator: str, format: Csv) -> dict[str, object]:
    """Return the dialect as the arguments of the standard library's `csv.reader`."""
    return {
        "delimiter": separator,
        "quotechar": format.quote,
        "quoting": csv.QUOTE_NONE if format.quote is None else csv.QUOTE_MINIMAL,
        "escapechar": format.escape,
        "doublequote": True,
    }
