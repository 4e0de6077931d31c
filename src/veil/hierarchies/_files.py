"""Hierarchy files: one row a value, `;`-separated and without header as in ARX, or similar."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from veil.base.paths import usable
from veil.errors import HierarchyError, OutputError
from veil.tables import atomic

SEPARATORS = (";", "\t", "|", ",")  # in order of preference: labels such as "[0, 4]" are full of commas


@dataclass(frozen=True)
class Content:
    """The rows of a file, the line on which each ends, and the names in its header, if any."""

    source: str
    rows: list[list[str]]
    lines: list[int]
    names: list[str] | None


def read_rows(
    path: str | os.PathLike[str],
    *,
    separator: str | None = None,
    header: bool = False,
    encoding: str = "utf-8",
) -> Content:
    """Read the rows of a hierarchy file; blank lines are skipped."""
    source = f"hierarchy {os.fspath(path)!r}"
    text = _text(path, source, encoding)
    if separator is None:
        separator = detect_separator(text)
    rows: list[list[str]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        raise HierarchyError(f"{source}, line {reader.line_num}: {error}") from None
    names = None
    if header and rows:
        names, rows, lines = rows[0], rows[1:], lines[1:]
    if not rows:
        raise HierarchyError(f"{source} is empty: it needs one row for each value of the column")
    return Content(source, rows, lines, names)


def write_rows(path: str | os.PathLike[str], rows: Sequence[Sequence[str | None]]) -> None:
    """Write rows to a file, whole or not at all."""
    lines = [";".join(_field(label, len(row) == 1) for label in row) + "\n" for row in rows]
    try:
        with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
            file.writelines(lines)
    except OutputError as error:
        raise OutputError("the hierarchy cannot be written: ", *error.words) from None


def _field(label: str | None, alone: bool) -> str:
    """Return one label as a field, in quotes if it would be misread without."""
    if label is None:
        return "NULL"
    if label.casefold() == "null":
        raise HierarchyError(
            f"the text {label!r} cannot be saved: in a hierarchy file it means the missing value"
        )
    if "\0" in label:
        raise HierarchyError(f"the text {label!r} cannot be saved: it contains a NUL character")
    special = "".join(SEPARATORS) if alone else ";"
    if any(sign in label for sign in special + '"\r\n\ufeff') or (alone and not label):
        return '"' + label.replace('"', '""') + '"'
    return label


def detect_separator(text: str) -> str:
    r"""Return the first separator that gives every line the same number of fields, or else most lines.

    >>> detect_separator("0;[0,4]\n5;[5,9]\n"), detect_separator("0,low\n5,high; very\n")
    (';', ',')
    """
    best, best_share = SEPARATORS[0], 0.0
    for candidate in SEPARATORS:
        widths = Counter(
            len(row) for row in csv.reader(io.StringIO(text, newline=""), delimiter=candidate) if row
        )
        share = max((times for width, times in widths.items() if width > 1), default=0) / max(
            widths.total(), 1
        )
        if share == 1.0:
            return candidate
        if share > best_share:
            best, best_share = candidate, share
    return best


def _text(path: str | os.PathLike[str], source: str, encoding: str) -> str:
    try:
        data = usable(path, HierarchyError).read_bytes()
    except FileNotFoundError:
        raise HierarchyError(f"{source} does not exist") from None
    except OSError as error:
        raise HierarchyError(f"{source} cannot be read: {error.strerror}") from None
    try:
        text = data.decode("utf-8-sig" if encoding.lower().replace("-", "") == "utf8" else encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise HierarchyError(
            f"{source}, line {line}: byte {data[error.start]:#04x} is not {encoding}; "
            "name the encoding of the file, for example encoding='latin-1'"
        ) from None
    except LookupError:
        raise HierarchyError(f"{source}: there is no encoding {encoding!r}") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise HierarchyError(f"{source}, line {line}: the file contains a NUL byte; it is not a text file")
    return text
