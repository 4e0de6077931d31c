"""CSV files for DuckDB: in the dialect that Veil's own reader detects, as text.

DuckDB's own detection would make 2139 of 02139. A file that both readers could read differently is refused:
by its encoding, by a space before a quote, and by comparing its first records in both.
"""

from __future__ import annotations

import codecs
import dataclasses
import gzip
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from veil.errors import InputError, Say, Words
from veil.tables.csv import dialect
from veil.tables.csv.reader import check_types, column_names
from veil.tables.formats import Csv, is_gzip
from veil.tables.reading import check_readable

RECORDS = 1000
"""Number of records at the beginning of a file that both readers are compared on."""

_IN_MEMORY = Say("engine", "memory")
_SAMPLE_BYTES = 1 << 20
_ENCODINGS = {
    "utf-8": "utf-8",
    "utf-8-sig": "utf-8",
    "iso8859-1": "latin-1",
    "utf-16": "utf-16",
    "utf-16-le": "utf-16",
}


def csv_options(files: list[Path], format: Csv) -> tuple[Csv, dict[str, Any]]:
    """Return the dialect of the first file, which the others must share, and DuckDB's options for it."""
    if format.escape is not None:
        raise InputError(
            f"{files[0]}: DuckDB cannot read CSV with an escape character ({format.escape}) as Veil does. "
            "Convert it to Parquet, or read it into memory with ",
            _IN_MEMORY,
        )
    if format.thousands is not None:
        raise InputError(
            f"{files[0]}: DuckDB does not read numbers with a thousands separator ({format.thousands}). "
            "Convert it to Parquet, "
            "or read it into memory with ",
            _IN_MEMORY,
        )
    first = _head(files[0], format)
    if len(first.names) == 1 and "" not in format.missing:
        raise InputError(
            f"{files[0]}: has only one column: DuckDB skips blank lines, but Veil reads them as empty text. "
            "Say ",
            Say("format", "Csv", missing=...),
            " if it is a missing value, or use ",
            _IN_MEMORY,
        )
    for file in files[1:]:
        _check_alike(file, _head(file, first.format), files[0], first)
    detected = first.format
    options = {
        "auto_detect": False,
        "columns": dict.fromkeys(first.names, "VARCHAR"),
        "delim": detected.separator,
        "quote": detected.quote or "",
        "escape": detected.quote or "",
        "header": detected.header,
        "skip": first.skip,
        "new_line": first.line_end,
        # If nothing is missing, a spelling that no unquoted field can have.
        "nullstr": list(detected.missing) or ["\n"],
        "allow_quoted_nulls": False,
        "encoding": _ENCODINGS[detected.encoding or "utf-8"],
    }
    return detected, options


def check_agreement(file: Path, format: Csv, head: pa.Table) -> None:
    """Refuse a file whose first records Python's reader and DuckDB's read differently."""
    sample, whole, _ = _sample(file, format)
    records = [fields for fields, _ in dialect.sample_records(sample, format.separator or ",", format)]
    width = head.num_columns
    if not whole:
        del records[-1:]  # cut off by the end of the sample
    start = (
        next(number for number, fields in enumerate(records) if fields) + 1 if format.header else format.skip
    )
    # With a single column, a blank line is a record.
    expected = [fields or [""] for fields in records[start:] if fields or width == 1][:RECORDS]
    rows = list(zip(*(column.to_pylist() for column in head.columns), strict=True))
    for number, ours in enumerate(expected, 1):
        theirs = rows[number - 1] if number <= len(rows) else ()
        agree = len(ours) == len(theirs) and all(
            text in format.missing if cell is None else text == cell
            for text, cell in zip(ours, theirs, strict=True)
        )
        if not agree:
            raise InputError(
                f"{file}, row {number}: DuckDB reads it differently than Veil's own reader. Check quotes "
                "and line endings there, convert the file to Parquet, or read it with ",
                _IN_MEMORY,
            )


def csv_fault(message: str, place: str) -> Words | None:
    """Explain DuckDB's error about a CSV file, without the line itself, which is about a person."""
    if "File is not utf-16 encoded" in message or "File is not latin-1 encoded" in message:
        return (
            "holds characters that DuckDB does not read in this encoding. Save it as UTF-8, or use ",
            _IN_MEMORY,
        )
    line = re.search(r"CSV Error on Line: (\d+)", message)
    if line is None and "CSV Parser state machine" not in message:
        return None
    file = re.search(r"^\s*file = (.+)$", message, re.MULTILINE)
    where = (f"{file[1]}, " if file and file[1] != place else "") + (f"line {line[1]}: " if line else "")
    if width := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        text = f"{where}{width[2]} fields, where {width[1]} are expected. Correct the line, quote fields that hold "
        text += "the separator, or say another separator, for example "
        return text, Say("format", "Csv", separator=";")
    if "nterminated quote" in message:
        text = f"{where}a quote is opened and never closed, or text follows it. Correct the line, or say "
        return text, Say("format", "Csv", quote=None)
    if "nvalid unicode" in message:
        text = f"{where}the bytes are not UTF-8. Name the encoding, for example "
        return text, Say("format", "Csv", encoding="latin-1"), ", or save it as UTF-8"
    if "Maximum line size" in message:
        text = f"{where}the line is longer than two million bytes. Correct it, or read the file with "
        return text, _IN_MEMORY
    text = f"{where}not readable as CSV; perhaps the lines end in different ways (\\n and \\r\\n). Save it with one "
    text += "kind of line ends, or read it with "
    return text, _IN_MEMORY


class _Head(NamedTuple):
    """The beginning of a CSV file: its dialect without unknowns, its columns, the lines above their names."""

    format: Csv
    names: list[str]
    skip: int
    line_end: str


def _head(file: Path, format: Csv) -> _Head:
    sample, whole, encoding = _sample(file, format)
    separator = format.separator or dialect.detect_separator(sample, whole, format)
    format = dataclasses.replace(format, separator=separator, encoding=encoding)
    header = dialect.read_header(sample, format, file)
    names = column_names(header.fields, format, file)
    check_types(names, format, file)
    _check_quotes(file, sample, format)
    skip = header.line - 1 if format.header else format.skip
    return _Head(format, names, skip, _line_end(sample, format))


def _line_end(sample: str, format: Csv) -> str:
    r"""Return the end of records in DuckDB's spelling, backslash and letter; quoted lines may end otherwise.

    >>> _line_end('"two\nlines"\r\n3\r\n', Csv(separator=","))
    '\\r\\n'
    """
    _, lines = next(dialect.sample_records(sample, format.separator or ",", format), ([], [""]))
    line = lines[-1]
    return r"\r\n" if line.endswith("\r\n") else r"\r" if line.endswith("\r") else r"\n"


def _sample(file: Path, format: Csv) -> tuple[str, bool, str]:
    """Return the beginning of a file as text, whether that is the whole file, and the encoding."""
    check_readable(file)
    try:
        with gzip.open(file) if is_gzip(file) else file.open("rb") as stream:
            data = stream.read(_SAMPLE_BYTES + 1)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError(
            f"{file}: is not a complete gzip file ({error}). Copy it again, or rename it if it is not "
            "compressed"
        ) from None
    whole = len(data) <= _SAMPLE_BYTES
    if not whole:
        data = data[: _SAMPLE_BYTES - 2 if data[_SAMPLE_BYTES - 1] & 0xFC == 0xD8 else _SAMPLE_BYTES]
    name = codecs.lookup(format.encoding).name if format.encoding is not None else None
    is_supported = name is None or name in _ENCODINGS
    big_endian = data.startswith((codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE))
    if not is_supported or (big_endian and name != "iso8859-1"):
        raise InputError(
            f"{file}: DuckDB reads UTF-8, Latin-1 and little-endian UTF-16, not {name or 'this encoding'}. "
            "Save the file as UTF-8 or Parquet, or read it into memory with ",
            _IN_MEMORY,
        )
    data, encoding = dialect.decode(data, name, file)
    dialect.check_text(data, file)
    data = dialect.without_titles(data, format.skip, file)
    sample, _ = dialect.sample_of(data, file)
    return sample, whole, encoding


def _check_alike(file: Path, head: _Head, first: Path, expected: _Head) -> None:
    if head.names != expected.names:
        raise InputError(
            f"{file}: has the columns {_list_names(head)}, but {first} has {_list_names(expected)}. Give files with the "
            "same columns in the same order"
        )
    if head.skip != expected.skip or head.line_end != expected.line_end:
        raise InputError(
            f"{file}: has different blank lines at its start, or different line endings, than {first}. Save "
            "both in the same way"
        )


def _check_quotes(file: Path, sample: str, format: Csv) -> None:
    """Refuse a quote after a space, which DuckDB takes for a quote and Veil's reader does not."""
    if format.quote is None:
        return
    mark, separator = re.escape(format.quote), re.escape(format.separator or ",")
    if match := re.search(f"(?:^|{separator}) +{mark}", sample, re.MULTILINE):
        line = sample.count("\n", 0, match.end()) + 1
        raise InputError(
            f"{file}, line {line}: a space before a quote ({format.quote}), which DuckDB reads differently. "
            "Remove such spaces, say ",
            Say("format", "Csv", quote=None),
            " if quotes mean nothing, or use ",
            _IN_MEMORY,
        )


def _list_names(head: _Head) -> str:
    return ", ".join(map(repr, head.names))
