"""Reading a CSV file as it seems to be meant where it does not say: for a look at it, never for a release.

Whoever is shown what was found is also told how the file was read, and a release is made only once somebody says so.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from veil.errors import InputError, VeilError
from veil.tables.csv.ambiguities import MARKS, find_misread
from veil.tables.csv.proposal import propose_reading
from veil.tables.formats import Csv, format_of
from veil.tables.reading import read_bytes
from veil.tables.source import Source, read


class Guessed(NamedTuple):
    """A table, the format that was guessed to read it, and what speaks for that; neither if there was no need."""

    source: Source
    format: Csv | None = None
    reasons: tuple[str, ...] = ()


def read_guessing(path: Path) -> Guessed:
    """Read a file; if it is a CSV file that is not understood, as it seems to be meant."""
    try:
        found = Guessed(read(path))
    except InputError as refused:
        found = _read_otherwise(path, refused)
    return _with_marks(path, found)


def _read_otherwise(path: Path, refused: InputError) -> Guessed:
    """Read what was refused in another encoding, or from a later line on; or refuse it for good."""
    try:
        usual = format_of(path)
        if not isinstance(usual, Csv):
            raise refused
        parameters, reasons = propose_reading(read_bytes(path)), []
        if encoding := parameters.get("encoding"):
            reasons.append(f"its text is not UTF-8 and seems to be {encoding}")
        if skip := parameters.get("skip"):
            reasons.append(f"its table seems to begin in line {skip + 1}")
        format = dataclasses.replace(usual, **parameters)
        return Guessed(read(path, format=format), format, tuple(reasons))
    except InputError:
        raise refused from None


def _with_marks(path: Path, found: Guessed) -> Guessed:
    """Read numbers that were taken for text as numbers, unless the numbers of other columns would change by it."""
    before, usual = found.source.table, found.format or found.source.format
    meant = find_misread(before, found.source.format).format
    if meant is None or not isinstance(usual, Csv):
        return found
    marks = {"decimal": meant.decimal, "thousands": meant.thousands}
    if marks == {"decimal": usual.decimal, "thousands": usual.thousands}:
        return found
    try:
        format = dataclasses.replace(found.format or format_of(path), **marks)  # type: ignore[arg-type]
        source = read(path, format=format)
    except VeilError:
        return found
    numbers = [name for name in before.column_names if not pa.types.is_string(before.schema.field(name).type)]
    if not all(source.table[name].equals(before[name]) for name in numbers):
        return found
    example = next(
        shown for shown, each in MARKS.values() if {"thousands": None, "decimal": ".", **each} == marks
    )
    return Guessed(source, format, (*found.reasons, f"its numbers look like {example}"))  # type: ignore[arg-type]
